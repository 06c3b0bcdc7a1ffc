"""A model as a directory: arrays as safetensors, text as JSON, and a card that names every file.

    card.json           schema version, space, rule, training parameters, SHA-256 of each file
    arrays.safetensors  the space's arrays, the catalog's vectors (n_items, D), boosts, shared
                        slate, and the people of the prior where there is one
    items.json          [[key, title, year, [genres]], ...]

Data only: nothing here is ever executed. `load` refuses what is truncated, altered or hostile with
an ArtifactError, and trusts no size before it has checked it. The digests find damage; against
somebody who can write the directory, keep the card's own digest elsewhere.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import ArtifactError, WireError
from askew.model_card import Catalog
from askew_server.model.card_file import (
    decode_card,
    decode_items,
    describe,
    encode_card,
    encode_items,
)
from askew_server.model.item_model import ItemModel
from askew_server.prior.file import PRIOR_KINDS, arrays_of_prior, prior_of_arrays

_CARD, _ARRAYS, _ITEMS = "card.json", "arrays.safetensors", "items.json"
_LIMITS = {_CARD: 1 << 20, _ARRAYS: 1 << 32, _ITEMS: 1 << 30}  # bytes
# Type and number of dimensions of each array.
_KINDS = {
    "vectors": (np.dtype(np.float32), 2),
    "boosts": (np.dtype(np.float32), 1),
    "shared_slate": (np.dtype(np.int64), 1),
    "directions": (np.dtype(np.float32), 2),
    "origin": (np.dtype(np.float32), 1),
    "knots": (np.dtype(np.float64), 2),
}
_OPTIONAL_KINDS = {
    "bucket_directions": (np.dtype(np.float32), 2),
    "bucket_biases": (np.dtype(np.float32), 1),
    **PRIOR_KINDS,
}
Arrays = dict[str, NDArray[Any]]


def save(model: ItemModel, directory: Path) -> None:
    """Write a model to a directory that does not exist yet, all of it or nothing.

    Raises ArtifactError when something is already there, or cannot be written.
    """
    from safetensors.numpy import save as encode_arrays

    arrays = _arrays_of(model)
    files = {_ARRAYS: encode_arrays(arrays), _ITEMS: encode_items(model.keys, model.catalog.items)}
    files[_CARD] = encode_card(model, {n: a.shape for n, a in arrays.items()}, files)
    try:
        if os.path.lexists(directory):  # a dangling link counts: somebody meant something by it
            raise ArtifactError(f"{directory} already exists; name a new directory")
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as draft:
            inside = Path(draft) / "model"
            inside.mkdir()
            for name, data in files.items():
                _write_durably(inside / name, data)
            inside.rename(directory)
    except OSError as error:
        raise ArtifactError(f"{directory} cannot be written: {error.strerror}") from None


def load(directory: Path) -> ItemModel:
    """Read a model back, with every check. Raises ArtifactError with the reason."""
    fields = decode_card(_read(directory, _CARD))
    files = {name: _read(directory, name) for name in (_ARRAYS, _ITEMS)}
    for name, data in files.items():
        if fields.files.get(name) != describe(data):
            raise ArtifactError(f"{directory / name} is not the file that its card names")
    try:
        arrays = _decoded(files[_ARRAYS], fields.shapes)
        keys, items = decode_items(files[_ITEMS])
        slate = tuple(arrays["shared_slate"].tolist())
        catalog = Catalog(items, arrays["vectors"], arrays["boosts"], slate)
        card = fields.model_card(catalog, arrays)
        prior = prior_of_arrays(arrays, card)
        return ItemModel(
            card,
            catalog,
            keys,
            fields.training,
            fields.counts,
            prior,
            fields.figures,
            fields.median_distance,
        )
    except WireError as error:  # a core type refused what the files say
        raise ArtifactError(f"{directory} holds no usable model: {error}") from None


def _arrays_of(model: ItemModel) -> Arrays:
    catalog, encoder, buckets = model.catalog, model.card.space.encoder, model.card.space.buckets
    arrays: Arrays = {
        "vectors": catalog.vectors,
        "boosts": catalog.boosts,
        "shared_slate": np.array(catalog.shared_slate, dtype=np.int64),
        "directions": encoder.directions,
        "origin": encoder.origin,
        "knots": encoder.knots,
    }
    if buckets is not None:
        arrays |= {"bucket_directions": buckets.directions, "bucket_biases": buckets.biases}
    if model.prior is not None:
        arrays |= arrays_of_prior(model.prior)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _decoded(data: bytes, shapes: dict[str, list[int]]) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load as decode_arrays

    try:
        arrays = decode_arrays(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{_ARRAYS} is damaged: {error}") from None
    kinds = {name: (array.dtype, array.ndim) for name, array in arrays.items()}
    expected = _KINDS | {name: kind for name, kind in _OPTIONAL_KINDS.items() if name in kinds}
    if kinds != expected:
        raise ArtifactError(f"{_ARRAYS} does not hold the arrays of a model")
    if {name: list(array.shape) for name, array in arrays.items()} != shapes:
        raise ArtifactError(f"{_ARRAYS} does not have the shapes that the card names")
    return arrays


def _read(directory: Path, name: str) -> bytes:
    path = directory / name
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe would block, a device never end
            raise ArtifactError(f"{path} is no regular file")
        if found.st_size > _LIMITS[name]:
            raise ArtifactError(f"{path} has {found.st_size} bytes, the limit is {_LIMITS[name]}")
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
