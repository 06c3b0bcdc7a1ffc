"""Live values beside a saved model: a file for each collection, replaced whole while it is served.

    live-N.safetensors  every live column of collection N, the version of the collection, and a
                        digest of all of it

The file is written beside and then renamed, so whoever opens it reads one state or the next, never
a mixture. It says for which items it was made: what a file of another catalog, a damaged or a
forged one says is never taken.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.catalog.listing import Attribute
from askew.errors import ArtifactError, OutOfRange
from askew_server.collections.collection import Collection
from askew_server.collections.columns import Column, column_of, kinds_of, named
from askew_server.taste.model import directory as folder
from askew_server.taste.model.directory import LIMIT, ArrayKind, decode_arrays, encode_arrays

LIVE = "live-"  # how the names of its files begin
LiveColumns = Mapping[str, Column]
Mark = tuple[int, int, int] | None
"""What changes with a file: its time, its size, its place on the disk; None where there is none."""
_OWN: dict[str, ArrayKind] = {
    "version": (np.dtype(np.uint8), 1),
    "digest": (np.dtype(np.uint8), 1),
}


def live_path(directory: Path, number: int) -> Path:
    """The file of a collection, by its place in the card."""
    return directory / f"{LIVE}{number}.safetensors"


def mark_of(path: Path) -> Mark:
    """The file's mark now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_live(path: Path, collection: Collection) -> LiveColumns:
    """The live values of a file. Raises ArtifactError, which names no value, for any other file."""
    data = folder.read(path, LIMIT)
    kinds, live = dict(_OWN), _live(collection)
    for at, each in live:
        kinds |= kinds_of(each.kind, at)
    try:
        arrays = decode_arrays(path.name, data, kinds)
    except ArtifactError:  # its text may quote the file
        raise ArtifactError(f"{path.name} does not hold this collection's live columns") from None
    version, digest = arrays.pop("version"), arrays.pop("digest")
    if version.tobytes() != bytes.fromhex(collection.card.version):
        raise ArtifactError(f"{path.name} was made for another catalog")
    if digest.tobytes() != _digest(collection.card.version, arrays):
        raise ArtifactError(f"{path.name} is damaged: its digest does not fit")
    columns = {each.name: column_of(each.kind, at, arrays) for at, each in live}
    try:
        for name, column in columns.items():
            column.check(f"the column {name}")
    except OutOfRange as error:
        raise ArtifactError(f"{path.name}: {error}") from None
    if any(len(column) != len(collection) for column in columns.values()):
        raise ArtifactError(f"{path.name} does not have a value for each item")
    return columns


def write_live(path: Path, collection: Collection) -> None:
    """Replaces the file by the live values that a collection has. Raises ArtifactError."""
    columns = dict(zip(collection.card.attributes, collection.columns, strict=True))
    arrays: dict[str, NDArray[Any]] = {}
    for at, each in _live(collection):
        arrays.update(named(at, columns[each].arrays))
    digest = np.frombuffer(_digest(collection.card.version, arrays), np.uint8)
    version = np.frombuffer(bytes.fromhex(collection.card.version), np.uint8)
    draft = path.with_name(f".{path.name}.draft")
    try:
        encoded = encode_arrays({**arrays, "version": version, "digest": digest})
        folder.write_durably(draft, encoded)
        draft.replace(path)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def one_writer(directory: Path) -> Iterator[None]:
    """Only one process at a time changes live values of a model; another one waits."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ArtifactError(f"{directory} cannot be read: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _live(collection: Collection) -> list[tuple[str, Attribute]]:
    """The live attributes, each with its place among all."""
    attributes = enumerate(collection.card.attributes)
    return [(str(at), each) for at, each in attributes if each.live]


def _digest(version: str, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    digest = hashlib.sha256(version.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
