"""Ratings by columns, cut by Arrow: a block of plain lines, or a batch of a parquet file.

A row is plainly good when its line is regular, its rating is a finite number on the scale, and its
keys are texts that the rules accept: each different text is judged once, by the rules for one row.
All other rows are left to be judged one by one, which then names what is wrong.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv, parquet

from askew.errors import DataError
from askew_server.ratings import fields
from askew_server.ratings.builder import Codes, Flags, Floats, Keys, RatingRows
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import (
    RatingFormat,
    rating_columns,
    time_column,
    unrecognized_ratings,
)
from askew_server.ratings.lines import TextFormat, open_file

TEXTS = pa.string()
NUMBERED = pa.dictionary(pa.int32(), TEXTS)
"""Types of a column: the text of each row, or the different texts and which of them each has."""

_UNIT = b"\x1f"
"""Arrow wants a separator of one character; no key that is accepted has this one."""
_BOM = "\ufeff".encode()
"""Arrow leaves it out where a block begins with it."""
_QUOTES_AROUND_FIELDS = re.compile(rb'(?:(?:"[^",]+"|[^",]*)[,\n])+')
_BATCH = 1 << 19  # rows of parquet
_BAD = -1  # the code of what is no key
_LARGEST = np.finfo(np.float64).max


class RatingColumns(NamedTuple):
    """Fields of rows as Arrow arrays; time: None where nobody asked, or the format has none."""

    user: pa.Array
    item: pa.Array
    rating: pa.Array
    time: pa.Array | None

    def texts(self, rows: Any) -> list[tuple[str, str, str, str]]:
        """User, item, rating and time of some rows; nothing is empty text."""
        chosen = [None if each is None else each.take(pa.array(rows)) for each in self]
        empty = [""] * len(rows)
        texts = [empty if each is None else as_texts(each).to_pylist() for each in chosen]
        return list(zip(*texts, strict=True))


class CutLines(NamedTuple):
    """The columns of the regular lines of a block, and which of all lines are regular: they have as
    many separators as the format says and nothing that Arrow reads in another way. Quotes around
    whole fields of csv are gone; an empty line comes as one of empty fields.
    """

    columns: list[pa.Array]
    regular: Flags


class Judge:
    """Finds the plainly good rows of columns. Keys get codes from `people` and `items`, those of
    rows that turn out to be bad too. counts: whether ratings are counts; times: whether to keep
    times.
    """

    def __init__(self, people: Keys, items: Keys, *, counts: bool, times: bool) -> None:
        self._people, self._items = _Coded(people), _Coded(items)
        self._counts, self._times = counts, times

    def judged(self, columns: RatingColumns) -> tuple[RatingRows, Flags]:
        """All rows, and which of them are plainly good: the others have no meaning."""
        rows = RatingRows(
            self._people.codes(columns.user),
            self._items.codes(columns.item),
            _ratings(columns.rating),
            _times(len(columns.rating), columns.time) if self._times else None,
        )
        low, high = (0, _LARGEST) if self._counts else (-fields.RATING_LIMIT, fields.RATING_LIMIT)
        good = (rows.rating >= low) & (rows.rating <= high)  # nan is neither
        return rows, good & (rows.person != _BAD) & (rows.item != _BAD)


def parquet_batches(path: Path, *, times: bool) -> Iterator[tuple[int, float, RatingColumns]]:
    """The rows of a parquet file in batches, each with the number of its first row, from 1 on, and
    the share of the file that was read. Raises DataError.
    """
    first = 1
    with open_file(path) as raw, parquet_failures(path):
        header = parquet.read_schema(raw)
        chosen = rating_columns(header.names)
        if chosen is None:
            raise unrecognized_ratings(path, header.names)
        names = [header.names[at] for at in chosen]
        if times and (at := time_column(header.names)) is not None:
            names.append(header.names[at])
        # What repeats in the file is not to repeat in memory.
        texts = [name for name in names[:2] if pa.types.is_string(header.field(name).type)]
        file = parquet.ParquetFile(
            raw, read_dictionary=texts, buffer_size=1 << 20, pre_buffer=False
        )
        for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
            batch.validate(full=True)
            user, item, rating, *time = [_plain_values(batch.column(name)) for name in names]
            share = min((first - 1 + len(batch)) / max(file.metadata.num_rows, 1), 1.0)
            yield first, share, RatingColumns(user, item, rating, time[0] if time else None)
            first += len(batch)


def text_columns(block: bytes, layout: RatingFormat, *, times: bool) -> tuple[RatingColumns, Flags]:
    """The columns of the regular lines of a block, and which of all lines are regular."""
    types = dict.fromkeys((layout.user, layout.item, layout.rating), NUMBERED)
    if times and layout.time is not None:
        types[layout.time] = TEXTS
    (user, item, rating, *time), regular = cut(block, layout.text, types)
    return RatingColumns(user, item, rating, time[0] if time else None), regular


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


def as_texts(values: pa.Array) -> pa.Array:
    """Values as one writes them; nothing is empty text. 1.0 and true are no key "1", and a number
    of single precision is what is written: 3.7, and not 3.7000000477.
    """
    if pa.types.is_floating(values.type):
        number = values.type.to_pandas_dtype()
        return pa.array(["" if v is None else str(number(v)) for v in values.to_pylist()], TEXTS)
    return values.cast(TEXTS).fill_null("")


@contextmanager
def parquet_failures(path: Path) -> Iterator[None]:
    """What is wrong with a parquet file as a DataError of one line."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read as parquet: {reason}") from error


