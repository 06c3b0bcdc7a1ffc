"""What `askew-server serve` does: models and releases of a configuration to services that run."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.editions import FIRST
from askew_server.cli.options import existing
from askew_server.cli.saved_model import load, of_tastes
from askew_server.model.mondays import dated
from askew_server.serving.configuration.configuration import Configuration
from askew_server.serving.configuration.served import Models

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.model.item_model import ItemModel
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.snapshot import Serving
    from askew_server.serving.services.call import Service


def run(chosen: Configuration, *, with_parent: bool) -> None:
    """Serve what was chosen, until it is stopped."""
    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.running.process import serve
    from askew_server.serving.running.snapshot_watch import SnapshotWatch
    from askew_server.serving.running.watched import observer_of
    from askew_server.serving.services.retrieval import RetrievalService

    versions = _versions(chosen.models)
    services: list[Service] = []
    if chosen.releases.ledger is not None:
        from askew_server.published.reader import ReleaseReader
        from askew_server.serving.services.popularity import PopularityService

        reader = ReleaseReader(existing(chosen.releases.ledger))
        services.append(PopularityService(reader))
        if (charge := chosen.releases.popularity) is not None:
            versions = [each.popular_first(reader, charge) for each in versions]

    servings = [each.serving() for each in versions]
    holder = SnapshotHolder(*(serving.snapshot for serving in servings))

    def announce(bound: int) -> None:
        words = " and ".join(each.model.words for each in versions)
        click.echo(f"listening on {chosen.server.host}:{bound}, {words}")

    services.append(RetrievalService(holder))
    beside = SnapshotWatch(servings[0], holder).run if servings[0].changes else None
    observer = observer_of(chosen.server)
    observer.serves(lambda: holder.current.since, time.time())
    served = serve(
        services,
        chosen.server,
        announce,
        with_parent=with_parent,
        beside=beside,
        observer=observer,
    )
    asyncio.run(served)


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


def _versions(models: Models) -> list[_Version]:
    """The models of directories, or a demo's. Raises ParameterError for several of places."""
    if models.demo is not None:
        return [_Version(_demo(models.demo), None, FIRST)]
    named = [dated(text) for text in models.directories]
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
