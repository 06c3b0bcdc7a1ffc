"""What the text files of a saved model must look like, down to the type of every field.

Decoding is strict: no number for text, no fraction for a whole number, no NaN, no unknown field,
no depth beyond what is written here.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from askew.errors import ArtifactError
from askew.model_card import Catalog, Item, ModelCard
from askew.vectors import FeatureSpace, RatingScale
from askew_server.item_model import ItemModel

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Version = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Count = Annotated[int, Meta(ge=0)]
Year = Annotated[int, Meta(ge=1, le=9999)]
_Items = list[tuple[str, Year | None, tuple[str, ...]]]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No field more, no field less."""


class SpaceFields(_Strict, frozen=True):
    """A feature space."""

    metric: Literal["l1"]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    gain: float
    weight_floor: float
    rating_scale: tuple[float, float]
    basis: Sha256


class FileFields(_Strict, frozen=True):
    """One file beside the card."""

    bytes: Count
    sha256: Sha256


class ShapeFields(_Strict, frozen=True):
    """The shape of each array."""

    positions: tuple[Count, Count]
    shared_slate: tuple[Count]


class CardFields(_Strict, frozen=True):
    """The card: `card_sha256` is a digest of every other field."""

    schema_version: Literal[1]
    space_version: Version
    catalog_version: Version
    source: str
    simulated: bool
    max_slate_size: Count
    shapes: ShapeFields
    space: SpaceFields
    training: dict[str, int | float | str]
    files: dict[str, FileFields]
    card_sha256: Sha256

    def digest(self) -> str:
        """What `card_sha256` must be."""
        # Through the types once: 8 where a float belongs is 8.0 when it is read back.
        fields = msgspec.to_builtins(msgspec.convert(msgspec.to_builtins(self), CardFields))
        del fields["card_sha256"]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def model_card(self, catalog: Catalog) -> ModelCard:
        """The core's card of a catalog. Raises ArtifactError where the two do not fit."""
        space = FeatureSpace(
            lower=self.space.lower,
            upper=self.space.upper,
            gain=self.space.gain,
            weight_floor=self.space.weight_floor,
            scale=RatingScale(*self.space.rating_scale),
            basis=self.space.basis,
            metric=self.space.metric,
        )
        if space.version != self.space_version:
            raise ArtifactError("the space is not the one that the card names")
        if catalog.version != self.catalog_version:
            raise ArtifactError("the catalog is not the one that the card names")
        if catalog.positions.shape[1] != space.dimension:
            raise ArtifactError("the catalog has another dimension than the space")
        return ModelCard(
            space=space,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=self.max_slate_size,
            source=self.source,
            simulated=self.simulated,
        )


def describe(data: bytes) -> FileFields:
    """What a card says of a file with this content."""
    return FileFields(len(data), hashlib.sha256(data).hexdigest())


def encode_card(model: ItemModel, files: dict[str, bytes]) -> bytes:
    """The card of a model and of the files that hold the rest of it."""
    card, space, catalog = model.card, model.card.space, model.catalog
    n, dimension = catalog.positions.shape
    fields = CardFields(
        schema_version=1,
        space_version=space.version,
        catalog_version=card.catalog_version,
        source=card.source,
        simulated=card.simulated,
        max_slate_size=card.max_slate_size,
        shapes=ShapeFields((n, dimension), (len(catalog.shared_slate),)),
        space=SpaceFields(
            metric=space.metric,
            lower=space.lower,
            upper=space.upper,
            gain=space.gain,
            weight_floor=space.weight_floor,
            rating_scale=(space.scale.lowest, space.scale.highest),
            basis=space.basis,
        ),
        training=dict(model.training),
        files={name: describe(data) for name, data in files.items()},
        card_sha256="0" * 64,
    )
    signed = msgspec.structs.replace(fields, card_sha256=fields.digest())
    return msgspec.json.format(msgspec.json.encode(signed), indent=1)


def decode_card(data: bytes) -> CardFields:
    """The fields of a card. Raises ArtifactError for anything but an unaltered one."""
    try:
        fields = msgspec.json.decode(data, type=CardFields)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"the card cannot be read: {error}") from None
    if fields.card_sha256 != fields.digest():
        raise ArtifactError("the card was altered: its digest does not fit")
    return fields


def encode_items(catalog: Catalog) -> bytes:
    """Titles, years and genres, in order of item id."""
    return msgspec.json.encode([(item.title, item.year, item.genres) for item in catalog.items])


def decode_items(data: bytes) -> tuple[Item, ...]:
    """The items of a catalog. Raises ArtifactError for anything else."""
    try:
        rows = msgspec.json.decode(data, type=_Items)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"the items cannot be read: {error}") from None
    return tuple(Item(title, year, genres) for title, year, genres in rows)
