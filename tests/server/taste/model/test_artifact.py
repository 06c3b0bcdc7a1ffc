"""A model directory is read back whole, or refused with a reason: nothing in between. What somebody
forged, with digests that fit, is served only if devices accept it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import reduce
from operator import getitem
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as decode
from safetensors.numpy import save as encode

from askew.errors import ArtifactError
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.ratings import RatingTable
from askew_server.taste import artifact
from askew_server.taste import directory as folder
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions

NAN, INF = float("nan"), float("inf")
SURROGATE = "\ud800"  # half a character, which JSON can spell and UTF-8 cannot

Arrays = dict[str, NDArray[Any]]
ARRAYS, ITEMS = "arrays.safetensors", "items.json"
FILES = ("manifest.json", "card.binpb", ARRAYS, ITEMS)


def refusal(directory: Path) -> str:
    """Why a directory is not loaded; any other exception goes through to the test."""
    with pytest.raises(ArtifactError) as caught:
        artifact.load(directory)
    assert str(caught.value)
    return str(caught.value)


def forge(
    directory: Path,
    files: Mapping[str, bytes] = MappingProxyType({}),
    card: Callable[[pb.GetModelCardResponse], object] = lambda _: None,
    manifest: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Change a saved model and make every digest, and the catalog's version, fit the change.

    manifest: maps dotted paths to values, and wins over what would fit.
    """
    for name, data in files.items():
        (directory / name).write_bytes(data)
    fields: dict[str, Any] = json.loads((directory / "manifest.json").read_bytes())
    message = pb.GetModelCardResponse.FromString((directory / "card.binpb").read_bytes())
    with suppress(KeyError, TypeError, ValueError, OverflowError, SafetensorError):
        arrays = decode((directory / ARRAYS).read_bytes())
        fields["shapes"] = {name: list(array.shape) for name, array in arrays.items()}
        items = json.loads((directory / ITEMS).read_text())
        message.catalog_version = catalog_version(arrays, items)
    card(message)
    (directory / "card.binpb").write_bytes(message.SerializeToString())
    for name in FILES[1:]:
        data = (directory / name).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        fields["files"][name] = {"bytes": len(data), "sha256": digest}
    for path, value in manifest.items():
        *way, name = path.split(".")
        reduce(getitem, way, fields)[name] = value
    del fields["sha256"]
    signed = json.dumps(fields, sort_keys=True).encode()
    fields["sha256"] = hashlib.sha256(signed).hexdigest()
    (directory / "manifest.json").write_text(json.dumps(fields))


def catalog_version(arrays: Arrays, items: list[list[Any]]) -> bytes:
    """As the catalog's own, where these items and arrays have one at all."""
    lines = "\n".join(repr((title, year, tuple(genres))) for _, title, year, genres in items)
    numbers = b"".join(arrays[name].astype("<f4").tobytes() for name in ("vectors", "boosts"))
    shape, slate = repr(arrays["vectors"].shape), repr(tuple(arrays["shared_slate"].tolist()))
    text = shape.encode() + lines.encode() + numbers + slate.encode()
    return hashlib.sha256(text).digest()[:16]


def plain(model: ItemModel) -> object:
    return model.card, model.catalog.version, model.keys, model.training, dict(model.counts)


def test_a_saved_model_is_the_model_that_is_loaded(tmp_path: Path, model: ItemModel) -> None:
    """In directories that do not exist yet."""
    artifact.save(model, tmp_path / "a" / "b" / "model")
    assert {path.name for path in (tmp_path / "a" / "b" / "model").iterdir()} == {*FILES}
    loaded = artifact.load(tmp_path / "a" / "b" / "model")
    assert plain(model) == plain(loaded)
    assert model.catalog.items == loaded.catalog.items
    assert model.catalog.shared_slate == loaded.catalog.shared_slate
    np.testing.assert_array_equal(model.catalog.vectors, loaded.catalog.vectors, strict=True)
    np.testing.assert_array_equal(model.catalog.boosts, loaded.catalog.boosts, strict=True)


def test_a_model_trained_with_whole_numbers_is_loaded(tmp_path: Path, table: RatingTable) -> None:
    """4 and 4.0 are the same epsilon, and must have the same digest."""
    options = TrainingOptions(min_ratings=5, like_from=4)
    trained = train(table, {}, options, source="whole numbers")
    artifact.save(trained, tmp_path / "whole")
    assert plain(trained) == plain(artifact.load(tmp_path / "whole"))


