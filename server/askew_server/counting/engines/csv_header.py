"""The header line of csv files: their columns, known without a look at any row."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from askew.errors import DataError

_LONGEST = 1 << 20
# Words that columns are called, without "id", case and marks.
_COLUMN_WORDS = """
account amount app artist book brand category city client content country created customer date
device event film game genre genres hits item listener member movie order patron person playcount
plays price product quantity rating reader score seller session shop sku song stars subject
timestamp title topic track type unit url user username value video viewer views visitor visits
watched weight year
"""


def columns_of(paths: Sequence[str]) -> tuple[str, ...]:
    """The columns that all of these files have, in their order; one without a name gets one.

    Raises DataError for a file that cannot be read, that has no header line or one that ends in a
    return alone, for two columns of one name, and where headers differ. No message repeats a
    header: it may be somebody's event.
    """
    first, *others = paths
    header, _ = _header(first)
    for other in others:
        if _header(other)[0] != header:
            raise DataError(f"{other}: its header line differs from that of {first}")
    columns = [name or f"column {place}" for place, name in enumerate(header, 1)]
    if len({name.casefold() for name in columns}) < len(columns):
        raise DataError(f"{first}: two columns of its header line have one name")
    return tuple(columns)


def is_header(columns: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a first line names columns beyond doubt: one of the wanted, or two that many files
    have. A log without a header begins with somebody's event, which no message may repeat.
    """
    words = [re.sub("[^a-z]", "", name.lower()) for name in columns]
    usual = _COLUMN_WORDS.split()
    found = sum(word.removesuffix("id") in usual for word in words)
    return found >= 2 or any(name in columns for name in wanted)


def has_returns_at_ends(path: str) -> bool:
    """Whether the header line ends in a return and a line feed, as all lines then do."""
    return _header(path)[1].endswith("\r\n")


def _header(path: str) -> tuple[list[str], str]:
    """The fields of the header line, and the last of the lines that it is written on."""
    opened = gzip.open if path.lower().endswith(".gz") else open
    taken = [""]
    try:
        with opened(path, "rb") as file:
            header = next(csv.reader(_noted(_lines(file), taken), strict=True), [])
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: it cannot be read ({type(error).__name__})") from None
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{path}: its first line is no line of a csv file in UTF-8") from None
    if taken[-1].endswith("\r"):
        raise DataError(f"{path}: its lines end in returns alone; end them in line feeds")
    if not header:
        raise DataError(f"{path}: its first line is empty; it must name the columns")
    return header, taken[-1]


def _noted(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def _lines(file: BinaryIO | gzip.GzipFile) -> Iterator[str]:
    """Each line by itself: what stands in the lines below the header must not matter."""
    encoding = "utf-8-sig"  # with or without its mark
    while read := file.readline(_LONGEST):
        for line in read.splitlines(keepends=True):  # where a line ends in \r alone
            yield line.decode(encoding)
            encoding = "utf-8"
