"""Files of a table: which they are, whether they stay as they were, and what is packed in them."""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from askew.errors import DataError

BLOCK = 1 << 22
"""Bytes that are read at once."""
_PACKED = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}


def files_of(name: str | Path) -> tuple[str, ...]:
    """Return the paths of the files of a name, a folder or a pattern, sorted; none where nothing is
    there. A pattern leaves folders out.

    Raises DataError for a folder that is empty or holds anything but files: what is hidden, linked
    or a folder itself may be read by mistake, or be missed.
    """
    path = Path(name)
    if not path.is_dir():
        names = [str(name)] if path.exists() else glob.glob(str(name), recursive=True)  # noqa: PTH207
        return tuple(sorted(file for file in names if not Path(file).is_dir()))
    files = sorted(path.iterdir())
    for file in files:
        reason = ""
        if file.name.startswith("."):
            reason = "is hidden"
        elif file.is_symlink():
            reason = "is a symbolic link"
        elif file.is_dir():
            reason = "is a folder"
        if reason:
            raise DataError(f"{name}: a folder holds files of one table; {file.name} {reason}")
    if not files:
        raise DataError(f"{name}: the folder is empty")
    return tuple(map(str, files))


@dataclass(frozen=True)
class State:
    """A file at one moment. Private, as its size is: one event more makes it another."""

    path: str
    inode: tuple[int, int]
    size: int
    modified: int


def states_of(paths: Iterable[str]) -> tuple[State, ...]:
    """Return the State of each file now: path, device and inode, bytes, and time in nanoseconds.
    Raises DataError for one that is not there.
    """
    states = []
    for path in paths:
        with failures_named(path):
            now = os.stat(path)  # noqa: PTH116 (a name may be relative, and is kept as it is)
        states.append(State(path, (now.st_dev, now.st_ino), now.st_size, now.st_mtime_ns))
    return tuple(states)


def require_still(states: Sequence[State], *, may_grow: bool = False) -> None:
    """Raise DataError where a file is gone, or its device, inode, size or time of change is another
    than in its state. may_grow: the same inode with a larger size is let through, as one that has
    only grown, whatever its time.
    """
    for was, now in zip(states, states_of([state.path for state in states]), strict=True):
        has_grown = was.inode == now.inode and was.size < now.size
        if was != now and not (may_grow and has_grown):
            raise DataError(
                f"{was.path}: it was changed while it was read, so what was read is not counted;"
                " count a copy that nobody writes to"
            )


@contextmanager
def failures_named(path: str) -> Iterator[None]:
    """Raise an error of the system, of packing, of Arrow or of UTF-8 in the body of a `with` as a
    DataError of one line, "PATH: it cannot be read: ..."; any other stays as it is.
    """
    try:
        yield
    except (EOFError, OSError, zlib.error, pa.ArrowException, UnicodeDecodeError) as error:
        why = str(error).partition("\n")[0]
        if isinstance(error, EOFError) or "Truncated" in why:
            why = "what is packed in it is cut short"
        elif isinstance(error, gzip.BadGzipFile | zlib.error):  # they quote bytes of somebody
            why = "what is packed in it is damaged, or more stands behind its end"
        raise DataError(f"{path}: it cannot be read: {why}") from None


@contextmanager
def unpacked(
    path: str, size: int | None = None, *, by_name: bool = False
) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield the bytes that are packed in a file by gzip or zstd, or as they are, to be read, and
    the file as it lies on disk. size: where it ends, whatever is written behind. by_name: the end
    of its name, .gz or .zst, says how it is packed, since its first bytes are somebody's. Raises
    DataError where there is no regular file, or what is packed cannot be read.
    """
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no regular file of this name")
    with failures_named(path), Path(path).open("rb", buffering=0) as opened:
        raw = _Beginning(opened, os.fstat(opened.fileno()).st_size if size is None else size)
        start = opened.read(4)
        opened.seek(0)
        if by_name:
            start = _PACKED.get(Path(path).suffix.lower(), b"")
        if start.startswith(_PACKED[".gz"]):
            yield cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", raw))), opened
        elif start == _PACKED[".zst"]:
            packed = pa.PythonFile(raw, mode="r")
            yield cast("BinaryIO", pa.CompressedInputStream(packed, "zstd")), opened
        else:
            yield cast("BinaryIO", io.BufferedReader(raw, BLOCK)), opened


class _Beginning(io.RawIOBase):
    """A file up to a size."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left)) or b""
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)
