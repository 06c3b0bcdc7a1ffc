"""A block of plain lines, cut into columns by Arrow."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from askew_server.ratings.formats import TextFormat
from askew_server.ratings.rows import Flags

TEXTS = pa.string()
NUMBERED = pa.dictionary(pa.int32(), TEXTS)
"""Types of a column: the text of each row, or the different texts and which of them each has."""

_UNIT = b"\x1f"
"""Arrow wants a separator of one character; no key that is accepted has this one."""
_BOM = "\ufeff".encode()
"""Arrow leaves it out where a block begins with it."""
_QUOTES_AROUND_FIELDS = re.compile(rb'(?:(?:"[^",]+"|[^",]*)[,\n])+')


class CutLines(NamedTuple):
    """The columns of the regular lines of a block, and which of all lines are regular: they have as
    many separators as the format says and nothing that Arrow reads in another way. Quotes around
    whole fields of csv are gone; an empty line comes as one of empty fields.
    """

    columns: list[pa.Array]
    regular: Flags


def cut(block: bytes, text: TextFormat, types: Mapping[int, Any]) -> CutLines:
    """Cuts a block of UTF-8 without a NUL that ends with a line feed.

    types: those of the fields that are wanted, in the order of the columns.
    """
    regular = np.ones(block.count(b"\n"), np.bool_)
    quotes = text.separator == "," and b'"' in block
    if quotes or _UNIT in block or block.startswith(_BOM):
        lines = block.splitlines(keepends=True)
        regular[:] = [_is_plain(line, quotes=quotes) for line in lines]
        block = b"".join(itertools.compress(lines, regular))
        if quotes:
            block = block.replace(b'"', b"")
    if not block:  # Arrow takes it for an error
        return CutLines([pa.array([], kind) for kind in types.values()], regular)
    separator = text.separator
    if len(separator) > 1:
        block, separator = block.replace(separator.encode(), _UNIT), _UNIT.decode()
    places = np.flatnonzero(regular)

    def left_out(row: csv.InvalidRow) -> str:
        regular[places[row.number - 1]] = False
        return "skip"

    table = csv.read_csv(
        pa.BufferReader(block),
        csv.ReadOptions(
            use_threads=False,
            block_size=len(block) + 1,
            column_names=[str(field) for field in range(text.n_fields)],
        ),
        csv.ParseOptions(
            delimiter=separator,
            quote_char=False,
            ignore_empty_lines=False,
            invalid_row_handler=left_out,
        ),
        csv.ConvertOptions(
            column_types={str(field): kind for field, kind in types.items()},
            include_columns=[str(field) for field in types],
        ),
    )
    return CutLines([column.combine_chunks() for column in table.columns], regular)


def _is_plain(line: bytes, *, quotes: bool) -> bool:
    """Whether it is cut by its separators alone; quotes: these may be around whole fields."""
    if line.startswith(_BOM) or _UNIT in line:
        return False
    return not quotes or b'"' not in line or bool(_QUOTES_AROUND_FIELDS.fullmatch(line))
