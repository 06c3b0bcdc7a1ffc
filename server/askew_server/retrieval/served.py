"""A saved model of either kind, and the snapshot that serves it: where the two kinds meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from askew.errors import ArtifactError, ParameterError
from askew_server.collections import artifact as collection_files
from askew_server.collections.model import MetricModel
from askew_server.model import artifact as taste_files
from askew_server.model import directory as folder
from askew_server.model.item_model import ItemModel
from askew_server.model.signed_card import CARD, kind_of
from askew_server.retrieval.live_values import LiveValues
from askew_server.retrieval.near.answers import MetricAnswers
from askew_server.retrieval.retriever import Retriever
from askew_server.retrieval.snapshot import Snapshot

Model = ItemModel | MetricModel
_LOADERS: dict[str, Callable[[Path], Model]] = {
    "tastes": taste_files.load,
    "metric": collection_files.load,
}


def load(directory: Path) -> Model:
    """A model, by what its card says it is. Raises ArtifactError."""
    kind = kind_of(folder.read(directory / CARD, folder.CARD_LIMIT))
    if kind not in _LOADERS:
        raise ArtifactError(f"{directory} holds a model of another kind than {', '.join(_LOADERS)}")
    return _LOADERS[kind](directory)


def of_tastes(model: Model) -> ItemModel:
    """The model, for what needs ratings. Raises ParameterError for collections."""
    if isinstance(model, MetricModel):
        raise ParameterError("model", model.words, "one of tastes here: it has collections")
    return model


class Serving(Protocol):
    """A snapshot that may be followed by another while it is served."""

    @property
    def snapshot(self) -> Snapshot:
        """What serves now."""

    @property
    def changes(self) -> bool:
        """Whether it is ever followed by another."""

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        """Looks for the next; whether there is one."""


@dataclass(frozen=True)
class Fixed:
    """A snapshot that stays."""

    snapshot: Snapshot
    changes: bool = False

    def refresh(self, _: Callable[[str], None], /) -> bool:
        """Nothing follows."""
        return False


def serving_of(model: Model, directory: Path | None = None) -> Serving:
    """The model, ready to be served, with the live values of its directory where it has any."""
    if isinstance(model, MetricModel) and directory is not None:
        return LiveValues(directory, model)
    return Fixed(snapshot_of(model))


def snapshot_of(model: Model) -> Snapshot:
    """The model, ready to be served; builds what its rule needs.

    Raises ParameterError for a serving rule that needs a prior or a density where there is none.
    """
    if isinstance(model, MetricModel):
        return Snapshot(model.card, MetricAnswers(model))
    return Retriever(model.card, model.catalog, model.prior).snapshot
