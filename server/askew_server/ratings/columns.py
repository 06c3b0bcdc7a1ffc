"""Ratings by columns: DuckDB cuts the lines and codes the keys, and only the rows that are not
plainly good come back as text, to be judged one by one by the same rules as ever.

A row is plainly good when its line is regular (`lines`), its rating is a finite number on the
scale, and each of its keys is a whole number as one writes it, or, in a column of other texts, a
text that the rules accept: each different text is judged once. Where anything is in doubt there are
no columns, and the file is read row by row instead, which then names what is wrong.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew_server.ratings import fields
from askew_server.ratings.codes import Codes, coded
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import RatingFormat, rating_columns, time_column
from askew_server.ratings.lines import PlainLines, among_all, plain_lines, regular_lines, rows_at
from askew_server.ratings.parts import Asked
from askew_server.ratings.queries import (
    Arrays,
    Connection,
    KeyValue,
    Source,
    database,
    file_name,
    key_value,
    rows_query,
    text_of,
    watched,
)
from askew_server.ratings.source import LINE_LIMIT

_LARGEST = np.finfo(np.float64).max
_BATCH = 10_000
_MOST_ODD = 0.2  # of the rows; with more of them, row by row is no slower
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT"})
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Columns:
    """The plainly good rows of a file: codes of people and items (n,), rating (n,), time (n,) where
    it was asked for, and the keys that the codes stand for; odd: the places of the other rows among
    all, ascending, and their texts; first: the line of the first of all rows.
    """

    person: Codes
    item: Codes
    rating: NDArray[np.float64]
    time: NDArray[np.float64] | None
    people: list[str]
    items: list[str]
    odd: Rows
    texts: list[list[str]]
    first: int = 1

    def without_rows(self) -> Columns:
        """What tells the lines, without the arrays."""
        none, empty = np.empty(0, np.int32), np.empty(0)
        return replace(self, person=none, item=none, rating=empty, time=None, people=[], items=[])


def text_columns(path: Path, layout: RatingFormat, asked: Asked) -> Columns | None:
    """The columns of a text file, or None where its lines have to be read one by one. The texts of
    an odd row are its line.
    """
    with _folder() as folder:
        lines = plain_lines(path, layout.text, folder)
        if lines is None or not lines.count:
            return None
        if lines.regular and (found := _of_lines(lines, layout, path, asked, folder)):
            return found
        cut = regular_lines(lines, layout.text, folder, _most_odd(lines.count))
        if cut is None or not cut[0].count:
            return None
        regular, gone, texts = cut
        found = _of_lines(regular, layout, path, asked, folder)
        return None if found is None else _with(found, gone, texts)


def parquet_columns(path: Path, asked: Asked) -> Columns | None:
    """The columns of a parquet file; the texts of an odd row are user, item, rating and time."""
    relation = f"read_parquet({file_name(path)}, hive_partitioning = false"
    with _folder() as folder, database(folder) as connection:
        try:
            source = _parquet_source(connection, f"{relation})")
            if source is None or (read := _read(connection, source, path, asked)) is None:
                return None
            relation += ", file_row_number = true)"
            texts = _texts_of(connection, relation, source, read.odd)
        except (duckdb.Error, UnicodeError):
            return None
    return replace(read, texts=texts)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="askew-ratings-") as name:
        yield Path(name)


def _most_odd(count: int) -> float:
    return _MOST_ODD * count + _BATCH


def _of_lines(
    lines: PlainLines, layout: RatingFormat, path: Path, asked: Asked, folder: Path
) -> Columns | None:
    with database(folder) as connection:
        try:
            read = _read(connection, _lines_source(lines, layout), path, asked)
        except (duckdb.Error, UnicodeError):
            return None
    if read is None:
        return None
    texts = [[line] for line in rows_at(lines, read.odd)]
    return replace(read, texts=texts, first=int(layout.text.has_header) + 1)


def _with(found: Columns, gone: Rows, lines: list[str]) -> Columns:
    """The columns of a file whose rows `gone`, ascending, were not given to DuckDB."""
    every = np.append(among_all(found.odd, gone), gone)
    texts = found.texts + [[line] for line in lines]
    order = np.argsort(every, kind="stable")
    return replace(found, odd=every[order], texts=[texts[at] for at in order.tolist()])


def _lines_source(lines: PlainLines, layout: RatingFormat) -> Source:
    names = [f"c{at}" for at in range(layout.text.n_fields)]
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    relation = (
        f"read_csv({file_name(lines.path)}, delim = '{layout.text.separator}', header = false, "
        f"skip = {lines.skip}, columns = {{{columns}}}, quote = '', escape = '', comment = '', "
        "auto_detect = false, strict_mode = true, new_line = '\\n', compression = 'none', "
        f"max_line_size = {4 * LINE_LIMIT})"
    )
    user, item, rating = (names[at] for at in (layout.user, layout.item, layout.rating))
    time = None if layout.time is None else names[layout.time]
    return Source(relation, user, item, rating, time, frozenset(), lines.count, lines.spelled)


def _parquet_source(connection: Connection, relation: str) -> Source | None:
    described = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
    [(count,)] = connection.execute(f"SELECT count(*) FROM {relation}").fetchall()  # noqa: S608
    names = [name for name, *_ in described]
    if not count or (chosen := rating_columns(names)) is None:
        return None
    user, item, rating = (f'"{names[at]}"' for at in chosen)
    at = time_column(names)
    time = None if at is None else f'"{names[at]}"'
    integers = frozenset(f'"{name}"' for name, kind, *_ in described if kind in _INTEGERS)
    return Source(relation, user, item, rating, time, integers, count, spelled=True)


def _texts_of(connection: Connection, relation: str, source: Source, rows: Rows) -> list[list[str]]:
    if not rows.size:
        return []
    fields_of = (source.user, source.item, source.rating, source.time or "''")
    chosen = (  # of this module's own words and a name that is quoted
        f"SELECT {', '.join(map(text_of, fields_of))} FROM {relation} WHERE file_row_number IN "  # noqa: S608
        "(SELECT unnest(?::BIGINT[])) ORDER BY file_row_number"
    )
    return [list(row) for row in connection.execute(chosen, [rows.tolist()]).fetchall()]


def _read(connection: Connection, source: Source, path: Path, asked: Asked) -> Columns | None:
    """The plainly good rows, and the places of the others, whose texts are yet to be read."""
    size, progress = path.stat().st_size, asked.progress
    for as_texts in (False, True):  # what begins with numbers may go on with names
        user = key_value(connection, source, "person", source.user, as_texts=as_texts)
        item = key_value(connection, source, "item", source.item, as_texts=as_texts)
        query = rows_query(source, user, item, times=asked.times)
        arrays = watched(connection, query, size, progress)
        progress = None  # it was told to the end
        if len(arrays["rating"]) != source.count:
            return None
        good = _plainly_good(arrays, asked, user, item)
        if source.count - np.count_nonzero(good) <= _most_odd(source.count):
            return _coded(arrays, good, user, item)
    return None


def _plainly_good(
    arrays: Arrays, asked: Asked, user: KeyValue, item: KeyValue
) -> NDArray[np.bool_]:
    rating = arrays["rating"] = np.ma.filled(arrays["rating"], np.nan)
    good: NDArray[np.bool_] = np.ma.filled(arrays.pop("plain"), False)
    good &= rating >= (0 if asked.counts else -fields.RATING_LIMIT)  # which nan is not
    good &= rating <= (_LARGEST if asked.counts else fields.RATING_LIMIT)
    if asked.times:
        good &= ~np.isinf(arrays["time"])
    for field, key in (("person", user), ("item", item)):
        codes = arrays[field] = np.ma.filled(arrays[field], 0)
        if key.texts is not None:
            good &= np.array([_key(text) is not None for text in key.texts])[codes]
    return good


def _coded(arrays: Arrays, good: NDArray[np.bool_], user: KeyValue, item: KeyValue) -> Columns:
    odd = np.flatnonzero(~good)
    if odd.size:
        arrays = {name: array[good] for name, array in arrays.items()}
    person, people = _keyed(arrays.pop("person"), user)
    items, names = _keyed(arrays.pop("item"), item)
    time = arrays.get("time")
    return Columns(person, items, arrays["rating"], time, people, names, odd, [])


def _keyed(values: NDArray[np.integer], column: KeyValue) -> tuple[Codes, list[str]]:
    """The codes of values, and the key of each code; two codes may stand for one key."""
    codes, different = coded(values)
    if column.texts is None:
        return codes, list(map(str, different.tolist()))
    return codes, [_key(column.texts[at]) or "" for at in different.tolist()]


def _key(text: str) -> str | None:
    try:
        return fields.key("key", text)
    except BadField:
        return None
