"""`askew-server serve` and `serve-releases`: their settings, and what they answer from."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askew.catalog.catalog_file import FIRST
from askew.errors import ArtifactError, ConfigError
from askew_server.cli.options import (
    DEFAULT_LEDGER,
    RELEASES_PORT,
    SERVE_PORT,
    Workplace,
    existing,
    refuse_password,
)
from askew_server.cli.saved_model import of_one_kind, of_tastes
from askew_server.folders import today
from askew_server.serving.settings import KEYS, NO_MODEL, SETTINGS, ServerConfig, read_file

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.counting import CountingTask, Engine
    from askew_server.published.reader import ReleaseReader
    from askew_server.release.job import AnalystDesk
    from askew_server.retrieval.answers import Serving
    from askew_server.serving.call import Service
    from askew_server.serving.models import ModelFolder
    from askew_server.taste.model import ItemModel

_Command = TypeVar("_Command", bound=Callable[..., Any])


class CommandSettings:
    """The settings of these tables, or named so.

    defaults: where a command has its own. shared: variables that other commands read mean the same
    here.
    """

    def __init__(
        self, *names: str, defaults: Mapping[str, object] | None = None, shared: bool = False
    ) -> None:
        own = defaults or {}
        keys = (
            replace(
                key,
                default=own.get(key.name, key.default),
                shared=key.shared if shared else "",
            )
            for key in KEYS
        )
        self._table = replace(SETTINGS, settings=tuple(keys))
        self._has_http = "http" in names
        self._own = [
            key
            for key in self._table.settings
            if not {key.name, key.name.partition(".")[0]}.isdisjoint(names)
        ]

    def options(self, command: _Command) -> _Command:
        """Return a command with --config, and an option for each setting of its own that has a
        flag.
        """
        for key in reversed(self._own):
            if key.flag:
                names, keywords = key.option()
                command = click.option(*names, **keywords)(command)
        return click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="ASKEW_SERVER_CONFIG",
            help="A file of settings in TOML; a variable or a flag says otherwise.",
        )(command)

    def configuration(self, config: Path | None, flags: Mapping[str, object]) -> ServerConfig:
        """Return the configuration that flags, variables, the file `config` and defaults make
        together: the first of these that has a setting decides. Raises ConfigError or
        ParameterError.

        A file may say what another command takes; it is looked at all the same.
        """
        file = {} if config is None else read_file(config)
        values = self._table.read(flags, os.environ, file, str(config))
        own = {key.parameter: values[key.parameter] for key in self._own}
        return ServerConfig(http=self._has_http, **own)


_SERVE = CommandSettings(
    "models",
    "releases.ledger",
    "releases.popularity",
    "server",
    "tls",
    "http",
    "metrics",
    defaults={"server.port": SERVE_PORT},
)


@click.command()
@_SERVE.options
@click.option("--check", is_flag=True, help="Read settings and models, say what is wrong, and end.")
def serve(*, config: Path | None, check: bool, **flags: object) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --ledger, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    --models names a folder of at most three models, each named by the Monday from which it is in
    force. Devices get the newest whose Monday has come, and are answered from the one that they
    hold. A model that is put there for a Monday to come is read, checked and swapped in within
    seconds, at once on SIGHUP; so are live values. What cannot be used leaves what is served.

    The next port speaks HTTP: files that devices hold, and calls without gRPC. A terminal is told
    "listening on 127.0.0.1:7571, ..."; the log is JSON lines on standard error. Stopped, it exits
    with 0. --check serves nothing: it prints "in order: 3706 items, ...", or is exit 1.

    Devices speak TLS to every machine but their own: name --tls-certificate and --tls-key, or put a
    TLS proxy in front and say --plain-text.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --models models
      askew-server serve --model model --host 0.0.0.0 \\
        --tls-certificate server.pem --tls-key server.key
      askew-server serve --config askew-server.toml --check
    """
    chosen = _SERVE.configuration(config, flags)
    if not (chosen.models_directory or chosen.models_folder or chosen.models_demo):
        raise ConfigError(NO_MODEL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to look at again
    import asyncio

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.log import start_log
    from askew_server.serving.metrics import Observer
    from askew_server.serving.models import ModelWatch
    from askew_server.serving.popularity import PopularityService
    from askew_server.serving.retrieval import RetrievalService
    from askew_server.serving.server import serve, tell

    if not check:
        start_log(sys.stderr)
    elif chosen.tls_certificate is not None and chosen.tls_key is not None:
        from askew_server.serving.certificates import Certificates

        Certificates(chosen.tls_certificate, chosen.tls_key, click.echo)
    reader, ledger = None, chosen.releases_ledger
    if ledger is not None:
        from askew_server.published.reader import ReleaseReader

        reader = ReleaseReader(existing(ledger))
    charge, observer = chosen.releases_popularity, Observer()
    popular = None if reader is None or charge is None else (reader, charge)
    wrong: list[str] = []  # with live values, without which a server goes on
    # No model was refused: it is served without these values, so the counter of refusals stays.
    note = partial(click.echo, err=True) if check else _log_refused
    reading = ModelReader(popular, wrong.append if check else note)
    servings, folder = read_models(chosen, reading)
    for path in () if folder is None else folder.others():
        note(f"{path} is not served: its name is no Monday such as 2026-11-23")
    holder = SnapshotHolder(*(serving.snapshot for serving in servings.values()))
    retrieval = RetrievalService(holder)
    services: list[Service] = [] if reader is None else [PopularityService(reader)]
    if check:
        if reader is not None:
            reader.check()
        from askew_server.serving.http_door import http_app

        http_app([retrieval], {}, chosen, observer)
        if wrong:
            raise ArtifactError("; ".join(wrong))
        click.echo(f"in order: {reading.in_words()}")
        return
    observer.serves(lambda: holder.current.since, retrieval.catalogs)
    ready = retrieval.make_ready
    watch = ModelWatch(servings, folder, holder, ready, observer=observer, today=today)

    def announce(bound: int, http: int | None) -> None:
        host, scheme = chosen.host, "https" if chosen.tls_key else "http"
        door = "" if http is None else f"{scheme}://{host}:{http}, "
        tell(f"listening on {host}:{bound}, {door}{reading.in_words()}")

    services.append(retrieval)
    asyncio.run(serve(services, chosen, announce, beside=watch.run, observer=observer))


def _log_refused(reason: str) -> None:
    from askew_server.serving.log import log_event

    log_event("swap_refused", error="refused", reason=reason)


def read_models(
    chosen: ServerConfig, reading: ModelReader
) -> tuple[Mapping[int, Serving], ModelFolder | None]:
    """Return the models that were chosen, read and ready to be served, by their Mondays in days
    since 1970-01-01, and their folder; of a single model or a demo, by FIRST, 4, and None for a
    folder. Raises ArtifactError and ParameterError.
    """
    if chosen.models_folder is not None:
        from askew_server.serving.models import ModelFolder

        folder = ModelFolder(chosen.models_folder, reading.directory)
        return folder.read_all(today()), folder
    if chosen.models_directory is not None:
        return {FIRST: reading.directory(chosen.models_directory, FIRST)}, None
    if chosen.models_demo == "places":
        from askew_server.demo.places import places_model

        return {FIRST: reading.model(places_model())}, None
    from askew_server.demo.simulation import demo_model

    return {FIRST: reading.model(demo_model())}, None


@dataclass(frozen=True)
class ModelReader:
    """How each model is read. popular: the release that orders a cold start. refused: told what is
    wrong with live values. words: what was read, by its Monday. kinds: of what was read, which is
    one.
    """

    popular: tuple[ReleaseReader, int] | None
    refused: Callable[[str], None]
    words: dict[int, str] = field(default_factory=dict)
    kinds: set[type] = field(default_factory=set)

    def in_words(self) -> str:
        """Return the words of the models that were read, such as "3706 items, MovieLens", that of
        the oldest Monday first, with "and" between; "" for none.
        """
        return " and ".join(words for _, words in sorted(self.words.items()))

    def directory(self, directory: Path, since: int) -> Serving:
        """Return the model of a directory, read, checked and ready to be served from the Monday
        `since` on. Raises ArtifactError and ParameterError.
        """
        return self.model(of_one_kind(directory, self.kinds), directory, since)

    def model(self, model: Model, directory: Path | None = None, since: int = FIRST) -> Serving:
        """Return a model ready to be served from the Monday `since` on, in days since 1970-01-01,
        with the live values beside its directory, if there are any, and the release that orders a
        cold start. Notes its words for `in_words`. Raises ArtifactError, ParameterError,
        LedgerError where this release does not fit.
        """
        from threadpoolctl import threadpool_limits

        from askew_server.retrieval.answers import Serving

        # For good: an answer is a small product. More threads of BLAS would wait for each other by
        # spinning, on cores that other calls need: under load 96 ms where one thread takes 2.
        threadpool_limits(1)
        words = model.words
        if self.popular is not None:
            model, cold_start = _popular_first(of_tastes(model), *self.popular)
            words = f"{words}, {cold_start}"
        serving = Serving(model, directory, since)
        serving.refresh(self.refused)
        self.words[since] = words
        return serving


def _popular_first(model: ItemModel, reader: ReleaseReader, charge: int) -> tuple[ItemModel, str]:
    from askew.dp.release import release_from_bytes
    from askew_server.published.popularity import with_popularity

    release = release_from_bytes(reader.named(charge))
    card, catalog, missed = with_popularity(model.card, model.catalog, release)
    if missed == len(release.items):
        raise ArtifactError(
            f"release {charge} orders no cold start: none of its {missed} items is in the catalog "
            "of the model. Name by --popularity one whose items are spelled as the model's"
        )
    found = len(release.items) - missed
    words = f"cold start by release {charge}: {found} items, {missed} are not in the catalog"
    return replace(model, card=card, catalog=catalog), words


_RELEASES = CommandSettings(
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
@_RELEASES.options
def serve_releases(*, config: Path | None, **flags: object) -> None:
    """Serve stored releases to everybody and, with --tokens, answers to analysts.

    Stored releases are read from the ledger's file, read-only. Analysts need a budget (see ledger
    grant) and a token (see analyst add), and pay for the length of each answer. A terminal is told
    "listening on 127.0.0.1:7575, releases"; the log is JSON lines on standard error. Asks nothing.
    Stopped by SIGTERM or Ctrl-C, it exits with 0.

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
    from askew_server.serving.log import log_event, start_log
    from askew_server.serving.metrics import Observer
    from askew_server.serving.popularity import PopularityService
    from askew_server.serving.server import serve, tell

    refuse_password(str(flags.get("analysts_engine") or ""))
    chosen = _RELEASES.configuration(config, flags)

    def announce(bound: int, _: int | None) -> None:
        served = "releases, and answers to analysts" if chosen.analysts_tokens else "releases"
        tell(f"listening on {chosen.host}:{bound}, {served}")

    start_log(sys.stderr)
    observer = Observer()
    with ExitStack() as stack:
        place = _place(chosen)
        services: list[Service] = [PopularityService(ReleaseReader(existing(place.ledger)))]
        if chosen.analysts_tokens is not None and chosen.analysts_dataset is not None:
            from askew_server.serving.analyst import AnalystService
            from askew_server.serving.tokens import Tokens

            desk = _desk(stack, place, chosen.analysts_dataset, _offered(place, chosen))
            tokens = Tokens(chosen.analysts_tokens, partial(log_event, "token_refused"))
            services.append(AnalystService(desk, tokens))
        asyncio.run(serve(services, chosen, announce, observer=observer))


def _place(chosen: ServerConfig) -> Workplace:
    encoding = None
    if chosen.analysts_tokens is not None:
        from askew_server.tables.text import usual_encoding  # pyarrow takes a while

        encoding = usual_encoding(chosen.analysts_encoding)
    return Workplace(
        encoding=encoding,
        ledger=chosen.releases_ledger or Path(DEFAULT_LEDGER),
        mark=chosen.releases_mark,
        engine=chosen.analysts_engine,
    )


def _desk(stack: ExitStack, place: Workplace, dataset: str, offered: CountingTask) -> AnalystDesk:
    from askew.noise.randomness import SystemBits
    from askew_server.cli.release_run import opened_engine, warn, warn_of_sharers
    from askew_server.counting import count_events
    from askew_server.counting.bounding import catalog_remarks, require_countable
    from askew_server.counting.contract import is_pattern, is_text_file, place_of
    from askew_server.ledger import Ledger
    from askew_server.release.job import AnalystDesk, ReleaseJob, until_public_moment

    stopping, answering = Event(), Lock()

    def wait_for_answers() -> None:
        with answering:  # and let go: a question that begins now is refused, not kept waiting
            pass

    ledger = stack.enter_context(Ledger(place.ledger, place.mark_path))
    stack.callback(wait_for_answers)  # whoever is answered stores it before the ledger is closed
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
    count, bits = partial(count_events, engine, SystemBits()), SystemBits()
    job = ReleaseJob(ledger, count, bits, beat=beat, wait=stopping.wait, look=look)
    return AnalystDesk(ledger, {dataset: offered}, job, answering)


def _look(engine: Engine, task: CountingTask) -> None:
    from askew_server.counting.bounding import require_events
    from askew_server.counting.contract import is_text_file

    require_events(engine, task)
    if is_text_file(task.events):
        engine.look_through(task.events, {task.unit_column, task.item_column})


def _offered(place: Workplace, chosen: ServerConfig) -> CountingTask:
    from askew_server.counting import CountingTask
    from askew_server.counting.engines import public_address
    from askew_server.release.plan import MIN_KBAR

    return CountingTask(
        engine=public_address(place.engine),
        events=chosen.analysts_events or "",
        encoding=place.log_encoding,
        unit_column=chosen.analysts_unit_column,
        item_column=chosen.analysts_item_column,
        max_items_per_unit=chosen.analysts_max_items_per_unit,
        limit=MIN_KBAR + 1,
    )
