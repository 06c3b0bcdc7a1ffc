"""Text files in blocks of whole lines: of those bytes that need no look at each character.

A line is plain when it ends with a line feed, is of a bounded length and valid text, and holds
neither a NUL nor a lone return, which some take for the end of a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

from askew_server.ratings.formats import TextFormat
from askew_server.ratings.source import LINE_LIMIT, Progress, bounded_lines, unpacked_bytes

Numbered = tuple[int, bytes | str]
"""The number of a line and its text, or of the first line of a block of plain ones."""

_BLOCK = 1 << 24  # bytes: each block looks up all that was known before it
_TOLD_EVERY = 1 << 24  # bytes between two reports


def blocks_or_lines(path: Path, text: TextFormat, progress: Progress | None) -> Iterator[Numbered]:
    """The rows of a file, gzipped or not: blocks of plain lines as UTF-8, each ended by a line
    feed, and, from the first that is not plain on, lines one by one.
    """
    size = path.stat().st_size
    with unpacked_bytes(path) as (unpacked, raw):
        number, told = 1, 0
        while block := _block(unpacked):
            if (plain := _plain(block, text)) is None:
                unpacked.seek(-len(block), 1)
                yield from _lines(path, unpacked, text, number)
                break
            count = plain.count(b"\n")
            if number == 1 and text.has_header:
                plain = plain[plain.index(b"\n") + 1 :]
                yield 2, plain
            else:
                yield number, plain
            number += count
            if progress and raw.tell() - told >= _TOLD_EVERY:
                told = raw.tell()
                progress(told, size)
    if progress:
        progress(size, size)


def _block(unpacked: BinaryIO) -> bytes:
    """The next whole lines."""
    block = unpacked.read(_BLOCK)
    if block.endswith(b"\n"):
        return block
    return block + unpacked.readline(LINE_LIMIT)


def _plain(block: bytes, text: TextFormat) -> bytes | None:
    """A block's plain lines; None where one is not."""
    if b"\0" in block or _has_long_line(block):
        return None
    if b"\r" in block:
        if block.count(b"\r") != block.count(b"\r\n"):
            return None
        block = block.replace(b"\r\n", b"\n")
    if not block.isascii():
        if text.encoding == "latin-1":
            block = block.decode("latin-1").encode()
        elif not _is_utf8(block):
            return None
    return block if block.endswith(b"\n") else block + b"\n"


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


def _lines(path: Path, unpacked: BinaryIO, text: TextFormat, number: int) -> Iterator[Numbered]:
    """What is left of the file, without the header."""
    encoding = text.encoding if number == 1 else text.encoding.removesuffix("-sig")
    with TextIOWrapper(unpacked, encoding) as rest:
        for at, line in bounded_lines(path, rest, number):
            if at > 1 or not text.has_header:
                yield at, line
