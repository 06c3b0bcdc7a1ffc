"""Text files, gzipped or not, as lines and as blocks of whole lines, and the fields of a line.

A block holds plain lines only, so that nobody has to look at each of its characters. A line is
plain when it ends with a line feed, is of a bounded length and valid text, and holds neither a NUL
nor a lone return, which some programs take for the end of a line. Whatever goes wrong with a file
is a DataError that names it.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from askew.errors import DataError
from askew_server.ratings.fields import BadField

Progress = Callable[[int, int], None]
"""Is told the bytes done and the bytes in total."""
Reject = Callable[[int, BadField], object]
"""Is told the number of a bad line, and what is wrong with it."""
Numbered = tuple[int, bytes | str]
"""The number of a line and its text, or of the first line of a block of plain ones."""

LINE_LIMIT = 1_000_000
_ESCAPED = re.compile("[\ud800-\udfff]")  # what stands for bytes that are no text
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 24  # bytes: each block looks up all that was known before it
_TOLD_EVERY = 1 << 24  # bytes between two reports


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a file is cut into lines and fields."""

    separator: str
    n_fields: int
    encoding: str
    has_header: bool

    def suits(self, path: Path, usual_name: str, line: str) -> bool:
        """Whether the name or the number of fields in the first line gives the format away."""
        named = path.name.removesuffix(".gz") == usual_name
        return named or len(line.split(self.separator)) == self.n_fields


def first_line(path: Path) -> str:
    """The first line, read leniently: good enough to recognize a format by."""
    with unpacked_bytes(path) as (unpacked, _):
        text = io.TextIOWrapper(unpacked, "utf-8-sig", errors="replace", newline="\n")
        for _, line in _bounded_lines(text, 1):
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


@contextmanager
def unpacked_bytes(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A file opened as the bytes that were packed into it, and as it lies on disk."""
    with open_file(path) as raw, _failures_named(path):
        packed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        raw.seek(0)
        yield cast("BinaryIO", gzip.GzipFile(fileobj=raw, mode="rb")) if packed else raw, raw


def blocks_or_lines(path: Path, text: TextFormat, progress: Progress | None) -> Iterator[Numbered]:
    """The lines of a file below its header: blocks of plain lines as UTF-8, each ended by a line
    feed, and, from the first block with a line that is not plain on, lines one by one.
    """
    size = path.stat().st_size
    with unpacked_bytes(path) as (unpacked, raw):
        number, told = 1, 0
        while block := _block(unpacked):
            if (plain := _plain(block, text)) is None:
                unpacked.seek(-len(block), 1)
                yield from _lines(unpacked, text, number)
                break
            lines = plain.count(b"\n")
            if number == 1 and text.has_header:
                plain = plain[plain.index(b"\n") + 1 :]
                yield 2, plain
            else:
                yield number, plain
            number += lines
            if progress and raw.tell() - told >= _TOLD_EVERY:
                told = raw.tell()
                progress(told, size)
    if progress:
        progress(size, size)


def text_rows(
    path: Path, text: TextFormat, reject: Reject, progress: Progress | None
) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line below the header; a line without the right number of them is
    told.
    """
    for number, piece in blocks_or_lines(path, text, progress):
        lines = [piece] if isinstance(piece, str) else piece.decode().split("\n")[:-1]
        yield from split_rows(enumerate(lines, number), text, reject)


def split_rows(
    lines: Iterable[tuple[int, str]], text: TextFormat, reject: Reject
) -> Iterator[tuple[int, list[str]]]:
    """The same of lines with their numbers."""
    for number, line in lines:
        try:
            row = _split(line, text)
        except BadField as reason:
            reject(number, reason)
            continue
        yield number, row


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


def _lines(unpacked: BinaryIO, text: TextFormat, number: int) -> Iterator[Numbered]:
    """What is left of the file, without the header."""
    encoding = text.encoding if number == 1 else text.encoding.removesuffix("-sig")
    # A lone return is a character of somebody's field, and no end of a line.
    with io.TextIOWrapper(unpacked, encoding, errors="surrogateescape", newline="\n") as rest:
        for at, line in _bounded_lines(rest, number):
            if at > 1 or not text.has_header:
                yield at, line


def _bounded_lines(text: TextIO, first: int) -> Iterator[tuple[int, str]]:
    """The lines that are left of a text, with their numbers, of which `first` is the next; they end
    in a line feed, or in a return and a line feed. Of a line that is too long only the beginning.
    """
    for number in count(first):
        line = text.readline(LINE_LIMIT + 1)
        if not line:
            return
        yield number, line.removesuffix("\n").removesuffix("\r")
        while len(line) > LINE_LIMIT and not line.endswith("\n"):
            line = text.readline(LINE_LIMIT + 1) or "\n"


def _split(line: str, text: TextFormat) -> list[str]:
    if len(line) > LINE_LIMIT:
        raise BadField("row", f"at most {LINE_LIMIT} characters long", line)
    if "\0" in line:
        raise BadField("row", "text without NUL characters", line)
    if not line.isascii() and _ESCAPED.search(line):
        raise BadField("row", f"text in {text.encoding.removesuffix('-sig')}", line)
    row = line.split(text.separator)
    # The csv module is only needed, and several times slower, where there are quotes.
    if text.separator == "," and '"' in line:
        row = _split_quoted(line)
    if len(row) != text.n_fields:
        raise BadField("row", f"{text.n_fields} fields separated by {text.separator!r}", line)
    return row


def _split_quoted(line: str) -> list[str]:
    try:
        return next(csv.reader((line,), strict=True))
    except csv.Error as error:
        raise BadField("row", f"one line of csv ({error})", line) from error


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise DataError(f"{path}: the gzip data is cut short") from error
    except (OSError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
