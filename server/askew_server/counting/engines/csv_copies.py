"""Csv files are counted from a copy, made in one pass: what is looked through is what is counted.

The pass is the same for every log, so its time tells nothing of odd rows. It does three things.

A file's lines end as its header line does: in a line feed, or in a return and a line feed. Any
other return is a character of somebody's field, and csv writers do not always quote it (Python's
does not, where lines end in line feeds). DuckDB would take it for the end of a line, and one unit's
event for one of another unit that it names. In the copy, returns are written otherwise, one to one:

    the mark, 0x1A         0x1A 0
    a return in a field    0x1A 1

A field in quotes that does not end on its line is an error that names the line: read on, it would
hide the rows of others up to the next quote, and cut there, its lines would be rows of others. Logs
whose fields do span lines are read where that is asked for.

A log's last line without its end is left out. Whoever writes a log writes it in pieces, and half of
a name may be the name of somebody else. A catalog's is a row all the same: it is of nobody.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from askew.errors import DataError
from askew_server.counting.engines.csv_header import has_returns_at_ends
from askew_server.counting.engines.files import (
    BLOCK,
    FileState,
    are_as_they_were,
    changed,
    opened_bytes,
)

MARK, RETURN = "\x1a", "\r"
MARKED_MARK, MARKED_RETURN = MARK + "0", MARK + "1"
_ANY = re.compile(rb"\r")
_ALONE = re.compile(rb"\r(?=[^\n])")  # blocks end in whole lines
_LONGEST = 32 << 20  # DuckDB loses its place in a longer one

_IN_LINE, _IN_LINES = rb'[^"\n]', rb'[^"]'


def _lines(inner: bytes) -> re.Pattern[bytes]:
    """Lines with quotes that are closed; nothing but a comma or the end has a quote after one."""
    field = rb'(?:"(?:%b++|"")*+"[^",\n]*+|[^",\n][^,\n]*+|)' % inner
    return re.compile(rb'(?:(?=[^\n]*")%b(?:,%b)*+\n)++' % (field, field))


_WITH_QUOTES = {False: _lines(_IN_LINE), True: _lines(_IN_LINES)}
_FIELD = rb'(?:"(?:[^"]++|"")*+"[^",\n]*+|[^",\n][^,\n]*+|)'
_OPEN = re.compile(rb'(?:%b,)*+"(?:[^"]++|"")*+\Z' % _FIELD)


def whole_lines(
    path: str, file: BinaryIO, *, multi_line: bool, end: bytes = b""
) -> Iterator[bytes]:
    """The content in blocks of whole rows, and at last what follows the last row's end, or b"".

    end: what a last line without its end is given, where it is a row all the same.
    Raises DataError for a quote that is not closed where it must be, and for a row over 32 MB.
    """
    rest, number = b"", 1
    while block := file.read(BLOCK):
        block = rest + block
        whole = _end_of_rows(path, block, number, multi_line=multi_line)
        rest = block[whole:]
        if len(rest) > _LONGEST:
            line = number + block.count(b"\n", 0, whole)
            raise DataError(f"{path}, line {line}: a row over 32 MB cannot be read")
        if whole:
            number += block.count(b"\n", 0, whole)
            yield block[:whole]
    if multi_line and _OPEN.match(rest) and b"\n" in rest:
        raise _not_closed(path, number, multi_line=True)
    if rest and end:
        rest += end.removeprefix(b"\r") if rest.endswith(b"\r") else end
        if _end_of_rows(path, rest, number, multi_line=multi_line) < len(rest):
            raise _not_closed(path, number, multi_line=True)
    yield rest


def _end_of_rows(path: str, block: bytes, number: int, *, multi_line: bool) -> int:
    """Where the last whole row of a block ends. number: of its first line."""
    at, last = 0, block.rfind(b"\n") + 1
    while (quote := block.find(b'"', at, last)) >= 0:
        start = block.rfind(b"\n", at, quote) + 1 or at
        rows = _WITH_QUOTES[multi_line].match(block, start, last)
        if rows is not None:
            at = rows.end()
        elif multi_line and _OPEN.match(block, start):
            return start  # the rest of it is to come
        else:
            line = number + block.count(b"\n", 0, start)
            raise _not_closed(path, line, multi_line=multi_line)
    return last


def _not_closed(path: str, line: int, *, multi_line: bool) -> DataError:
    where = "" if multi_line else " on its line"
    hint = "" if multi_line else "; --multi-line reads fields that span lines"
    return DataError(
        f"{path}, line {line}: a quote is not closed{where}, or text follows the closing one."
        f" Read on, it would hide other people's rows: mend the line{hint}"
    )


def is_cut(state: FileState, file: BinaryIO, *, multi_line: bool) -> bool:
    """Whether the last line of a log has no end. Raises what a copy would raise."""
    [rest] = deque(whole_lines(state.path, file, multi_line=multi_line), 1)
    return bool(rest)


def copy_of(
    state: FileState,
    copy: Path,
    *,
    multi_line: bool,
    public: bool,
    note: Callable[[bytes], object] = lambda _: None,
) -> bool:
    """Writes the copy, never compressed. Whether a last line without an end was left out."""
    returns, end = (_ALONE, b"\r\n") if has_returns_at_ends(state.path) else (_ANY, b"\n")
    rest, end = b"", end if public else b""
    with opened_bytes(state, note) as file, copy.open("xb") as copied:
        for block in whole_lines(state.path, file, multi_line=multi_line, end=end):
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
