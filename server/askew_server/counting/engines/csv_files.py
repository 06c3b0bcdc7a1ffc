"""Csv files of events: their columns, which the header line tells without a look at any row, and
the copy that is counted, so that what is looked through is what is counted.

The copy is made in one pass, which is the same for every log, so its time tells nothing of odd
rows. The pass does three things.

A file's lines end as its header line does: in a line feed, or in a return and a line feed. Any
other return is a character of somebody's field, and csv writers do not always quote it (Python's
does not, where lines end in line feeds). DuckDB would take it for the end of a line, and one unit's
event for one of another unit that it names. In the copy, returns are written otherwise, one to one:

    the mark, 0x1A         0x1A 0
    a return in a field    0x1A 1

A field in quotes that does not end on its line is an error that names the line: read on, it would
hide the rows of others up to the next quote, and cut there, its lines would be rows of others. A
log whose fields do span lines is counted from parquet.

A log's last line without its end is left out. Whoever writes a log writes it in pieces, and half of
a name may be the name of somebody else. A catalog's is a row all the same: it is of nobody.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from askew.errors import DataError
from askew_server.counting.engines.files import (
    BLOCK,
    FileState,
    are_as_they_were,
    changed,
    opened_bytes,
)

_LONGEST_HEADER = 1 << 20
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
    while read := file.readline(_LONGEST_HEADER):
        for line in read.splitlines(keepends=True):  # where a line ends in \r alone
            yield line.decode(encoding)
            encoding = "utf-8"


MARK, RETURN = "\x1a", "\r"
MARKED_MARK, MARKED_RETURN = MARK + "0", MARK + "1"
_ANY = re.compile(rb"\r")
_ALONE = re.compile(rb"\r(?=[^\n])")  # blocks end in whole lines
_LONGEST_ROW = 32 << 20  # DuckDB loses its place in a longer one

# Lines with quotes that are closed; nothing but a comma or the end has a quote after one.
_FIELD = rb'(?:"(?:[^"\n]++|"")*+"[^",\n]*+|[^",\n][^,\n]*+|)'
_WITH_QUOTES = re.compile(rb'(?:(?=[^\n]*")%b(?:,%b)*+\n)++' % (_FIELD, _FIELD))


def whole_lines(path: str, file: BinaryIO, *, end: bytes = b"") -> Iterator[bytes]:
    """The content in blocks of whole rows, and at last what follows the last row's end, or b"".

    end: what a last line without its end is given, where it is a row all the same.
    Raises DataError for a quote that is not closed on its line, and for a row over 32 MB.
    """
    rest, number = b"", 1
    while block := file.read(BLOCK):
        block = rest + block
        whole = _end_of_rows(path, block, number)
        rest = block[whole:]
        if len(rest) > _LONGEST_ROW:
            line = number + block.count(b"\n", 0, whole)
            raise DataError(f"{path}, line {line}: a row over 32 MB cannot be read")
        if whole:
            number += block.count(b"\n", 0, whole)
            yield block[:whole]
    if rest and end:
        rest += end.removeprefix(b"\r") if rest.endswith(b"\r") else end
        _end_of_rows(path, rest, number)
    yield rest


def _end_of_rows(path: str, block: bytes, number: int) -> int:
    """Where the last whole row of a block ends. number: of its first line."""
    at, last = 0, block.rfind(b"\n") + 1
    while (quote := block.find(b'"', at, last)) >= 0:
        start = block.rfind(b"\n", at, quote) + 1 or at
        rows = _WITH_QUOTES.match(block, start, last)
        if rows is None:
            line = number + block.count(b"\n", 0, start)
            raise DataError(
                f"{path}, line {line}: a quote is not closed on its line, or text follows the"
                " closing one. Read on, it would hide other people's rows: mend the line. Fields"
                " that span lines are counted from parquet"
            )
        at = rows.end()
    return last


def is_cut(state: FileState, file: BinaryIO) -> bool:
    """Whether the last line of a log has no end. Raises what a copy would raise."""
    [rest] = deque(whole_lines(state.path, file), 1)
    return bool(rest)


def copy_of(
    state: FileState,
    copy: Path,
    *,
    public: bool,
    note: Callable[[bytes], object] = lambda _: None,
) -> bool:
    """Writes the copy, never compressed. Whether a last line without an end was left out."""
    returns, end = (_ALONE, b"\r\n") if has_returns_at_ends(state.path) else (_ANY, b"\n")
    rest, end = b"", end if public else b""
    with opened_bytes(state, note) as file, copy.open("xb") as copied:
        for block in whole_lines(state.path, file, end=end):
            if block.endswith(b"\n"):
                marked = block.replace(MARK.encode(), MARKED_MARK.encode())
                copied.write(returns.sub(MARKED_RETURN.encode(), marked))
            else:
                rest = block
    return bool(rest)


def cut_in_words(path: str) -> str:
    """What is said of a log whose last line has no end."""
    return (
        f"{path}: its last line has no line feed at its end, as if it were still being written."
        " Half of a name may be the name of somebody else, so it is not counted. If it is whole,"
        " end it with a line feed"
    )


def copies_of(
    name: str, states: Sequence[FileState], folder: Path, **how: Any
) -> tuple[tuple[str, ...], int]:
    """Copies of all files of a name, in their order, and how many of their last lines were left
    out: none of a public list. how: as `copy_of` takes it. Raises DataError for a file that cannot
    be read or copied, or was changed meanwhile.
    """
    copies = [folder / f"{number}.csv" for number in range(len(states))]
    try:
        cut = [copy_of(state, copy, **how) for state, copy in zip(states, copies, strict=True)]
    except OSError as error:
        raise DataError(f"{name}: it cannot be copied ({error.strerror})") from None
    if not are_as_they_were(states, may_grow=True):
        raise changed(name)
    return tuple(map(str, copies)), sum(cut)


def unmarked(text: str) -> str:
    """What a text of the copy stands for."""
    return text.replace(MARKED_RETURN, RETURN).replace(MARKED_MARK, MARK)
