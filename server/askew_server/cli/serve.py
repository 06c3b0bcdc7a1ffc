"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.editions import FIRST
from askew_server.cli.editions import dated
from askew_server.cli.options import SERVE_PORT, existing, listening_options
from askew_server.cli.saved_model import load, of_tastes

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.model.item_model import ItemModel
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.snapshot import Serving
    from askew_server.serving.services.call import Service


@click.command()
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="DIR[@MONDAY]",
    help="Model directory; with @2026-11-23, in force from that Monday on. May be repeated.",
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
    models: tuple[str, ...],
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

    With several models of tastes, a device is answered from the one that was in force on the Monday
    that it last looked. An old one is answered for a week and two days after the next came.

    Speaks plain text: on any address but this machine's own, put a TLS proxy in front.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --model old --model new@2026-11-23
      askew-server serve --model model \\
        --releases askew-ledger.sqlite --popularity 1
    """
    if bool(models) == (demo is not None):
        raise click.UsageError("name one model to serve: --model DIR or --demo")
    if popularity is not None and releases is None:
        raise click.UsageError("--popularity names a release of the ledger in --releases")
    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.configuration.server import ServerConfig
    from askew_server.serving.running.process import serve as run
    from askew_server.serving.running.snapshot_watch import SnapshotWatch
    from askew_server.serving.services.retrieval import RetrievalService

    versions = _versions(models, demo)
    services: list[Service] = []
    if releases is not None:
        from askew_server.published.reader import ReleaseReader
        from askew_server.serving.services.popularity import PopularityService

        reader = ReleaseReader(existing(releases))
        services.append(PopularityService(reader))
        if popularity is not None:
            versions = [each.popular_first(reader, popularity) for each in versions]

    servings = [each.serving() for each in versions]
    holder = SnapshotHolder(*(serving.snapshot for serving in servings))

    def announce(bound: int) -> None:
        words = " and ".join(each.model.words for each in versions)
        click.echo(f"listening on {host}:{bound}, {words}")

    services.append(RetrievalService(holder))
    beside = SnapshotWatch(servings[0], holder).run if servings[0].changes else None
    config = ServerConfig(host=host, port=port)
    asyncio.run(run(services, config, announce, with_parent=with_parent, beside=beside))


@dataclass(frozen=True)
class _Version:
    """A model, its directory if it has one, and the Monday from which on it is in force."""

    model: Model
    directory: Path | None
    since: int

    def serving(self) -> Serving:
        """Ready to be served."""
        from askew_server.retrieval.served import serving_of

        serving = serving_of(self.model, self.directory, self.since)
        serving.refresh(lambda line: click.echo(line, err=True))
        return serving

    def popular_first(self, reader: ReleaseReader, charge: int) -> _Version:
        """With a release as the popularity prior."""
        return replace(self, model=_popular_first(of_tastes(self.model), reader, charge))


def _versions(models: Sequence[str], demo: str | None) -> list[_Version]:
    """The models of directories, or a demo's. Raises ParameterError for several of places."""
    if demo is not None:
        return [_Version(_demo(demo), None, FIRST)]
    named = [dated(text) for text in models]
    versions = [_Version(load(directory), directory, since) for directory, since in named]
    if len(versions) > 1 or versions[0].since != FIRST:
        for each in versions:
            of_tastes(each.model)  # places have nothing that a device holds
    return versions


def _demo(name: str) -> Model:
    if name == "places":
        from askew_server.demo.places_model import places_model

        return places_model()
    from askew_server.demo.model import demo_model
    from askew_server.retrieval.tables.made import tables_for

    model = demo_model()
    return replace(model, tables=tables_for(model))


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
