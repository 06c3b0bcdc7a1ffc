"""Files opened as bounded lines of text; whatever goes wrong is a DataError."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from askew.errors import DataError

Progress = Callable[[int, int], None]
"""Told the bytes done and the bytes in total."""

LINE_LIMIT = 1_000_000
PROGRESS_EVERY = 200_000
"""Rows between two reports: a few reports a second, without a clock."""

_GZIP_MAGIC = b"\x1f\x8b"


def numbered_lines(
    path: Path, encoding: str, progress: Progress | None = None
) -> Iterator[tuple[int, str]]:
    """The lines of a text file, gzipped or not, with their numbers from 1."""
    with open_file(path) as raw:
        size = os.fstat(raw.fileno()).st_size
        for number, line in _bounded_lines(path, raw, encoding):
            yield number, line
            if progress and number % PROGRESS_EVERY == 0:
                progress(raw.tell(), size)
    if progress:
        progress(size, size)


@contextmanager
def unpacked_bytes(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A file opened as the bytes that were packed into it, and as it lies on disk."""
    with open_file(path) as raw, _failures_named(path):
        yield cast("BinaryIO", _unpacked(raw)), raw


def first_line(path: Path) -> str:
    """The first line, read leniently: good enough to recognize a format by."""
    with open_file(path) as raw:
        for _, line in _bounded_lines(path, raw, "utf-8-sig", errors="replace"):
            return line
    raise DataError(f"{path}: the file is empty")


def first_bytes(path: Path, size: int) -> bytes:
    """The first bytes of the file as it lies on disk."""
    with open_file(path) as raw, _failures_named(path):
        return raw.read(size)


def is_packed(path: Path) -> bool:
    """Whether a file begins as gzip does."""
    return first_bytes(path, len(_GZIP_MAGIC)) == _GZIP_MAGIC


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading; anything else could block forever."""
    with _failures_named(path):
        if not path.is_file():
            raise DataError(f"{path}: there is no regular file of this name")
        return path.open("rb")


def _bounded_lines(
    path: Path, raw: BinaryIO, encoding: str, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    with _failures_named(path), io.TextIOWrapper(_unpacked(raw), encoding, errors) as text:
        yield from bounded_lines(path, text, 1)


def bounded_lines(path: Path, text: TextIO, first: int) -> Iterator[tuple[int, str]]:
    """The lines that are left of a text, with their numbers, of which `first` is the next."""
    for number in count(first):
        line = text.readline(LINE_LIMIT + 1)
        if not line:
            return
        if len(line) > LINE_LIMIT:
            raise DataError(f"{path}: line {number} must be at most {LINE_LIMIT} characters long")
        yield number, line.removesuffix("\n")


def _unpacked(raw: BinaryIO) -> BinaryIO | gzip.GzipFile:
    packed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise DataError(f"{path}: the gzip data is cut short") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the text is not valid {error.encoding}") from error
    except (OSError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
