"""Event files as they are at one moment: what they hold, and whether they changed since then.

A log is often written to while it is read. A text file is read up to the size that it had, so what
was looked through is what is counted; of other files, a count of one that changed is no count.
"""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from askew.errors import DataError

BLOCK = 1 << 20


@dataclass(frozen=True)
class FileState:
    """A file at one moment. Private, as its size is: one event more makes it another."""

    path: str
    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: str) -> FileState:
        """The file as it is now. Raises OSError."""
        status = os.stat(path)  # noqa: PTH116 (a name may be relative, and is kept as it is)
        return cls(path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def grew_into(self, later: FileState) -> bool:
        """Whether it is the same file with more at its end, as far as can be told without reading
        it again.
        """
        same = (self.path, self.device, self.inode) == (later.path, later.device, later.inode)
        return same and self.size < later.size


def states_of(paths: Sequence[str]) -> tuple[FileState, ...]:
    """The files as they are now. Raises DataError for one that is not there."""
    try:
        return tuple(map(FileState.of, paths))
    except OSError as error:
        raise DataError(f"{error.filename}: it cannot be read ({error.strerror})") from None


def are_as_they_were(states: Sequence[FileState], *, may_grow: bool = False) -> bool:
    """Whether no file was replaced, rewritten or cut since then, nor, unless it may, grew."""
    try:
        now = [FileState.of(each.path) for each in states]
    except OSError:
        return False
    return all(
        was == is_now or (may_grow and was.grew_into(is_now))
        for was, is_now in zip(states, now, strict=True)
    )


def changed(name: str) -> DataError:
    """What is said of a file that does not keep still."""
    return DataError(
        f"{name}: it was changed while it was read, so what was read is not counted;"
        " count a copy that nobody writes to"
    )


def local_files(name: str) -> tuple[str, ...]:
    """The files that a name, a pattern or a folder stands for, in order; none where it is not of
    this machine.
    """
    found = [name] if Path(name).exists() else glob.glob(name, recursive=True)  # noqa: PTH207
    files: list[Path] = []
    for path in map(Path, found):
        files += [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return tuple(sorted(map(str, files)))


@contextmanager
def opened_bytes(
    state: FileState, note: Callable[[bytes], object] = lambda _: None
) -> Iterator[BinaryIO]:
    """The bytes that a file had, unpacked where it is packed; `note` is given them as they are on
    the disk. Raises DataError for what cannot be read.
    """
    path = state.path
    try:
        with Path(path).open("rb", buffering=0) as file:
            part = _Beginning(cast("BinaryIO", file), state.size, note)
            if path.lower().endswith(".gz"):
                with gzip.GzipFile(fileobj=cast("BinaryIO", part)) as unpacked:
                    yield cast("BinaryIO", unpacked)
            else:
                yield cast("BinaryIO", part)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: it cannot be read ({type(error).__name__})") from None


class _Beginning:
    """A file up to a size, for reading once from its beginning."""

    def __init__(self, file: BinaryIO, size: int, note: Callable[[bytes], object]) -> None:
        self._file, self._left, self._note = file, size, note

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer than asked for only at the end, as where a file was cut."""
        wanted = self._left if size < 0 else min(size, self._left)
        parts = []
        while wanted and (part := self._file.read(wanted)):
            parts.append(part)
            wanted -= len(part)
            self._left -= len(part)
        data = b"".join(parts)
        self._note(data)
        return data
