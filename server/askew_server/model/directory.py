"""The files of a saved model: all of them or nothing, and none read before its size is checked.

The digests of a card find damage; against somebody who can write the directory, keep the card's own
digest elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from askew.errors import ArtifactError
from askew_server.model.signed_card import FileFields

Files = Mapping[str, bytes]
Parts = Callable[[], Iterable[bytes]]  # of a file that is too large to be in memory
CARD_LIMIT = 1 << 20  # bytes
_PIECE = 1 << 20


def save(directory: Path, files: Files, large: Mapping[str, Parts] | None = None) -> None:
    """Writes the files of a directory that does not exist yet, the large ones part by part.

    Raises ArtifactError when something is already there, or cannot be written.
    """
    try:
        if os.path.lexists(directory):  # a dangling link counts: somebody meant something by it
            raise ArtifactError(f"{directory} already exists; name a new directory")
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as draft:
            inside = Path(draft) / "model"
            inside.mkdir()
            for name, data in files.items():
                write_durably(inside / name, data)
            for name, parts in (large or {}).items():
                _write_parts_durably(inside / name, parts())
            inside.rename(directory)
    except OSError as error:
        raise ArtifactError(f"{directory} cannot be written: {error.strerror}") from None


def describe(data: bytes) -> FileFields:
    """What a card says of a file with this content."""
    return FileFields(len(data), hashlib.sha256(data).hexdigest())


def read_named(directory: Path, name: str, files: Mapping[str, FileFields], limit: int) -> bytes:
    """A file that a card names, with the digest that it gives; one of another size is not read.
    Raises ArtifactError.
    """
    path, named = directory / name, files.get(name)
    if named is not None and named.bytes == size_of(path, limit):
        data = read(path, limit)
        if describe(data) == named:
            return data
    raise ArtifactError(f"{path} is not the file that its card names")


def pieces_named(
    directory: Path, name: str, files: Mapping[str, FileFields], limit: int
) -> Iterator[bytes]:
    """The same, piece by piece. Only at the end is it known whether they are that file's: whoever
    uses what came before has to come there. Raises ArtifactError.
    """
    path, named, digest, size = directory / name, files.get(name), hashlib.sha256(), 0
    if named is not None and named.bytes == size_of(path, limit):
        try:
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
                    size += len(piece)
                    yield piece
        except OSError as error:
            raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
    if FileFields(size, digest.hexdigest()) != named:
        raise ArtifactError(f"{path} is not the file that its card names")


def read(path: Path, limit: int) -> bytes:
    """A regular file of at most `limit` bytes. Raises ArtifactError."""
    size_of(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None


def size_of(path: Path, limit: int) -> int:
    """Of a regular file of at most `limit` bytes. Raises ArtifactError for anything else."""
    try:
        found = path.stat()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):  # a pipe would block, a device never end
        raise ArtifactError(f"{path} is no regular file")
    if found.st_size > limit:
        raise ArtifactError(f"{path} has {found.st_size} bytes, the limit is {limit}")
    return found.st_size


def write_durably(path: Path, data: bytes) -> None:
    """Writes a file through to the disk. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _write_parts_durably(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
