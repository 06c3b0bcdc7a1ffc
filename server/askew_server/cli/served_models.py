"""The models that `askew-server serve` was told of: where they are, and how each is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from askew.catalog.editions import FIRST
from askew.errors import ArtifactError
from askew_server.cli.saved_model import load, of_tastes
from askew_server.serving.configuration.server import Models as Chosen
from askew_server.serving.observing.event_log import write_line
from askew_server.taste.model.mondays import dated, text_of_edition, today, versions_in

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.snapshot import Serving, SnapshotHolder
    from askew_server.serving.running.models import Models
    from askew_server.taste.model.item_model import ItemModel

Find = Callable[[], Mapping[int, Path]]


def models_of(chosen: Chosen, popular: tuple[ReleaseReader, int] | None) -> tuple[Models, Reading]:
    """What was chosen, read, and how. Raises ArtifactError and ParameterError."""
    from askew_server.serving.running.models import Models

    if chosen.demo is not None:
        reading = Reading(popular, tastes_only=False)
        made = reading.model(_demo(chosen.demo))
        return Models(dict, lambda *_: made, today, {FIRST: made}), reading
    find = in_folder(chosen.folder) if chosen.folder is not None else named(chosen.directories)
    reading = Reading.of(find, popular)
    return Models(find, reading.directory, today), reading


def named(models: Sequence[str]) -> Find:
    """Directories with their Mondays. Raises ParameterError and ArtifactError for two of one."""
    found: dict[int, Path] = {}
    for directory, day in map(dated, models):
        if day in found:
            when = "always" if day == FIRST else f"from {text_of_edition(day)} on"
            raise ArtifactError(
                f"a server answers from one model at a time, and {found[day]} and {directory} are "
                f"both in force {when}: name a version by its Monday ({directory}@2026-11-30), and "
                "serve another model, as places beside tastes, by a server of its own"
            )
        found[day] = directory
    return lambda: found


def in_folder(folder: Path) -> Find:
    """The directories in a folder, named by their Mondays, as they are when they are looked for."""
    return lambda: versions_in(folder)


def _demo(name: str) -> Model:
    if name == "places":
        from askew_server.demo.places import places_model

        return places_model()
    from askew_server.demo.simulation import demo_model
    from askew_server.retrieval.tabulated import tables_for

    model = demo_model()
    return replace(model, tables=tables_for(model))


@dataclass(frozen=True)
class Reading:
    """How each model is read. popular: the release that orders a cold start. words: what was read,
    by its Monday.
    """

    popular: tuple[ReleaseReader, int] | None
    tastes_only: bool
    words: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, find: Find, popular: tuple[ReleaseReader, int] | None) -> Reading:
        """Raises ArtifactError where no model is found."""
        found = find()
        if not found:
            raise ArtifactError("there is no model named by a Monday, such as 2026-11-23")
        return cls(popular, tastes_only=set(found) != {FIRST})

    def in_words(self) -> str:
        """What is served."""
        return " and ".join(words for _, words in sorted(self.words.items()))

    def directory(self, directory: Path, since: int) -> Serving:
        """Reads and checks a model, ready to be served. Raises ArtifactError and ParameterError."""
        model = load(directory)
        if self.tastes_only:
            of_tastes(model)  # places have nothing that a device holds
        return self.model(model, directory, since)

    def model(self, model: Model, directory: Path | None = None, since: int = FIRST) -> Serving:
        """A model, ready to be served, with its live values."""
        from threadpoolctl import threadpool_limits

        from askew_server.retrieval.served import serving_of
        from askew_server.serving.front.grpc_server import give_back_now

        # For good: an answer is a small product. More threads of BLAS would wait for each other by
        # spinning, on cores that other calls need: under load 96 ms where one thread takes 2.
        threadpool_limits(1)
        if self.popular is not None:
            model = _popular_first(of_tastes(model), *self.popular)
        serving = serving_of(model, directory, since)
        give_back_now()
        serving.refresh(lambda line: write_line(sys.stderr, line))
        self.words[since] = model.words
        return serving


def warn_of_silence(holder: SnapshotHolder) -> None:
    """Say so where the first version is still to come."""
    if not holder.in_force:
        first = text_of_edition(holder.versions[0].since)
        words = f"no model is in force before {first}; until then every device is refused"
        write_line(sys.stderr, f"askew-server: {words}")


def _popular_first(model: ItemModel, reader: ReleaseReader, charge: int) -> ItemModel:
    """A release as the popularity prior; says how many of its items the catalog does not have."""
    from askew.dp.release import release_from_bytes
    from askew_server.published.popularity import with_popularity

    release = release_from_bytes(reader.named(charge))
    card, catalog, missed = with_popularity(model.card, model.catalog, release)
    if missed == len(release.items):
        raise ArtifactError(
            f"release {charge} orders no cold start: none of its {missed} items is in the catalog "
            "of the model; --popularity names one whose items are spelled as the model's"
        )
    words = (
        f"release {charge}, {len(release.items) - missed} items; {missed} are not in the catalog"
    )
    write_line(sys.stderr, f"cold start: {words}")
    # Slates of buckets were never worth less than the shared slate that there was: choose again.
    return replace(model, card=card, catalog=catalog, slates=None)
