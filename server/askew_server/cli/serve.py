"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.editions import FIRST
from askew_server.cli.editions import DATED_MODEL
from askew_server.cli.options import SERVE_PORT, address_of, existing, listening_options
from askew_server.cli.saved_model import load, of_tastes

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.model.item_model import ItemModel
    from askew_server.network.grpc_server import Service
    from askew_server.published.reader import ReleaseReader


@click.command()
@click.option(
    "--model",
    "models",
    type=DATED_MODEL,
    multiple=True,
    help="Model directory, or DIR@2026-11-23: from that Monday on. Repeatable, for old versions.",
)
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
    models: tuple[tuple[Path, int], ...],
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

    What devices hold is as old as a week. So an old version is served beside the new one, until
    two days and a week after the new one came into force: --model old --model new@2026-11-23.

    A model of collections is served with its live values: what `update-live` writes is swapped in
    within a second, or at once on SIGHUP.

    Speaks plain text: on any address but this machine's own, put a TLS proxy in front.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --model old --model new@2026-11-30
      askew-server serve --demo places
      askew-server serve --model model \\
        --releases askew-ledger.sqlite --popularity 1
    """
    if bool(models) == bool(demo):
        raise click.UsageError("name a model to serve: --model DIR or --demo")
    if popularity is not None and releases is None:
        raise click.UsageError("--popularity names a release of the ledger in --releases")
    from askew_server.network.process import serve as run
    from askew_server.network.retrieval_service import RetrievalService
    from askew_server.network.snapshot_watch import SnapshotWatch
    from askew_server.retrieval.served import serving_of
    from askew_server.retrieval.snapshot import SnapshotHolder

    served = _models(models, demo)
    services: list[Service] = []
    if releases is not None:
        from askew_server.network.popularity_service import PopularityService
        from askew_server.published.reader import ReleaseReader

        reader = ReleaseReader(existing(releases))
        services.append(PopularityService(reader))
        if popularity is not None:
            served = [
                replace(each, model=_popular_first(of_tastes(each.model), reader, popularity))
                for each in served
            ]
    servings = [serving_of(each.model, each.directory) for each in served]
    for serving in servings:
        serving.refresh(lambda line: click.echo(line, err=True))
    dated = zip(servings, served, strict=True)
    holder = SnapshotHolder(*[replace(one.snapshot, since=each.since) for one, each in dated])
    [words] = [each.model.words for each in served if each.since == holder.current.since]

    def announce(bound: int) -> None:
        click.echo(f"listening on {host}:{bound}, {words}")

    services.append(RetrievalService(holder))
    serving = servings[0]  # the only one, where there are live values
    beside = SnapshotWatch(serving, holder).run if serving.changes else None
    place = address_of(host, port)
    asyncio.run(run(services, place, announce, with_parent=with_parent, beside=beside))


@dataclass(frozen=True)
class _Served:
    """A model, where it came from, and the Monday from which on it is in force."""

    model: Model
    directory: Path | None = None
    since: int = FIRST


def _models(models: Sequence[tuple[Path, int]], demo: str | None) -> list[_Served]:
    """The models of directories, or a demo's. Raises ParameterError for versions of collections."""
    if demo is not None:
        return [_Served(_demo(demo))]
    served = [_Served(load(directory), directory, since) for directory, since in models]
    if len(served) > 1 or served[0].since != FIRST:
        for each in served:
            of_tastes(each.model)
    return served


def _demo(demo: str) -> Model:
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