class _Coded:
    """The codes of texts that came before, each of which was judged once."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._texts, self._codes = pa.array([""], TEXTS), np.array([_BAD], np.int32)

    def codes(self, column: pa.Array) -> Codes:
        """The code of each row of a column."""
        numbered = _numbered(column)
        texts = as_texts(numbered.dictionary)
        place = compute.index_in(texts, self._texts)
        if place.null_count:
            fresh = texts.filter(place.is_null())
            more = [_code(self._keys, text) for text in fresh.to_pylist()]
            self._codes = np.append(self._codes, np.array(more, np.int32))
            self._texts = pa.concat_arrays([self._texts, fresh])
            place = compute.index_in(texts, self._texts)
        codes: Codes = self._codes[place.take(numbered.indices).fill_null(0)]
        return codes


def _is_plain(line: bytes, *, quotes: bool) -> bool:
    """Whether it is cut by its separators alone; quotes: these may be around whole fields."""
    if line.startswith(_BOM) or _UNIT in line:
        return False
    return not quotes or b'"' not in line or bool(_QUOTES_AROUND_FIELDS.fullmatch(line))


def _plain_values(column: pa.Array) -> pa.Array:
    """A column of numbers or texts as it is, another one as texts. Raises ArrowException."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind)
    return column if known else as_texts(column)


def _numbered(column: pa.Array) -> pa.DictionaryArray:
    """The different values of a column, and which of them each row has."""
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _code(keys: Keys, text: str) -> int:
    try:
        return keys[fields.key("key", text)]
    except BadField:
        return _BAD


def _ratings(column: pa.Array) -> Floats:
    """nan for what is no number."""
    if (numbers := _numbers(column)) is not None:
        return numbers
    numbered = _numbered(column)
    texts = as_texts(numbered.dictionary).to_pylist()
    of_text = np.array([*map(_rating, texts), np.nan])
    places = numbered.indices.cast(pa.int64())  # for one more than the dictionary has
    ratings: Floats = of_text[places.fill_null(len(texts))]
    return ratings


def _rating(text: str) -> float:
    try:
        return fields.number(text)
    except BadField:
        return np.nan


def _times(size: int, column: pa.Array | None) -> Floats:
    """nan where the format has none."""
    if column is None:
        return np.full(size, np.nan)
    if (numbers := _numbers(column)) is not None:
        return numbers
    return np.array([fields.time(text) for text in as_texts(column).to_pylist()], np.float64)


def _numbers(column: pa.Array) -> Floats | None:
    """A column of numbers, nan where there is none; None for one of other values."""
    if not (pa.types.is_integer(column.type) or pa.types.is_float64(column.type)):
        return None
    numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers
