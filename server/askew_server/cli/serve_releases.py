"""`askew-server serve-releases`: stored releases for everybody, and answers for analysts."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_server.cli.options import (
    PLACES,
    RELEASES_PORT,
    Workplace,
    engine_options,
    existing,
    ledger_options,
    listening_options,
)

if TYPE_CHECKING:
    from askew_server.release.analyst_desk import AnalystDesk
    from askew_server.release.analyst_plan import Offer
    from askew_server.serving.services.call import Service


@click.command("serve-releases")
@click.option(
    "--token-key", type=click.Path(path_type=Path), help="Serve analysts, whom its tokens name."
)
@click.option("--dataset", help="The data set that analysts may ask about.")
@click.option("--events", help="Its events: FILE or TABLE of the engine.")
@click.option("--unit-column", default="unit", show_default=True, help="Whose event it is.")
@click.option("--item-column", default="item", show_default=True, help="What was chosen.")
@click.option(
    "--max-items-per-unit", default=100, show_default=True, help="Count no more of a person."
)
@click.option(
    "--requests-per-minute",
    default=60,
    show_default=True,
    type=click.IntRange(1),
    help="Answer no analyst more often.",
)
@engine_options
@ledger_options
@listening_options(RELEASES_PORT)
def serve_releases(
    token_key: Path | None,
    dataset: str | None,
    requests_per_minute: int,
    host: str,
    port: int,
    with_parent: bool,
    **rest: Any,
) -> None:
    """Serve stored releases to everybody and, with --token-key, answers to analysts.

    Stored releases are read from the ledger's file, read-only. Analysts need a budget (see ledger
    grant) and a bearer token (see token mint), and pay for the length of each answer.

    Speaks plain text: on any address but this machine's own, put a TLS proxy in front.

    \b
    Examples:
      askew-server serve-releases
      askew-server serve-releases --token-key analysts.key \\
        --dataset films --events log.parquet
    """
    if token_key is not None and None in (dataset, rest["events"]):
        raise click.UsageError("analysts need --dataset and --events")
    if token_key is None and (dataset or rest["events"]):
        raise click.UsageError("--dataset and --events are for analysts: name their --token-key")
    from askew_server.published.reader import ReleaseReader
    from askew_server.serving.configuration.server import ServerConfig
    from askew_server.serving.running.process import serve
    from askew_server.serving.running.watched import observer_of
    from askew_server.serving.services.popularity import PopularityService

    def announce(bound: int) -> None:
        served = "releases, and answers to analysts" if token_key else "releases"
        click.echo(f"listening on {host}:{bound}, {served}")

    with ExitStack() as stack:
        place = Workplace(**{name: rest.pop(name) for name in PLACES})
        services: list[Service] = [PopularityService(ReleaseReader(existing(place.ledger)))]
        if token_key is not None and dataset is not None:
            desk = _desk(stack, place, dataset, _offer(place, **rest))
            services.append(_analysts(desk, token_key, requests_per_minute))
        config = ServerConfig(host=host, port=port)
        observer = observer_of(config)
        asyncio.run(serve(services, config, announce, with_parent=with_parent, observer=observer))


def _analysts(desk: AnalystDesk, token_key: Path, requests_per_minute: int) -> Service:
    """The service of analysts, for whoever has a token that was not taken back."""
    from askew_server.serving.services.analyst import AnalystService
    from askew_server.serving.services.bearer import read_key
    from askew_server.serving.services.principals import Principals, RateLimit
    from askew_server.serving.services.revocations import revocations_of

    rate = RateLimit(requests_per_minute, time.monotonic)
    return AnalystService(desk, Principals(read_key(token_key), revocations_of(token_key), rate))


def _desk(stack: ExitStack, place: Workplace, dataset: str, offer: Offer) -> AnalystDesk:
    """The desk of analysts, checked as far as that goes without reading events."""
    from askew.randomness import SystemBits
    from askew_server.cli.engine import EventCounter, opened_engine
    from askew_server.counting.bounding import require_countable
    from askew_server.counting.key_store import stored_key
    from askew_server.ledger import Ledger
    from askew_server.release.analyst_desk import AnalystDesk
    from askew_server.release.job import ReleaseJob
    from askew_server.release.selectors import MIN_KBAR

    book = stack.enter_context(Ledger(place.ledger, place.anchor_path))
    book.dataset(dataset)
    engine = stack.enter_context(opened_engine(place))
    require_countable(engine, offer.source.task(offer.bound, MIN_KBAR))
    count = EventCounter(engine, stored_key(place.bounding_key_path))
    return AnalystDesk(book, {dataset: offer}, ReleaseJob(book, count, SystemBits()))


def _offer(place: Workplace, *, max_items_per_unit: int, **named: str) -> Offer:
    from askew_server.counting import ContributionBound
    from askew_server.counting.engines.address import public_address
    from askew_server.release.analyst_plan import Offer
    from askew_server.release.plan import EventSource

    source = EventSource(engine=public_address(place.engine), **named)
    return Offer(source, ContributionBound(max_items_per_unit))
