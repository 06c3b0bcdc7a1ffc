"""A model as a directory: arrays as safetensors, text as JSON, and a manifest of every file.

    manifest.json       schema version, training parameters, figures, SHA-256 of each file
    card.binpb          the card: the very bytes that devices get
    arrays.safetensors  the catalog's vectors (n_items, D), boosts and shared slate
    items.json          [[key, title, year, [genres]], ...], one item a line
    noisy.bin           of a private model, the noisy matrix that it is made of; no server reads it

Data only: nothing here is ever executed. `load` refuses what is truncated, altered or hostile with
an ArtifactError, and trusts no size before it has checked it. The digests find damage; against
somebody who can write the directory, keep the manifest's own digest elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from askew.catalog.catalog import Catalog, Neighbors
from askew.catalog.item import Item
from askew.errors import ArtifactError, WireError
from askew.spaces.item_codes import encode, encode_boosts
from askew.wire.tastes import card_from_bytes, card_to_bytes
from askew_server.taste import directory as folder
from askew_server.taste.directory import (
    CARD,
    MANIFEST,
    ArrayKind,
    Arrays,
    Count,
    SignedManifest,
    decode_arrays,
    decode_manifest,
    encode_arrays,
    file_fields,
)
from askew_server.taste.evaluation import Figures
from askew_server.taste.model import ItemModel
from askew_server.taste.options import TrainingOptions


class TasteManifest(SignedManifest, frozen=True, kw_only=True):
    """The manifest of a model of tastes: what a server knows beside its card."""

    kind: Literal["tastes"]
    schema_version: Literal[7]
    shapes: dict[str, list[Count]]
    training: TrainingOptions
    counts: dict[str, Count]
    figures: Figures


Year = Annotated[int, Meta(ge=1, le=9999)]
_Row = tuple[str, str, Year | None, tuple[str, ...]]
_BETWEEN = b",\n"  # rows, and nothing else: JSON has no line break within a text


def _encode_items(keys: Iterable[str], items: Sequence[Item]) -> bytes:
    rows = ((key, i.title, i.year, i.genres) for key, i in zip(keys, items, strict=True))
    return b"[" + _BETWEEN.join(map(msgspec.json.encode, rows)) + b"]"


def decode_items(data: bytes) -> tuple[tuple[str, ...], tuple[Item, ...]]:
    """Return the keys and the items of a catalog, in order of item id, from the bytes of
    items.json. Raises ArtifactError for anything else, an empty list too, and where two items have
    the same key; OutOfRange for words that an Item refuses.
    """
    if not (data.startswith(b"[") and data.endswith(b"]")):
        raise ArtifactError("the items cannot be read: they are no list")
    decode = msgspec.json.Decoder(_Row).decode
    keys, items = [], []
    genres: dict[tuple[str, ...], tuple[str, ...]] = {}  # one object for all items of the same
    try:
        for line in data[1:-1].split(_BETWEEN):  # all rows at once would take far more memory
            key, title, year, own = decode(line)
            keys.append(key)
            items.append(Item(title, year, genres.setdefault(own, own)))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"the items cannot be read: {error}") from None
    if len(set(keys)) < len(keys):
        raise ArtifactError("two items have the same key")
    return tuple(keys), tuple(items)


_ARRAYS, _ITEMS = "arrays.safetensors", "items.json"
_LIMITS = {  # bytes
    MANIFEST: folder.MANIFEST_LIMIT,
    CARD: folder.CARD_LIMIT,
    _ARRAYS: folder.LIMIT,
    _ITEMS: 1 << 30,
}
# Type and number of dimensions of each array.
_KINDS: dict[str, ArrayKind] = {
    "vectors": (np.dtype(np.float32), 2),
    "boosts": (np.dtype(np.float32), 1),
    "shared_slate": (np.dtype(np.int64), 1),
}
_NEIGHBOR_KINDS: dict[str, ArrayKind] = {
    "neighbor_items": (np.dtype(np.uint16), 2),
    "neighbor_codes": (np.dtype(np.uint8), 2),
    "neighbor_step": (np.dtype(np.float64), 1),
}


def save(model: ItemModel, directory: Path, beside: Mapping[str, Path] | None = None) -> None:
    """Write a model to a directory that does not exist yet, all of it or nothing; missing parents
    are made. beside: files that are copied into it, by their names there.

    Raises ArtifactError when something is already there, or cannot be written.
    """
    catalog, copies = model.catalog, beside or {}
    arrays: Arrays = {
        "vectors": catalog.vectors,
        "boosts": catalog.boosts,
        "shared_slate": np.array(catalog.shared_slate, dtype=np.int64),
    }
    if (neighbors := catalog.neighbors) is not None:
        values = (neighbors.items, neighbors.codes, np.array([neighbors.step]))
        arrays |= dict(zip(_NEIGHBOR_KINDS, values, strict=True))
    files = {
        CARD: card_to_bytes(model.card),
        _ARRAYS: encode_arrays(arrays),
        _ITEMS: _encode_items(model.keys, catalog.items),
    }
    files[MANIFEST] = TasteManifest(
        kind="tastes",
        schema_version=7,
        shapes=_shapes_of(arrays),
        training=model.training,
        counts=dict(model.counts),
        figures=model.figures,
        files={name: file_fields(data) for name, data in files.items()}
        | {name: folder.fields_of_file(file) for name, file in copies.items()},
    ).encoded()
    folder.save(directory, files, copies)


def _shapes_of(arrays: Arrays) -> dict[str, list[int]]:
    return {name: list(array.shape) for name, array in arrays.items()}


def load(directory: Path) -> ItemModel:
    """Return the model of a directory. Raises ArtifactError, which says why, for one that is
    missing, damaged, or of a model that devices would not accept.
    """
    fields = decode_manifest(folder.read(directory / MANIFEST, _LIMITS[MANIFEST]), TasteManifest)
    files = fields.files
    try:
        data = folder.read_checked(directory, CARD, files, _LIMITS[CARD])
        card = card_from_bytes(data)
        if card_to_bytes(card) != data:
            raise ArtifactError("the card has unknown or missing fields")
        data = folder.read_checked(directory, _ARRAYS, files, _LIMITS[_ARRAYS])
        arrays = decode_arrays(_ARRAYS, data, _KINDS, _NEIGHBOR_KINDS)
        del data  # as large as the arrays
        if _shapes_of(arrays) != fields.shapes:
            raise ArtifactError(f"{_ARRAYS} does not have the shapes that its manifest names")
        keys, items = decode_items(folder.read_checked(directory, _ITEMS, files, _LIMITS[_ITEMS]))
        slate = tuple(arrays["shared_slate"].tolist())
        neighbors, parts = None, [arrays[name] for name in _NEIGHBOR_KINDS if name in arrays]
        if parts:
            if len(parts) != len(_NEIGHBOR_KINDS) or len(parts[-1]) != 1:
                raise ArtifactError("neighbors of items lack some of their arrays")
            neighbors = Neighbors(parts[0], parts[1], float(parts[2][0]))
        catalog = Catalog(items, arrays["vectors"], arrays["boosts"], slate, neighbors)
        if (catalog.version, len(catalog)) != (card.catalog_version, card.n_items):
            raise ArtifactError("the catalog is not the one that the card names")
        if catalog.vectors.shape[1] != card.space.ranking_dimension:
            raise ArtifactError("the catalog has another ranking dimension than the space")
        # Devices hold codes, which do not say any number.
        encode(catalog.vectors, card.space.scales), encode_boosts(catalog.boosts)
        return ItemModel(card, catalog, keys, fields.training, fields.counts, fields.figures)
    except WireError as error:  # a core type refused what the files say
        raise ArtifactError(f"{directory} holds no usable model: {error}") from None
