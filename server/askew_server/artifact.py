"""A model as a directory: arrays as safetensors, text as JSON, and a card that names every file.

    card.json           schema version, space, catalog, training parameters, SHA-256 of each file
    arrays.safetensors  positions (n_items, d) float32, shared_slate (m,) int64
    items.json          [[title, year, [genres]], ...]

Data only: nothing here is ever executed. `load` refuses what is truncated, altered or hostile with
an ArtifactError, and trusts no size before it has checked it. The digests find damage; against
somebody who can write the directory, keep the card's own digest elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import ArtifactError, AskewError
from askew.model_card import Catalog, Item, ModelCard
from askew.vectors import FeatureSpace, RatingScale
from askew_server.item_model import ItemModel

SCHEMA_VERSION = 1
_CARD, _ARRAYS, _ITEMS = "card.json", "arrays.safetensors", "items.json"
_LIMITS = {_CARD: 1 << 20, _ARRAYS: 1 << 32, _ITEMS: 1 << 30}  # bytes


def save(model: ItemModel, directory: Path) -> None:
    """Write a model to a directory that does not exist yet, all of it or nothing.

    Raises ArtifactError when something is already there, or cannot be written.
    """
    from safetensors.numpy import save as encode

    if directory.exists():
        raise ArtifactError(f"{directory} already exists; name a new directory")
    arrays: dict[str, NDArray[Any]] = {
        "positions": np.ascontiguousarray(model.catalog.positions),
        "shared_slate": np.array(model.catalog.shared_slate, dtype=np.int64),
    }
    files = {_ARRAYS: encode(arrays), _ITEMS: _items_to_json(model.catalog)}
    files[_CARD] = _card_to_json(model, files)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as draft:
            inside = Path(draft) / directory.name
            inside.mkdir()
            for name, data in files.items():
                _write_durably(inside / name, data)
            inside.rename(directory)
    except OSError as error:
        raise ArtifactError(f"{directory} cannot be written: {error.strerror}") from None


def load(directory: Path) -> ItemModel:
    """Read a model back, with every check. Raises ArtifactError with the reason."""
    fields = _parse_card(_read(directory, _CARD))
    try:
        files = {name: _read(directory, name) for name in (_ARRAYS, _ITEMS)}
        for name, data in files.items():
            if fields["files"][name]["sha256"] != hashlib.sha256(data).hexdigest():
                raise ArtifactError(f"{directory / name} is not the file that its card names")
        catalog = _catalog(files, fields["shapes"])
        card = _card(fields, catalog)
        return ItemModel(card, catalog, dict(fields["training"]))
    except ArtifactError:
        raise
    except (AskewError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ArtifactError(f"{directory} holds no usable model: {error}") from None


def _card_to_json(model: ItemModel, files: Mapping[str, bytes]) -> bytes:
    card, space = model.card, model.card.space
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "space_version": space.version,
        "catalog_version": card.catalog_version,
        "source": card.source,
        "simulated": card.simulated,
        "max_slate_size": card.max_slate_size,
        "shapes": {
            "positions": list(model.catalog.positions.shape),
            "shared_slate": [len(model.catalog.shared_slate)],
        },
        "space": {
            "metric": space.metric,
            "lower": space.lower,
            "upper": space.upper,
            "gain": space.gain,
            "weight_floor": space.weight_floor,
            "rating_scale": [space.scale.lowest, space.scale.highest],
            "basis": space.basis,
        },
        "training": dict(model.training),
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in files.items()
        },
    }
    fields["card_sha256"] = _card_digest(fields)
    return json.dumps(fields, indent=1).encode()


def _card_digest(fields: Mapping[str, Any]) -> str:
    """A digest of every other field of the card."""
    rest = {name: value for name, value in fields.items() if name != "card_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _parse_card(data: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise ArtifactError(f"{_CARD} is not JSON") from None
    if not isinstance(fields, dict) or fields.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(f"{_CARD} is not of schema version {SCHEMA_VERSION}")
    if fields.get("card_sha256") != _card_digest(fields):
        raise ArtifactError(f"{_CARD} was altered: its digest does not fit")
    return fields


def _card(fields: Mapping[str, Any], catalog: Catalog) -> ModelCard:
    described = fields["space"]
    space = FeatureSpace(
        lower=tuple(map(float, described["lower"])),
        upper=tuple(map(float, described["upper"])),
        gain=float(described["gain"]),
        weight_floor=float(described["weight_floor"]),
        scale=RatingScale(*map(float, described["rating_scale"])),
        basis=str(described["basis"]),
        metric=described["metric"],
    )
    if space.version != fields["space_version"]:
        raise ArtifactError("the space is not the one that the card names")
    if catalog.version != fields["catalog_version"]:
        raise ArtifactError("the catalog is not the one that the card names")
    if catalog.positions.shape[1] != space.dimension:
        raise ArtifactError("the catalog has another dimension than the space")
    return ModelCard(
        space=space,
        catalog_version=catalog.version,
        n_items=len(catalog),
        max_slate_size=int(fields["max_slate_size"]),
        source=str(fields["source"]),
        simulated=bool(fields["simulated"]),
    )


def _catalog(files: Mapping[str, bytes], shapes: Mapping[str, Any]) -> Catalog:
    from safetensors import SafetensorError
    from safetensors.numpy import load as decode

    try:
        arrays = decode(files[_ARRAYS])
    except SafetensorError as error:
        raise ArtifactError(f"{_ARRAYS} is damaged: {error}") from None
    if {name: list(array.shape) for name, array in arrays.items()} != shapes:
        raise ArtifactError(f"{_ARRAYS} does not have the shapes that the card names")
    items = tuple(Item(t, year, tuple(genres)) for t, year, genres in json.loads(files[_ITEMS]))
    return Catalog(items, arrays["positions"], tuple(int(i) for i in arrays["shared_slate"]))


def _items_to_json(catalog: Catalog) -> bytes:
    rows = [[item.title, item.year, list(item.genres)] for item in catalog.items]
    return json.dumps(rows, ensure_ascii=False).encode()


def _read(directory: Path, name: str) -> bytes:
    path = directory / name
    try:
        size = path.stat().st_size
        if size > _LIMITS[name]:
            raise ArtifactError(f"{path} has {size} bytes, the limit is {_LIMITS[name]}")
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
