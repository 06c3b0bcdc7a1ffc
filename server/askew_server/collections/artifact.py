"""A metric model as a directory: a manifest, its card, and the arrays of each collection.

    manifest.json             SHA-256 of each file
    card.binpb                the card: the very bytes that devices get
    collection-N.safetensors  of the collection of number N: coordinates (n, d), titles end to end,
                              and the arrays of each column
    keys-N.safetensors        digests of the items' keys in their order, by which live values find
                              their items; never loaded to serve
    towns.safetensors         where people are expected, if the model knows
    rows.whole, rows.default  what devices may hold: every row, or some of them, by `rows_file`
    live-N.safetensors        every live column of a collection, its version, and a digest of all
    ../collection-numbers.txt a line "NUMBER NAME" for every collection that a model of the folder
                              ever had: what questions call it, given once and kept for ever

Data only, nothing is ever executed. `load` refuses what is truncated, altered or hostile with an
ArtifactError, and trusts no size before it has checked it.

A file of live values is replaced while the model is served: written beside and then renamed, so
whoever opens it reads one state or the next, never a mixture. It says for which items it was made:
what a file of another catalog, a damaged or a forged one says is never taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import Column, Titles, column_of, kinds_of, named
from askew.catalog.catalog_file import Part
from askew.catalog.item import Attribute
from askew.errors import ArtifactError, AskewError, DataError, OutOfRange, ParameterError, WireError
from askew.protocol.cards import MAX_COLLECTIONS, CollectionCard, MetricCard, ServingMode
from askew.protocol.collection import Collection
from askew.spaces.map import MetricSpace
from askew.wire.catalog_file import rows_files
from askew.wire.places import metric_card_from_bytes, metric_card_to_bytes
from askew_server.collections.model import MOST_PEOPLE, MetricModel, Towns, inside
from askew_server.folders import one_writer, replace_file
from askew_server.taste import directory as folder
from askew_server.taste.directory import (
    CARD,
    LIMIT,
    MANIFEST,
    ArrayKind,
    SignedManifest,
    decode_arrays,
    decode_manifest,
    encode_arrays,
)

_TOWNS = "towns.safetensors"
_FILES = {Part.WHOLE: "rows.whole", Part.DEFAULT: "rows.default"}
MOST_HELD = 2_000_000  # items: the files of more are more than any device holds
_COORDINATES: ArrayKind = (np.dtype(np.float64), 2)
_COLLECTION_KINDS: dict[str, ArrayKind] = {
    "coordinates": _COORDINATES,
    "titles": (np.dtype(np.uint8), 1),
    "title_ends": (np.dtype(np.int64), 1),
}
_TOWN_KINDS: dict[str, ArrayKind] = {
    "coordinates": _COORDINATES,
    "people": (np.dtype(np.float64), 1),
}
_HALF_KEY: ArrayKind = (np.dtype(np.uint64), 1)
Keys = NDArray[np.uint64]
"""128-bit digests of the keys of a collection's items, in halves (n, 2), in order of item id."""


class MetricManifest(SignedManifest, frozen=True, kw_only=True):
    """What a server knows of a metric model beside its card. towns: where they come from."""

    kind: Literal["metric"]
    schema_version: Literal[3]
    towns: str | None


def _collection_file(number: int) -> str:
    return f"collection-{number}.safetensors"


def _keys_file(number: int) -> str:
    return f"keys-{number}.safetensors"


def save(model: MetricModel, directory: Path, keys: Mapping[str, Keys] | None = None) -> None:
    """Write a model to a directory that does not exist yet, all of it or nothing.

    keys: of collections whose live values will be updated. They have a file from the first on:
    copied over another model, it replaces that one's. Raises ArtifactError when something is
    already there, or cannot be written.
    """
    files: dict[str, bytes] = {}
    live: dict[str, bytes] = {}  # in no manifest
    for card in model.card.collections:
        collection = model.collections[card.name]
        arrays: dict[str, NDArray[Any]] = {
            "coordinates": collection.coordinates,
            "titles": collection.titles.blob,
            "title_ends": collection.titles.ends,
        }
        for at, column in enumerate(collection.columns):
            arrays.update(named(str(at), column.arrays))
        files[_collection_file(card.number)] = encode_arrays(arrays)
        if keys and card.name in keys:
            upper, lower = keys[card.name].T.copy()
            files[_keys_file(card.number)] = encode_arrays({"upper": upper, "lower": lower})
            live[live_path(directory, card.number).name] = _live_to_bytes(collection)
    files |= {_FILES[part]: file for part, file in device_files(model).items()}
    if model.towns is not None:
        towns = {"coordinates": model.towns.coordinates, "people": model.towns.people}
        files[_TOWNS] = encode_arrays(towns)
    files[CARD] = metric_card_to_bytes(model.card)
    files[MANIFEST] = MetricManifest(
        kind="metric",
        schema_version=3,
        towns=None if model.towns is None else model.towns.source,
        files={name: folder.file_fields(data) for name, data in files.items()},
    ).encoded()
    folder.save(directory, files | live)


