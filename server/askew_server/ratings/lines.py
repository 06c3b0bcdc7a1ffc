"""Text files as lines that DuckDB cuts as we do: UTF-8, ended by a line feed, not packed.

A file that is none of these is copied so. A line is regular when it has as many separators as the
format says and, in csv, no quote; DuckDB reads these alone, because it takes a line with one
separator too many at its end, and may lose rows beside a line that it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.formats import TextFormat
from askew_server.ratings.source import LINE_LIMIT, unpacked_bytes

_BLOCK = 1 << 18  # bytes that stay in the cache while they are looked through
_FEED = ord("\n")


@dataclass(frozen=True)
class PlainLines:
    """A file of plain lines. skip: those before the first row; count: the rows; regular: whether
    all may be; spelled: whether a number may be written with a sign or an underscore.
    """

    path: Path
    skip: int
    count: int
    regular: bool
    spelled: bool


class _NoPlainLines(Exception):
    """A line has a NUL, a lone return, broken text or no end in sight."""


class _ToBeCopied(Exception):
    """The file itself is none that DuckDB cuts as we do."""


def plain_lines(path: Path, text: TextFormat, folder: Path) -> PlainLines | None:
    """The rows of a file, copied to the folder if need be; None where there are no plain lines."""
    try:
        try:
            return _scanned(path, text, None)
        except _ToBeCopied:
            return _scanned(path, text, folder / "plain")
    except _NoPlainLines:
        return None


def regular_lines(
    lines: PlainLines, text: TextFormat, folder: Path, most: float
) -> tuple[PlainLines, NDArray[np.intp], list[str]] | None:
    """The regular rows alone, in a file of their own; the places of the others among all rows, and
    their texts. None when these are more than `most`.
    """
    path, others = folder / "regular", dict[int, str]()
    with path.open("wb") as out:
        for first, block, ends in _blocks_of_rows(lines):
            odd = _irregular(block, ends, text)
            starts = np.append(0, ends[:-1] + 1)
            for row in np.flatnonzero(odd).tolist():
                others[first + row] = block[starts[row] : ends[row]].decode()
            if len(others) > most:
                return None
            out.write(_without(block, starts, ends, odd))
    left = PlainLines(path, 0, lines.count - len(others), regular=True, spelled=lines.spelled)
    return left, np.array(list(others), np.intp), list(others.values())


def rows_at(lines: PlainLines, rows: NDArray[np.intp]) -> list[str]:
    """The text of rows, which ascend."""
    found: list[str] = []
    for first, block, ends in _blocks_of_rows(lines):
        low, high = np.searchsorted(rows, (first, first + len(ends)))
        for row in (rows[low:high] - first).tolist():
            start = 0 if row == 0 else ends[row - 1] + 1
            found.append(block[start : ends[row]].decode())
        if len(found) == len(rows):
            break
    return found


def _scanned(path: Path, text: TextFormat, copy: Path | None) -> PlainLines:
    """Read once from end to end, and written to `copy` as plain lines."""
    count, marks, quoted, spelled, last = 0, 0, False, False, b"\n"
    separator = ord(text.separator[0])
    with unpacked_bytes(path) as (raw, packed), copy.open("wb") if copy else nullcontext() as out:
        if packed and out is None:
            raise _ToBeCopied
        if text.has_header:
            _plain(raw.readline(LINE_LIMIT + 1), text, copied=out is not None)
        while block := _block(raw):
            block = _plain(block, text, copied=out is not None)
            if out is not None:
                out.write(block)
            codes = np.frombuffer(block, np.uint8)
            count += int(np.count_nonzero(codes == _FEED))
            marks += int(np.count_nonzero(codes == separator))
            quoted = quoted or (text.separator == "," and b'"' in block)
            spelled = spelled or b"_" in block or b"+" in block
            last = block[-1:]
    count += last != b"\n"
    # Of lines without too few fields, which DuckDB refuses, none can have too many of them either.
    regular = not quoted and marks == count * (text.n_fields - 1) * len(text.separator)
    skip = 0 if copy else int(text.has_header)
    return PlainLines(copy or path, skip, count, regular=regular, spelled=spelled)


def _block(raw: BinaryIO) -> bytes:
    """The next whole lines."""
    block = raw.read(_BLOCK)
    if not block or block.endswith(b"\n"):
        return block
    rest = raw.readline(LINE_LIMIT + 1)
    return block + rest if rest else block


def _plain(block: bytes, text: TextFormat, *, copied: bool) -> bytes:
    """The lines as DuckDB is given them. Raises _ToBeCopied where they are not yet so."""
    if b"\0" in block or _has_long_line(block):
        raise _NoPlainLines
    foreign = text.encoding == "latin-1" and not block.isascii()
    returns = b"\r" in block
    if returns and block.count(b"\r") != block.count(b"\r\n"):
        raise _NoPlainLines
    if (returns or foreign) and not copied:
        raise _ToBeCopied
    if foreign:
        block = block.decode("latin-1").encode()
    elif not block.isascii() and not _is_utf8(block):
        raise _NoPlainLines
    return block.replace(b"\r\n", b"\n") if returns else block


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_long_line(block: bytes) -> bool:
    """Whether a line may be too long: every window of half the limit has an end of a line."""
    window, at = LINE_LIMIT // 2, 0
    while at + window < len(block):
        end = block.rfind(b"\n", at, at + window)
        if end < 0:
            return True
        at = end + 1
    return False


def _blocks_of_rows(lines: PlainLines) -> Iterator[tuple[int, bytes, NDArray[np.intp]]]:
    """Blocks of rows: the place of the first, the bytes, and where each row ends."""
    first = 0
    with lines.path.open("rb") as raw:
        for _ in range(lines.skip):
            raw.readline()
        while block := _block(raw):
            if not block.endswith(b"\n"):
                block += b"\n"
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _FEED)
            yield first, block, ends
            first += len(ends)


def _irregular(block: bytes, ends: NDArray[np.intp], text: TextFormat) -> NDArray[np.bool_]:
    marks = _per_line(block, ends, ord(text.separator[0]))
    odd: NDArray[np.bool_] = marks != (text.n_fields - 1) * len(text.separator)
    if text.separator == ",":
        odd |= _per_line(block, ends, ord('"')) > 0
    return odd


def _per_line(block: bytes, ends: NDArray[np.intp], code: int) -> NDArray[np.intp]:
    """How often a byte is in each line."""
    places = np.flatnonzero(np.frombuffer(block, np.uint8) == code)
    return np.diff(np.searchsorted(places, ends), prepend=0)


def _without(
    block: bytes, starts: NDArray[np.intp], ends: NDArray[np.intp], odd: NDArray[np.bool_]
) -> bytes:
    if not odd.any():
        return block
    kept = np.repeat(~odd, ends + 1 - starts)
    return np.frombuffer(block, np.uint8)[kept].tobytes()


def among_all(rows: NDArray[np.intp], gone: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places of rows among all, where those at the places `gone`, ascending, are none."""
    before = gone - np.arange(len(gone))  # so many rows are before each
    places: NDArray[np.intp] = rows + np.searchsorted(before, rows, side="right")
    return places