@pytest.mark.parametrize("take", [Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_a_name_that_is_taken_is_refused_and_what_is_there_stays(
    tmp_path: Path, model: ItemModel, take: Callable[[Path], None]
) -> None:
    path = tmp_path / "model"
    take(path)
    before = path.lstat().st_ino
    with pytest.raises(ArtifactError, match="already exists"):
        artifact.save(model, path)
    assert path.lstat().st_ino == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fills_up_leaves_nothing_behind(
    tmp_path: Path, model: ItemModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def fail_at_the_second(path: Path, data: bytes) -> None:
        written.append(path)
        path.write_bytes(data)
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_durably", fail_at_the_second)
    with pytest.raises(ArtifactError, match="cannot be written: No space left on device"):
        artifact.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_gone_or_over_its_limit_is_refused_before_it_is_read(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (directory / name).stat().st_size
    monkeypatch.setitem(artifact._LIMITS, name, size)
    assert artifact.load(directory)
    monkeypatch.setitem(artifact._LIMITS, name, size - 1)
    assert f"{name} has {size} bytes, the limit is {size - 1}" in refusal(directory)
    (directory / name).unlink()
    assert f"{name} cannot be read: No such file or directory" in refusal(directory)
    # A pipe would block for ever, and a device such as /dev/zero never ends; both say size 0.
    (directory / name).symlink_to("/dev/null")
    assert f"{name} is no regular file" in refusal(directory)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_of_another_size_than_the_manifest_says_is_not_read(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a file of holes, within the limit, takes more memory than the server has."""
    opened, read_bytes = list[str](), Path.read_bytes

    def noted(path: Path) -> bytes:
        opened.append(path.name)
        return read_bytes(path)

    os.truncate(directory / name, 1 << 20)
    monkeypatch.setattr(Path, "read_bytes", noted)
    assert "is not the file that its manifest names" in refusal(directory)
    assert name not in opened


def test_a_flipped_bit_is_refused(directory: Path) -> None:
    """In a file of the same size, by its digest. Planted bug: a file whose size fits is taken."""
    for name in FILES:
        data = (directory / name).read_bytes()
        middle = len(data) // 2
        (directory / name).write_bytes(
            data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]
        )
        assert refusal(directory)
        (directory / name).write_bytes(data)


@pytest.mark.parametrize(
    "data",
    [b'{"schema_version": ' + b"1" * 5000 + b"}", b"{}", b"[" * 100_000, b"\xff\xfe\x00"],
    ids=range(4),
)
def test_a_manifest_that_is_none_is_refused(directory: Path, data: bytes) -> None:
    (directory / "manifest.json").write_bytes(data)
    assert "manifest" in refusal(directory)


def arrays_of(model: ItemModel) -> Arrays:
    catalog = model.catalog
    return {
        "vectors": catalog.vectors.copy(),
        "boosts": catalog.boosts.copy(),
        "shared_slate": np.array(catalog.shared_slate, dtype=np.int64),
    }


def items_of(model: ItemModel, *first: object) -> bytes:
    """The file of the items, of which the first are others."""
    pairs = zip(model.keys, model.catalog.items, strict=True)
    rows = [[key, item.title, item.year, list(item.genres)] for key, item in pairs]
    lines = ",\n".join(map(json.dumps, [*first, *rows[len(first) :]]))
    return f"[{lines}]".encode()


def test_a_forgery_that_is_a_proper_model_is_loaded(directory: Path, model: ItemModel) -> None:
    """Digests find damage. They are no signature, and the documentation says so. And where the
    forger changes nothing, it is the model: no refusal below is the forger's fault.
    """
    forge(directory, {ARRAYS: encode(arrays_of(model)), ITEMS: items_of(model)})
    loaded = artifact.load(directory)
    assert (model.card, model.catalog.version) == (loaded.card, loaded.catalog.version)
    items = items_of(model, ["key 0", "Another title", 1950, []])
    forge(directory, {ITEMS: items}, lambda card: setattr(card.space, "unit", 2.5))
    loaded = artifact.load(directory)
    expected = ("Another title", 2.5)
    assert expected == (loaded.catalog.items[0].title, loaded.card.space.encoder.unit)


FORGED_MANIFESTS: dict[str, tuple[str, object]] = {
    "training of another kind": ("training", [1, 2]),
    "a training parameter out of range": ("training.seed", -1),
    "a number that is true": ("shapes.boosts", [True]),
    "a card that is not named": ("files", {}),
    "a field more": ("more", 1),
}


def fewer_factors(card: pb.GetModelCardResponse) -> None:
    space = card.space
    space.directions = space.directions[: len(space.directions) - 4 * (len(space.knots) // 33)]
    space.origin, space.scales = space.origin[:-4], space.scales[:-4]


def one_item_less(card: pb.GetModelCardResponse) -> None:
    card.n_items = card.n_default = 23
    card.max_slate_size = min(card.max_slate_size, 23)


UNKNOWN_FIELD = b"\xfa\x3e\x03abc"  # number 1007, as a card of another version may have one
FORGED_CARDS: dict[str, tuple[Callable[[pb.GetModelCardResponse], object], str]] = {
    "a clip of zero": (lambda c: setattr(c.space, "clip", 0.0), "clip"),
    "collections": (lambda c: c.metric_space.region.SetInParent(), "collections of places"),
    "another catalog": (lambda c: setattr(c, "catalog_version", bytes(16)), "not the one"),
    "an item less": (one_item_less, "not the one"),
    "an unknown field": (
        lambda c: c.MergeFromString(UNKNOWN_FIELD),
        "has unknown or missing fields",
    ),
    "other factors": (fewer_factors, "another ranking dimension"),
}


def with_number(name: str, value: float) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        arrays[name].ravel()[5] = value
        return arrays

    return change


FORGED_ARRAYS: dict[str, Callable[[Arrays], Arrays | bytes]] = {
    "a pickle": lambda _: b"\x80\x04\x95\x0c" + bytes(7) + b"\x8c\x02os\x8c\x06system\x93.",
    "NaN in vectors": with_number("vectors", NAN),
    "a vector of no size": with_number("vectors", 1e30),
    "an infinite boost": with_number("boosts", INF),
    "a boost of nothing": with_number("boosts", 0.0),
    "float64 vectors": lambda a: {**a, "vectors": a["vectors"].astype(np.float64)},
    "an item too few": lambda a: {**a, "vectors": a["vectors"][:-1].copy()},
    "a coordinate too many": lambda a: {**a, "vectors": np.hstack([a["vectors"]] * 2)},
    "a boost too few": lambda a: {**a, "boosts": a["boosts"][:-1].copy()},
    "an array of another name": lambda a: {**a, "more": np.zeros(1, np.float32)},
    "the shared slate left out": lambda a: {name: a[name] for name in ("vectors", "boosts")},
    "no codes": lambda a: {**a, "vectors": np.full((24, 4), 0.013, np.float32)},
    "an item twice in the shared slate": lambda a: {**a, "shared_slate": np.array([1, 1])},
    "a shared slate of fractions": lambda a: {**a, "shared_slate": np.array([1.5, 2.5])},
}


FORGED_ITEMS: dict[str, object] = {
    "a title with half a character": ["key 0", SURROGATE, 1999, []],
    "a year of zero": ["key 0", "Alien", 0, []],
    "a field too many": ["key 0", "Alien", 1979, [], 5],
    "a key that another item has": ["key 1", "Alien", 1979, []],
}


@pytest.mark.parametrize(("path", "value"), FORGED_MANIFESTS.values(), ids=FORGED_MANIFESTS)
def test_a_forged_manifest_is_refused(directory: Path, path: str, value: object) -> None:
    forge(directory, manifest={path: value})
    assert refusal(directory)


@pytest.mark.parametrize(("change", "words"), FORGED_CARDS.values(), ids=FORGED_CARDS)
def test_a_forged_card_is_refused(
    directory: Path, change: Callable[[pb.GetModelCardResponse], object], words: str
) -> None:
    """What no device would accept is not served: the operator hears of it, not each device."""
    forge(directory, card=change)
    assert words in refusal(directory)


@pytest.mark.parametrize("change", FORGED_ARRAYS.values(), ids=FORGED_ARRAYS)
def test_forged_arrays_are_refused(
    directory: Path, model: ItemModel, change: Callable[[Arrays], Arrays | bytes]
) -> None:
    arrays = change(arrays_of(model))
    forge(directory, {ARRAYS: arrays if isinstance(arrays, bytes) else encode(arrays)})
    assert refusal(directory)


def test_shapes_that_differ_from_the_manifest_are_refused(directory: Path) -> None:
    forge(directory, manifest={"shapes.vectors": [24, 3]})
    assert "does not have the shapes that its manifest names" in refusal(directory)


@pytest.mark.parametrize("item", FORGED_ITEMS.values(), ids=FORGED_ITEMS)
def test_a_forged_item_is_refused(directory: Path, model: ItemModel, item: object) -> None:
    """Every digest and version fits, so that only the item itself can be refused."""
    forge(directory, {ITEMS: items_of(model, item)})
    assert refusal(directory)