def device_files(model: MetricModel) -> Mapping[Part, bytes]:
    """Return what devices may hold of a model, by part: its `files`, where it has any, or some made
    now; {} where every collection's mode is ASK, or there are more than 2,000,000 items.
    """
    is_proposed = any(card.mode is not ServingMode.ASK for card in model.card.collections)
    if model.files or not is_proposed or sum(map(len, model.collections.values())) > MOST_HELD:
        return model.files
    return rows_files(model.card, model.collections)


def load(directory: Path) -> MetricModel:
    """Return the model of a directory, each of its files checked. Raises ArtifactError with the
    reason where one cannot be used.
    """
    manifest = _manifest(directory)
    card = _card(directory, manifest)
    try:
        collections = {
            part.name: _collection(
                part, card.space, _read(directory, _collection_file(part.number), manifest)
            )
            for part in card.collections
        }
        device_rows = {
            part: _read(directory, name, manifest)
            for part, name in _FILES.items()
            if name in manifest.files
        }
        return MetricModel(card, collections, _towns(directory, manifest, card.space), device_rows)
    except ArtifactError:
        raise
    except AskewError as error:  # a core type refused what the files say
        raise ArtifactError(f"{directory} holds no usable model: {error}") from None


def read_card(directory: Path) -> MetricCard:
    """Return the card of a model's directory. Raises ArtifactError where manifest or card cannot be
    used.
    """
    return _card(directory, _manifest(directory))


def read_keys(directory: Path, number: int) -> Keys | None:
    """Return the digests (n, 2) of the keys of the collection of a number; None where it was made
    without, and for a number that no collection has. Raises ArtifactError where files cannot be
    used.
    """
    manifest = _manifest(directory)
    name = _keys_file(number)
    if name not in manifest.files:
        return None
    kinds = {"upper": _HALF_KEY, "lower": _HALF_KEY}
    arrays = decode_arrays(name, _read(directory, name, manifest), kinds)
    n_items = _card(directory, manifest).collection(number).n_items
    if {len(half) for half in arrays.values()} != {n_items}:
        raise ArtifactError(f"{name} does not have a key for each item")
    return np.column_stack([arrays["upper"], arrays["lower"]])


def _manifest(directory: Path) -> MetricManifest:
    return decode_manifest(folder.read(directory / MANIFEST, folder.MANIFEST_LIMIT), MetricManifest)


def _card(directory: Path, manifest: MetricManifest) -> MetricCard:
    data = folder.read_checked(directory, CARD, manifest.files, folder.CARD_LIMIT)
    try:
        card = metric_card_from_bytes(data)
    except WireError as error:
        raise ArtifactError(f"{directory} holds no usable card: {error}") from None
    if metric_card_to_bytes(card) != data:
        raise ArtifactError("the card has unknown or missing fields")
    return card


def _read(directory: Path, name: str, manifest: MetricManifest) -> bytes:
    return folder.read_checked(directory, name, manifest.files, LIMIT)


def _collection(card: CollectionCard, space: MetricSpace, data: bytes) -> Collection:
    columns = [(str(at), attribute.kind) for at, attribute in enumerate(card.attributes)]
    kinds = dict(_COLLECTION_KINDS)
    for at, kind in columns:
        kinds |= kinds_of(kind, at)
    arrays = decode_arrays(f"the file of {card.name}", data, kinds)
    titles = Titles(arrays["titles"], arrays["title_ends"])
    values = tuple([column_of(kind, at, arrays) for at, kind in columns])
    collection = Collection(card, arrays["coordinates"], titles, values)
    _check_points(card.name, collection.coordinates, space)
    collection.check()
    return collection


def _towns(directory: Path, manifest: MetricManifest, space: MetricSpace) -> Towns | None:
    if manifest.towns is None:
        return None
    arrays = decode_arrays(_TOWNS, _read(directory, _TOWNS, manifest), _TOWN_KINDS)
    coordinates, people = arrays["coordinates"], arrays["people"]
    _check_points(_TOWNS, coordinates, space)
    # Written so that NaN is refused too.
    is_count = (people > 0) & (people <= MOST_PEOPLE)
    if len(people) != len(coordinates) or not is_count.all():
        raise ArtifactError(f"{_TOWNS} does not have a number of people for each town")
    return Towns(coordinates, people, manifest.towns)


def _check_points(name: str, coordinates: NDArray[np.float64], space: MetricSpace) -> None:
    if coordinates.shape[1] != space.dimension or not inside(space, coordinates).all():
        raise ArtifactError(f"{name} has positions outside of the model's space")


LIVE = "live-"  # how the names of its files begin
LiveColumns = Mapping[str, Column]
Mark = tuple[int, int, int] | None
"""What changes with a file: its time, its size, its place on the disk; None where there is none."""
_OWN: dict[str, ArrayKind] = {
    "version": (np.dtype(np.uint8), 1),
    "digest": (np.dtype(np.uint8), 1),
}


