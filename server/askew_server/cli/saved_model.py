"""A saved model of either kind: where the command line tells the two apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from askew.errors import ArtifactError, ParameterError

if TYPE_CHECKING:
    from askew_server.collections.model import MetricModel
    from askew_server.taste.model import ItemModel  # brings scipy

    Model = ItemModel | MetricModel


def load(directory: Path) -> Model:
    """Return the model of a directory, an ItemModel (of tastes) or a MetricModel (of collections),
    by what its manifest says it is. Raises ArtifactError.
    """
    from askew_server.taste import directory as folder
    from askew_server.taste.directory import MANIFEST, kind_of

    match kind_of(folder.read(directory / MANIFEST, folder.MANIFEST_LIMIT)):
        case "tastes":
            from askew_server.taste import artifact as tastes

            return tastes.load(directory)
        case "metric":
            from askew_server.collections import artifact as collections

            return collections.load(directory)
        case _:
            raise ArtifactError(
                f"this version does not know what {directory} holds: update askew-server"
            )


def of_one_kind(directory: Path, kinds: set[type]) -> Model:
    """Return the model of a directory, and add its class to `kinds`. Raises ArtifactError, and adds
    nothing, where `kinds` has the other class.
    """
    model = load(directory)
    kinds.add(type(model))
    if len(kinds) > 1:
        kinds.discard(type(model))
        raise ArtifactError(
            f"{directory} is of another kind than the models beside it: serve places and tastes by "
            "a server each"
        )
    return model


def of_tastes(model: Model) -> ItemModel:
    """Return the model as it is, an ItemModel, for what needs ratings. Raises ParameterError for a
    model of collections.
    """
    from askew_server.collections.model import MetricModel

    if isinstance(model, MetricModel):
        raise ParameterError("model", model.words, "a model of ratings: this one has collections")
    return model
