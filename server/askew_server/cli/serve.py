"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.model_card import Catalog, ModelCard
from askew_server.cli.options import SERVE_PORT, address_of, existing, listening_options

if TYPE_CHECKING:
    from askew_server.network.grpc_server import Service
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.snapshot import Snapshot


@click.command()
@click.option("--model", type=click.Path(path_type=Path), help="Model directory.")
@click.option(
    "--demo",
    is_flag=False,
    flag_value="films",
    type=click.Choice(["films", "places"]),
    help="Serve films with simulated ratings, or simulated places in real towns.",
)
@click.option("--releases", type=click.Path(path_type=Path), help="Serve a ledger's releases too.")
@click.option(
    "--popularity", type=click.IntRange(1), help="The charge of the release shown on a cold start."
)
@listening_options(SERVE_PORT)
def serve(
    model: Path | None,
    demo: str | None,
    releases: Path | None,
    popularity: int | None,
    host: str,
    port: int,
    with_parent: bool,
) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --releases, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    Speaks plain text: on any address but this machine's own, put a TLS proxy in front.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --model model --releases askew-ledger.sqlite --popularity 1
    """
    if (model is None) == (demo is None):
        raise click.UsageError("name one model to serve: --model DIR or --demo")
    if demo == "places" and popularity is not None:
        raise click.UsageError("--popularity orders a whole catalog, and places have none")
    if popularity is not None and releases is None:
        raise click.UsageError("--popularity names a release of the ledger in --releases")
    from askew_server.network.process import serve as run
    from askew_server.network.retrieval_service import RetrievalService
    from askew_server.retrieval.snapshot import SnapshotHolder

    services: list[Service] = []
    reader = None
    if releases is not None:
        from askew_server.network.popularity_service import PopularityService
        from askew_server.published.reader import ReleaseReader

        reader = ReleaseReader(existing(releases))
        services.append(PopularityService(reader))
    snapshot, what = _places() if demo == "places" else _catalog(model, reader, popularity)

    def announce(bound: int) -> None:
        click.echo(f"listening on {host}:{bound}, {what}")

    services.append(RetrievalService(SnapshotHolder(snapshot)))
    asyncio.run(run(services, address_of(host, port), announce, with_parent=with_parent))


def _places() -> tuple[Snapshot, str]:
    """The demo's places, and what they are."""
    from askew_server.demo.places_model import places_model
    from askew_server.retrieval.near import MetricAnswers
    from askew_server.retrieval.snapshot import Snapshot

    model = places_model()
    n_items = sum(each.n_items for each in model.card.collections)
    what = f"{n_items} items, {', '.join(each.source for each in model.card.collections)}"
    return Snapshot(model.card, MetricAnswers(model)), what


def _catalog(
    model: Path | None, reader: ReleaseReader | None, popularity: int | None
) -> tuple[Snapshot, str]:
    """A model of tastes, or the demo's films, and what it is."""
    from askew_server.retrieval.retriever import Retriever

    if model is None:
        from askew_server.demo.model import demo_model

        served = demo_model()
    else:
        from askew_server.model import artifact

        served = artifact.load(model)
    card, catalog = served.card, served.catalog
    if reader is not None and popularity is not None:
        card, catalog = _popular_first(card, catalog, reader, popularity)
    snapshot = Retriever(card, catalog, served.prior).snapshot
    return snapshot, f"{card.n_items} items, {card.source}"


def _popular_first(
    card: ModelCard, catalog: Catalog, reader: ReleaseReader, charge: int
) -> tuple[ModelCard, Catalog]:
    """A release as the popularity prior; says how many of its items the catalog does not have."""
    from askew.release import release_from_bytes
    from askew_server.published.popularity import with_popularity

    release = release_from_bytes(reader.named(charge))
    card, catalog, missed = with_popularity(card, catalog, release)
    click.echo(
        f"cold start: release {charge}, {len(release.items) - missed} items; "
        f"{missed} are not in the catalog",
        err=True,
    )
    return card, catalog