def live_path(directory: Path, number: int) -> Path:
    """Return the path of the file of live values of the collection of a number,
    "live-3.safetensors" in the directory, whether or not it is there.
    """
    return directory / f"{LIVE}{number}.safetensors"


def mark_of(path: Path) -> Mark:
    """Return (time in nanoseconds, size in bytes, inode) of a file as it is now; None where it is
    not there.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_live(path: Path, collection: Collection) -> LiveColumns:
    """Return the live columns of a file, by the attribute's name. Raises ArtifactError, which names
    no value, for a file that is missing, damaged, of another catalog, or not of this collection's
    live columns.
    """
    data = folder.read(path, LIMIT)
    kinds, live = dict(_OWN), _live(collection)
    for at, attribute in live:
        kinds |= kinds_of(attribute.kind, at)
    try:
        arrays = decode_arrays(path.name, data, kinds)
    except ArtifactError:  # its text may quote the file
        raise ArtifactError(f"{path.name} does not hold this collection's live columns") from None
    version, digest = arrays.pop("version"), arrays.pop("digest")
    if version.tobytes() != bytes.fromhex(collection.card.version):
        raise ArtifactError(f"{path.name} was made for another catalog")
    if digest.tobytes() != _digest(collection.card.version, arrays):
        raise ArtifactError(f"{path.name} is damaged: its digest does not fit")
    columns = {a.name: column_of(a.kind, at, arrays) for at, a in live}
    try:
        for name, column in columns.items():
            column.check(f"the column {name}")
    except OutOfRange as error:
        raise ArtifactError(f"{path.name}: {error}") from None
    if any(len(column) != len(collection) for column in columns.values()):
        raise ArtifactError(f"{path.name} does not have a value for each item")
    return columns


def with_live_file(directory: Path, collection: Collection) -> Collection:
    """Return the collection with the live values of the file beside its model; as it is where there
    is no such file. Raises ArtifactError as `read_live`.
    """
    path = live_path(directory, collection.card.number)
    return collection.with_live(read_live(path, collection)) if path.exists() else collection


def _live_to_bytes(collection: Collection) -> bytes:
    columns = dict(zip(collection.card.attributes, collection.columns, strict=True))
    arrays: dict[str, NDArray[Any]] = {}
    for at, attribute in _live(collection):
        arrays.update(named(at, columns[attribute].arrays))
    digest = np.frombuffer(_digest(collection.card.version, arrays), np.uint8)
    version = np.frombuffer(bytes.fromhex(collection.card.version), np.uint8)
    return encode_arrays({**arrays, "version": version, "digest": digest})


def write_live(path: Path, collection: Collection) -> None:
    """Write the live values that a collection has, in place of the file. Raises ArtifactError where
    that cannot be.
    """
    try:
        replace_file(path, _live_to_bytes(collection), 0o644)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be written: {error.strerror}") from None


def _live(collection: Collection) -> list[tuple[str, Attribute]]:
    # With their places among all, by which arrays are named.
    attributes = enumerate(collection.card.attributes)
    return [(str(at), attribute) for at, attribute in attributes if attribute.live]


def _digest(version: str, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    digest = hashlib.sha256(version.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


NUMBERS_FILE = "collection-numbers.txt"


def numbers_for(models: Path, names: Sequence[str]) -> dict[str, int]:
    """Return the number of every collection that this folder ever had, by name, these included: a
    name keeps its number, and a new one gets 1 more than the largest, from 0 on. They are written
    to the folder's file first; the folder is made where it is missing.

    Raises DataError for a file that cannot be read, or gives a number or a name twice,
    ParameterError where a number would pass 255, and ArtifactError where the file cannot be
    written.
    """
    path = models / NUMBERS_FILE
    try:
        models.mkdir(parents=True, exist_ok=True)
        with one_writer(models):
            numbers = _read_numbers(path)
            for name in names:
                if name not in numbers:
                    numbers[name] = max(numbers.values(), default=-1) + 1
            if max(numbers.values(), default=0) >= MAX_COLLECTIONS:
                limit = f"one of the {MAX_COLLECTIONS} of {path}: none is free, and none is reused"
                raise ParameterError("collection", names[-1], limit)
            lines = [f"{number} {name}\n" for name, number in numbers.items()]
            replace_file(path, "".join(lines).encode(), 0o644)
            return numbers
    except OSError as error:
        raise ArtifactError(f"{path} cannot be written: {error.strerror}") from None


def _read_numbers(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read: put back a copy of it") from None
    numbers: dict[str, int] = {}
    for at, line in enumerate(lines, 1):
        number, _, name = line.partition(" ")
        if not (number.isascii() and number.isdigit() and int(number) < MAX_COLLECTIONS and name):
            raise DataError(f'{path}, line {at}: it must be a number and a name, "3 pharmacies"')
        if name in numbers or int(number) in numbers.values():
            raise DataError(
                f"{path}, line {at}: this number or name stands there before; devices hold cards "
                "that say which is whose, so a number is never given again: put its copy back"
            )
        numbers[name] = int(number)
    return numbers
