"""Files opened as bounded lines of text; whatever goes wrong is a DataError."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from askew.errors import DataError

Progress = Callable[[int, int], None]
"""Told the bytes done and the bytes in total."""

LINE_LIMIT = 1_000_000
PROGRESS_EVERY = 200_000
"""Rows between two reports: a few reports a second, without a clock."""

_BLOCK = 1 << 24
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


@dataclass(frozen=True)
class Lines:
    """How many lines a file has, how they end, and how it is packed, in the words of DuckDB."""

    count: int
    ending: str
    compression: str


def line_count(path: Path) -> Lines | None:
    """The lines of a text file, or None where they are no plain lines: with NUL characters, or with
    more than one kind of ending.
    """
    ends, returns, pairs, last = 0, 0, 0, b"\n"
    with open_file(path) as raw, _failures_named(path):
        unpacked = _unpacked(raw)
        while block := unpacked.read(_BLOCK):
            if b"\0" in block:
                return None
            ends, returns = ends + block.count(b"\n"), returns + block.count(b"\r")
            # A pair may lie across two blocks.
            pairs += block.count(b"\r\n") + (last == b"\r" and block.startswith(b"\n"))
            last = block[-1:]
        packed = unpacked is not raw
    if pairs != returns or pairs not in {0, ends}:
        return None
    ending = "\\r\\n" if pairs else "\\n"
    return Lines(ends + (last != b"\n"), ending, "gzip" if packed else "none")


def first_line(path: Path) -> str:
    """The first line, read leniently: good enough to recognize a format by."""
    with open_file(path) as raw:
        for _, line in _bounded_lines(path, raw, "utf-8-sig", errors="replace"):
            return line
    raise DataError(f"{path}: the file is empty")


def first_bytes(path: Path, count: int) -> bytes:
    """The first bytes of the file as it lies on disk."""
    with open_file(path) as raw, _failures_named(path):
        return raw.read(count)


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading; anything else could block forever."""
    with _failures_named(path):
        if not path.is_file():
            raise DataError(f"{path}: there is no regular file of this name")
        return path.open("rb")


def _bounded_lines(
    path: Path, raw: BinaryIO, encoding: str, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    number = 0
    with _failures_named(path), io.TextIOWrapper(_unpacked(raw), encoding, errors) as text:
        while line := text.readline(LINE_LIMIT + 1):
            number += 1
            if len(line) > LINE_LIMIT:
                raise DataError(
                    f"{path}: line {number} must be at most {LINE_LIMIT} characters long"
                )
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
