"""`askew-server serve-releases`: stored releases for everybody, and answers for analysts."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

import click

from askew_server.cli.configured import CommandSettings
from askew_server.cli.options import (
    DEFAULT_LEDGER,
    RELEASES_PORT,
    Workplace,
    existing,
    refuse_password,
)
from askew_server.serving.settings import Analysts, Configuration

if TYPE_CHECKING:
    from askew_server.counting import CountingTask, Engine
    from askew_server.release.job import AnalystDesk
    from askew_server.serving.call import Service


_SETTINGS = CommandSettings(
    "analysts",
    "releases.ledger",
    "releases.mark",
    "server.host",
    "server.port",
    "server.grace",
    "server.plain_text",
    "tls",
    "metrics",
    defaults={
        "server.port": RELEASES_PORT,
        "releases.ledger": Path(DEFAULT_LEDGER),
    },
    shared=True,
)


@click.command("serve-releases")
@_SETTINGS.options
def serve_releases(*, config: Path | None, **flags: object) -> None:
    """Serve stored releases to everybody and, with --tokens, answers to analysts.

    Stored releases are read from the ledger's file, read-only. Analysts need a budget (see ledger
    grant) and a token (see analyst add), and pay for the length of each answer.

    Analysts speak TLS to every machine but their own: name --tls-certificate and --tls-key, or put
    a TLS proxy in front and say --plain-text.

    \b
    Examples:
      askew-server serve-releases
      askew-server serve-releases --tokens analysts.tokens \\
        --dataset films --events log.parquet
    """
    import asyncio

    from askew_server.published.reader import ReleaseReader
    from askew_server.serving.log import start_log
    from askew_server.serving.metrics import Observer
    from askew_server.serving.popularity import PopularityService
    from askew_server.serving.server import serve, tell

    refuse_password(str(flags.get("analysts_engine") or ""))
    chosen = _SETTINGS.configuration(config, flags)
    analysts = chosen.analysts

    def announce(bound: int, _: int | None) -> None:
        served = "releases, and answers to analysts" if analysts.tokens else "releases"
        tell(f"listening on {chosen.server.host}:{bound}, {served}")

    start_log(sys.stderr)
    observer = Observer()
    with ExitStack() as stack:
        place = _place(chosen)
        services: list[Service] = [PopularityService(ReleaseReader(existing(place.ledger)))]
        if analysts.tokens is not None and analysts.dataset is not None:
            from askew_server.serving.analyst import AnalystService
            from askew_server.serving.tokens import Tokens

            desk = _desk(stack, place, analysts.dataset, _offered(place, analysts))
            tokens = Tokens(analysts.tokens, observer.token_refused)
            services.append(AnalystService(desk, tokens))
        asyncio.run(serve(services, chosen.server, announce, observer=observer))


def _place(chosen: Configuration) -> Workplace:
    analysts, encoding = chosen.analysts, None
    if analysts.tokens is not None:
        from askew_server.tables.text import usual_encoding  # pyarrow takes a while

        encoding = usual_encoding(analysts.encoding)
    return Workplace(
        encoding=encoding,
        ledger=chosen.releases.ledger or Path(DEFAULT_LEDGER),
        mark=chosen.releases.mark,
        engine=analysts.engine,
    )


def _desk(stack: ExitStack, place: Workplace, dataset: str, offered: CountingTask) -> AnalystDesk:
    """Return the desk of analysts, checked as far as that goes without an event, but for files of
    text and patterns, which are looked through. Raises AskewError for what cannot be used.
    """
    from askew.noise.randomness import SystemBits
    from askew_server.cli.release_run import opened_engine, warn, warn_of_sharers
    from askew_server.counting import EventCounter
    from askew_server.counting.bounding import catalog_remarks, require_countable
    from askew_server.counting.contract import is_pattern, is_text_file, place_of
    from askew_server.ledger import Ledger
    from askew_server.release.job import AnalystDesk, ReleaseJob, until_public_moment

    stopping, answering = Event(), Lock()
    ledger = stack.enter_context(Ledger(place.ledger, place.mark_path))
    stack.callback(_over, answering)  # whoever is answered stores it before the ledger is closed
    ledger.dataset(dataset)
    warn_of_sharers(ledger, dataset, place_of(offered))
    engine = stack.enter_context(opened_engine(place))
    stack.callback(stopping.set)
    require_countable(engine, offered)
    warn(*catalog_remarks(engine, offered))
    look = None
    if is_text_file(offered.events) or is_pattern(offered.events):
        # It may be written to: each question looks again, and counts what it looked through.
        look = partial(_look, engine)
        look(offered)
    beat = partial(until_public_moment, time.monotonic, stopping.wait)
    job = ReleaseJob(
        ledger, EventCounter(engine), SystemBits(), beat=beat, wait=stopping.wait, look=look
    )
    return AnalystDesk(ledger, {dataset: offered}, job, answering)


def _look(engine: Engine, task: CountingTask) -> None:
    """Raise DataError where columns or types of files do not go together, as when one is new, and
    for text with a line that hides others; of text, count from now on what was looked through.
    """
    from askew_server.counting.bounding import require_events
    from askew_server.counting.contract import is_text_file

    require_events(engine, task)
    if is_text_file(task.events):
        engine.look_through(task.events, {task.unit_column, task.item_column})


def _over(answering: Lock) -> None:
    """Wait until nobody is answered."""
    with answering:
        pass


def _offered(place: Workplace, analysts: Analysts) -> CountingTask:
    from askew_server.counting import CountingTask
    from askew_server.counting.engines import public_address
    from askew_server.release.plan import MIN_KBAR

    return CountingTask(
        engine=public_address(place.engine),
        events=analysts.events or "",
        encoding=place.log_encoding,
        unit_column=analysts.unit_column,
        item_column=analysts.item_column,
        max_items_per_unit=analysts.max_items_per_unit,
        limit=MIN_KBAR + 1,
    )
