"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_server.cli.options import SERVE_PORT, address_of, existing, listening_options
from askew_server.cli.saved_model import load, of_tastes

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.model.item_model import ItemModel
    from askew_server.network.grpc_server import Service
    from askew_server.published.reader import ReleaseReader


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

    A model of collections is served with its live values: what `update-live` writes is swapped in
    within a second, or at once on SIGHUP.

    Speaks plain text: on any address but this machine's own, put a TLS proxy in front.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --model model \\
        --releases askew-ledger.sqlite --popularity 1
    """
    if (model is None) == (demo is None):
        raise click.UsageError("name one model to serve: --model DIR or --demo")
    if popularity is not None and releases is None:
        raise click.UsageError("--popularity names a release of the ledger in --releases")
    from askew_server.network.process import serve as run
    from askew_server.network.retrieval_service import RetrievalService
    from askew_server.network.snapshot_watch import SnapshotWatch
    from askew_server.retrieval.served import serving_of
    from askew_server.retrieval.snapshot import SnapshotHolder

    served = _model(model, demo)
    services: list[Service] = []
    if releases is not None:
        from askew_server.network.popularity_service import PopularityService
        from askew_server.published.reader import ReleaseReader

        reader = ReleaseReader(existing(releases))
        services.append(PopularityService(reader))
        if popularity is not None:
            served = _popular_first(of_tastes(served), reader, popularity)

    def announce(bound: int) -> None:
        click.echo(f"listening on {host}:{bound}, {served.words}")

    serving = serving_of(served, model)
    serving.refresh(lambda line: click.echo(line, err=True))
    holder = SnapshotHolder(serving.snapshot)
    services.append(RetrievalService(holder))
    beside = SnapshotWatch(serving, holder).run if serving.changes else None
    place = address_of(host, port)
    asyncio.run(run(services, place, announce, with_parent=with_parent, beside=beside))


def _model(directory: Path | None, demo: str | None) -> Model:
    """The model of a directory, or a demo's."""
    if directory is not None:
        return load(directory)
    if demo == "places":
        from askew_server.demo.places_model import places_model

        return places_model()
    from askew_server.demo.model import demo_model

    return demo_model()


def _popular_first(model: ItemModel, reader: ReleaseReader, charge: int) -> ItemModel:
    """A release as the popularity prior; says how many of its items the catalog does not have."""
    from askew.release import release_from_bytes
    from askew_server.published.popularity import with_popularity

    release = release_from_bytes(reader.named(charge))
    card, catalog, missed = with_popularity(model.card, model.catalog, release)
    click.echo(
        f"cold start: release {charge}, {len(release.items) - missed} items; "
        f"{missed} are not in the catalog",
        err=True,
    )
    return replace(model, card=card, catalog=catalog)
