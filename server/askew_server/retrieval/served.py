"""From a model of either kind to what serves it, with the live values of its directory.

What only one kind needs is imported for that kind alone: a server of collections starts without
what weighs tastes. Live values are swapped in when their files change; card, items and index stay
the same objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST
from askew.errors import ArtifactError
from askew.protocol.model_card import ModelCard
from askew_server.collections.artifact import Mark, live_path, mark_of, read_live
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.answers import MetricAnswers
from askew_server.retrieval.snapshot import Serving, Snapshot

Refusal = Callable[[str], None]
"""Told why a file was not taken, without a value."""


class LiveValues:
    """The files of live values beside a model, and the model with what they said last.

    For one thread at a time. A file that cannot be used leaves the values of before.
    """

    def __init__(self, directory: Path, model: MetricModel, since: int = FIRST) -> None:
        """since: the Monday from which on it is in force. Raises ParameterError for a serving rule
        that needs a density where there is none.
        """
        self._model, self._answers, self._since = model, MetricAnswers(model), since
        self._paths = {
            collection.name: live_path(directory, collection.number)
            for collection in model.card.collections
            if any(attribute.live for attribute in collection.attributes)
        }
        self._marks: dict[str, Mark] = dict.fromkeys(self._paths)

    @property
    def snapshot(self) -> Snapshot:
        """Return what serves the model with its values of now."""
        return replace(self._answers.snapshot, since=self._since)

    @property
    def changes(self) -> bool:
        """Return True if any collection has live values."""
        return bool(self._paths)

    def refresh(self, refused: Refusal, /) -> bool:
        """Read the files that changed; return True if there is another snapshot now."""
        columns = {}
        for name, path in self._paths.items():
            mark = mark_of(path)
            if mark is not None and mark != self._marks[name]:
                # Noted before it is read: a file replaced meanwhile is read once more.
                self._marks[name] = mark
                try:
                    columns[name] = read_live(path, self._model.collections[name])
                except ArtifactError as error:
                    refused(f"live values of {name} were not taken, those of before stay: {error}")
        if columns:
            self._model = self._model.with_live(columns)
            self._answers = self._answers.with_live(self._model)
        return bool(columns)


class TasteModel(Protocol):
    """What a model of tastes serves; the room of models has one, and knows more of it."""

    @property
    def card(self) -> ModelCard:
        """Return what is public of it."""

    @property
    def catalog(self) -> Catalog:
        """Return its items."""


@dataclass(frozen=True)
class Fixed:
    """A snapshot that stays."""

    snapshot: Snapshot
    changes: bool = False

    def refresh(self, _: Callable[[str], None], /) -> bool:
        """Return False: nothing follows."""
        return False


def serving_of(
    model: TasteModel | MetricModel, directory: Path | None = None, since: int = FIRST
) -> Serving:
    """Return the model, ready to be served, with the live values of its directory where it has any.

    since: the Monday from which on it is in force.
    """
    if isinstance(model, MetricModel) and directory is not None:
        return LiveValues(directory, model, since)
    return Fixed(replace(snapshot_of(model), since=since))


def snapshot_of(model: TasteModel | MetricModel) -> Snapshot:
    """Return the model, ready to be served; builds what its rule needs.

    Raises ParameterError for a serving rule that needs a density where there is none.
    """
    if isinstance(model, MetricModel):
        from askew_server.retrieval.near.answers import MetricAnswers

        return MetricAnswers(model).snapshot
    from askew_server.retrieval.snapshot import Retriever

    return Retriever(model.card, model.catalog).snapshot
