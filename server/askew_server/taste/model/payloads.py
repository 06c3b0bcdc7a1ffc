"""What only a reply brings: the payload of each item, such as an article or a page.

Payloads are one after the other in one file of a model, with the place where each ends among the
model's arrays. The file stays open and is never in memory whole: a reply reads those of its k
items. So nobody may alter it in place while it is served: replies would have the altered bytes, or
an error where it was cut. It is not mapped, since whoever reads a map beyond the end of a file that
was cut ends at once. A file that is replaced or removed is served as it was.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askew.errors import ArtifactError, DataError
from askew.limits import MAX_PAYLOAD
from askew_server.taste.model import directory as folder
from askew_server.taste.model.directory import FileFields

PAYLOADS = "payloads.bin"
LIMIT = 1 << 44  # bytes of a file of payloads
NOTHING = b""
_PIECE = 1 << 20  # bytes that are read at once


class Payloads(Protocol):
    """The payload of each item of a catalog, by item id; b"" for an item without one."""

    def __len__(self) -> int:
        """The number of items."""

    def __getitem__(self, item: int, /) -> bytes:
        """The payload of one."""


def parts_of(payloads: Payloads) -> folder.Parts:
    """The content of the file of payloads, piece by piece, as often as it is wanted."""
    return lambda: (payloads[item] for item in range(len(payloads)))


def surveyed(payloads: Payloads) -> tuple[NDArray[np.int64], FileFields]:
    """Where each payload ends in the file, (n_items,), and what a card says of the file.

    Raises DataError for a payload that is too large.
    """
    digest, sizes = hashlib.sha256(), []
    for part in parts_of(payloads)():
        if len(part) > MAX_PAYLOAD:
            raise DataError(f"a payload has {len(part)} bytes, the limit is {MAX_PAYLOAD}")
        digest.update(part)
        sizes.append(len(part))
    ends = np.cumsum(np.array(sizes, dtype=np.int64))
    return ends, FileFields(sum(sizes), digest.hexdigest())


class StoredPayloads:
    """The payloads of a model, in a file that stays the one that was opened, whatever becomes of
    its name. Safe for several threads.
    """

    def __init__(self, path: Path, ends: NDArray[np.int64], fields: FileFields | None) -> None:
        """ends: where each of them ends in the file. Raises ArtifactError for any file but the one
        that its manifest names, or for places that are not in it.
        """
        self._path, self._ends = path, ends
        try:
            folder.size_of(path, LIMIT)
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
        self._closed_with_it = weakref.finalize(self, os.close, self._descriptor)
        size, digest = os.fstat(self._descriptor).st_size, hashlib.sha256()
        for start in range(0, size, _PIECE):
            digest.update(self._read(start, min(_PIECE, size - start)))
        if fields != FileFields(size, digest.hexdigest()):
            raise ArtifactError(f"{path} is not the file that its manifest names")
        sizes = np.diff(ends, prepend=0)
        whole = len(ends) and ends[-1] == size
        if not whole or not ((sizes >= 0) & (sizes <= MAX_PAYLOAD)).all():
            raise ArtifactError(f"{path} has payloads of other sizes than its model says")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, item: int) -> bytes:
        start = int(self._ends[item - 1]) if item else 0
        return self._read(start, int(self._ends[item]) - start)

    def _read(self, start: int, size: int) -> bytes:
        """A part of the file. Raises ArtifactError where it was cut since."""
        data = os.pread(self._descriptor, size, start)
        if len(data) != size:
            raise ArtifactError(f"{self._path} was cut while it was served")
        return data


@dataclass(frozen=True, eq=False)
class PayloadFiles:
    """Payloads that are files, one an item; None for an item without one. They are read when they
    are wanted.
    """

    paths: Sequence[Path | None] = field(repr=False)

    @classmethod
    def in_folder(cls, directory: Path, keys: Sequence[str]) -> PayloadFiles:
        """The files of items, named by their keys, with an ending or without: 17.html is of item
        17. Files of no item are left alone. Raises DataError for two files of one item, for one
        that is too large or leads out of the folder, and for a folder that cannot be read or has
        no file of an item at all.
        """
        try:
            found = sorted(path for path in directory.iterdir() if path.is_file())
            paths = _by_key(found, frozenset(keys))
            for path in paths.values():
                _check(path, directory.resolve())
        except OSError as error:
            raise DataError(f"{directory} cannot be read: {error.strerror}") from None
        if not paths:
            raise DataError(f"{directory} has no file that is named by the key of an item")
        return cls([paths.get(key) for key in keys])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, item: int) -> bytes:
        path = self.paths[item]
        return NOTHING if path is None else folder.read(path, MAX_PAYLOAD)


@dataclass(frozen=True, eq=False)
class MovedPayloads:
    """Payloads of a new catalog of n_items: those of an old one for the items that stay, by their
    places (new id -> old id).
    """

    old: Payloads = field(repr=False)
    places: Mapping[int, int] = field(repr=False)
    n_items: int

    def __len__(self) -> int:
        return self.n_items

    def __getitem__(self, item: int) -> bytes:
        place = self.places.get(item)
        return NOTHING if place is None else self.old[place]


@dataclass(frozen=True, eq=False)
class FirstOf:
    """Payloads of the first, and for items without one there, of the other."""

    first: Payloads = field(repr=False)
    other: Payloads = field(repr=False)

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, item: int) -> bytes:
        return self.first[item] or self.other[item]


def _check(path: Path, root: Path) -> None:
    """Payloads are published, so no link may choose a file elsewhere on this machine. OSError."""
    if path.stat().st_size > MAX_PAYLOAD:
        raise DataError(f"{path.name} is larger than a payload may be, {MAX_PAYLOAD} bytes")
    if not path.resolve().is_relative_to(root):
        raise DataError(f"{path.name} leads out of the folder: payloads are published")


def _by_key(files: Sequence[Path], keys: frozenset[str]) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for path in files:
        key = next((name for name in (path.name, path.stem) if name in keys), None)
        if key is None:
            continue
        if key in paths:
            raise DataError(f"{paths[key].name} and {path.name} are both of item {key}")
        paths[key] = path
    return paths
