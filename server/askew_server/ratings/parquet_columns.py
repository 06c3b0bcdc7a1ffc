"""Ratings of a parquet file by columns: DuckDB codes the keys, and only the rows that are not
plainly good come back as text, to be judged one by one by the same rules as ever.

A row is plainly good when its rating is a finite number on the scale, and each of its keys is a
whole number as one writes it, or, in a column of other texts, a text that the rules accept: each
different text is judged once. Where anything is in doubt there are no columns, and the file is read
row by row instead, which then names what is wrong.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew_server.ratings import fields
from askew_server.ratings.codes import Codes, Keys, coded, recoded
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import rating_columns, time_column
from askew_server.ratings.parts import Asked
from askew_server.ratings.queries import (
    Arrays,
    Connection,
    KeyValue,
    Source,
    answered,
    arrays_of,
    database,
    file_name,
    key_value,
    rows_query,
    text_of,
)
from askew_server.ratings.rows import Flags, Rows, are_on_scale
from askew_server.ratings.source import Progress

_ENOUGH = 10_000
_MOST_ODD = 0.2  # of the rows; with more of them, row by row is no slower
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT"})
Places = NDArray[np.intp]
Texts = tuple[str, str, str, str]
Odd = list[tuple[int, Texts]]


def parquet_columns(
    path: Path, people: Keys, items: Keys, asked: Asked, progress: Progress | None
) -> tuple[Rows, Odd] | None:
    """The plainly good rows, whose keys get codes from `people` and `items`, and the others with
    their places among all: user, item, rating and time as texts. None where rows have to be read
    one by one.
    """
    size = path.stat().st_size
    with (
        tempfile.TemporaryDirectory(prefix="askew-ratings-") as folder,
        database(Path(folder)) as connection,
    ):
        try:
            relation = f"read_parquet({file_name(path)}, hive_partitioning = false"
            source = _source(connection, f"{relation})")
            if source is None or (read := _read(connection, source, asked, progress, size)) is None:
                return None
            arrays, good, user, item = read
            odd = np.flatnonzero(~good)
            texts = _texts_of(connection, f"{relation}, file_row_number = true)", source, odd)
        except (duckdb.Error, UnicodeError):
            return None
    rows = Rows(
        _known(arrays["person"], good, user, people),
        _known(arrays["item"], good, item, items),
        _chosen(arrays["rating"], good),
        _chosen(arrays["time"], good) if asked.times else None,
    )
    return rows, list(zip(odd.tolist(), texts, strict=True))


def _source(connection: Connection, relation: str) -> Source | None:
    described = answered(connection, f"DESCRIBE FROM {relation}")
    [(count,)] = answered(connection, f"SELECT count(*) FROM {relation}")  # noqa: S608
    names = [name for name, *_ in described]
    if not count or (chosen := rating_columns(names)) is None:
        return None
    user, item, rating = (f'"{names[at]}"' for at in chosen)
    at = time_column(names)
    time = None if at is None else f'"{names[at]}"'
    numbers = {f'"{name}"' for name, kind, *_ in described if kind in _INTEGERS}
    numbers |= {rating} & {f'"{name}"' for name, kind, *_ in described if kind == "DOUBLE"}
    return Source(relation, user, item, rating, time, frozenset(numbers), count)


def _texts_of(connection: Connection, relation: str, source: Source, rows: Places) -> list[Texts]:
    if not rows.size:
        return []
    fields_of = (source.user, source.item, source.rating, source.time or "''")
    chosen = (  # of this module's own words and a name that is quoted
        f"SELECT {', '.join(map(text_of, fields_of))} FROM {relation} WHERE file_row_number IN "  # noqa: S608
        "(SELECT unnest(?::BIGINT[])) ORDER BY file_row_number"
    )
    return [
        (user, item, rating, time)
        for user, item, rating, time in answered(connection, chosen, [rows.tolist()])
    ]


def _read(
    connection: Connection, source: Source, asked: Asked, progress: Progress | None, size: int
) -> tuple[Arrays, Flags, KeyValue, KeyValue] | None:
    """All rows, which of them are plainly good, and what the numbers of people and items mean."""
    for as_texts in (False, True):  # what begins with numbers may go on with names
        user = key_value(connection, source, "person", source.user, as_texts=as_texts)
        item = key_value(connection, source, "item", source.item, as_texts=as_texts)
        query = rows_query(source, user, item, times=asked.times)
        arrays = arrays_of(connection, query, progress, size)
        progress = None  # it was told to the end
        if len(arrays["rating"]) != source.count:
            return None
        good = _plainly_good(arrays, asked, user, item)
        if source.count - np.count_nonzero(good) <= _MOST_ODD * source.count + _ENOUGH:
            return arrays, good, user, item
    return None


def _plainly_good(arrays: Arrays, asked: Asked, user: KeyValue, item: KeyValue) -> Flags:
    rating = arrays["rating"] = np.ma.filled(arrays["rating"], np.nan)
    good: Flags = np.ma.filled(arrays.pop("plain"), False)
    good &= are_on_scale(rating, counts=asked.counts)
    if asked.times:
        good &= ~np.isinf(arrays["time"])
    for field, key in (("person", user), ("item", item)):
        codes = arrays[field] = np.ma.filled(arrays[field], 0)
        if key.texts is not None:
            good &= np.array([_key(text) is not None for text in key.texts])[codes]
    return good


def _known(values: NDArray[np.integer], good: Flags, column: KeyValue, keys: Keys) -> Codes:
    """The codes of the values in good rows, as those of all files."""
    codes, different = coded(_chosen(values, good))
    texts = column.texts
    names = [str(at) if texts is None else _key(texts[at]) or "" for at in different.tolist()]
    return recoded(codes, np.fromiter(map(keys.__getitem__, names), np.int32, len(names)))


def _chosen(array: NDArray[Any], good: Flags) -> NDArray[Any]:
    return array if good.all() else array[good]


def _key(text: str) -> str | None:
    try:
        return fields.key("key", text)
    except BadField:
        return None
