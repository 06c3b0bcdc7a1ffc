"""What DuckDB is asked about the rows of a file: keys as whole numbers, ratings, times."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from askew_server.ratings.source import Progress
from askew_server.stoppable import of_duckdb

Connection = duckdb.DuckDBPyConnection
Arrays = dict[str, NDArray[Any]]

_MEMORY = "1GB"
_SAMPLE = 10_000
_FEW = 0.01  # of a sample that may be other texts in a column of numbers


@dataclass(frozen=True)
class Source:
    """Where rows come from, in SQL: a relation, and its fields user, item, rating and time.

    numbers: those of the fields that are taken as they are, of keys integers alone; count: how many
    rows there are.
    """

    relation: str
    user: str
    item: str
    rating: str
    time: str | None
    numbers: frozenset[str]
    count: int


@dataclass(frozen=True)
class KeyValue:
    """A column of keys as whole numbers: what each is, and when it is that, in SQL; texts: those
    that the numbers stand for, where they are not written in digits themselves.
    """

    value: str
    plain: str | None
    texts: list[str] | None = None


def database(folder: Path) -> Connection:
    """In memory, and in the folder what does not fit."""
    return duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(folder)})


def file_name(path: Path) -> str:
    """A file in SQL; its name would be a pattern otherwise. Raises UnicodeError where the name is
    no text.
    """
    name = str(path.resolve())
    name.encode()  # DuckDB's own error would not say so
    return _quoted(glob.escape(name))


def text_of(column: str) -> str:
    """A field as text in SQL; nothing is empty text."""
    return f"coalesce(CAST({column} AS VARCHAR), '')"


def key_value(
    connection: Connection, source: Source, name: str, column: str, *, as_texts: bool
) -> KeyValue:
    """How the keys of a column become whole numbers: by themselves where nearly all are written as
    numbers are, and by their place among all different ones elsewhere.
    """
    if column in source.numbers:
        return KeyValue(column, f"{column} IS NOT NULL")
    for kind in () if as_texts else ("INTEGER", "BIGINT"):
        value = f"TRY_CAST({column} AS {kind})"
        plain = f"CAST({value} AS VARCHAR) = CAST({column} AS VARCHAR)"  # not 007, 1.0 or 1e3
        if _rarely_fails(connection, source, plain):
            return KeyValue(value, plain)
    kind = f"key_of_{name}"
    text = text_of(column)
    answered(connection, f"DROP TYPE IF EXISTS {kind}")
    answered(
        connection,
        f"CREATE TYPE {kind} AS ENUM (SELECT DISTINCT {text} FROM {source.relation})",  # noqa: S608
    )
    [(texts,)] = answered(connection, f"SELECT enum_range(NULL::{kind})")
    return KeyValue(f"enum_code(CAST({text} AS {kind}))", None, texts)


def rows_query(source: Source, user: KeyValue, item: KeyValue, *, times: bool) -> str:
    """The columns person, item, rating, plain, and time: nan where nobody knows it, and infinite
    where its text has to be judged.
    """
    plain = [key.plain for key in (user, item) if key.plain]
    if source.rating not in source.numbers:  # "1_000" and "+-1" are numbers to DuckDB
        plain.append(f"NOT regexp_matches({text_of(source.rating)}, '[_+]')")
    columns = [
        f"{user.value} AS person",
        f"{item.value} AS item",
        f"TRY_CAST({_as_number(source.rating, source)} AS DOUBLE) AS rating",
        f"{' AND '.join(plain) or 'true'} AS plain",
    ]
    if times:
        columns.append(f"{_time(source)} AS time")
    return f"SELECT {', '.join(columns)} FROM {source.relation}"  # noqa: S608


def answered(
    connection: Connection, query: str, values: list[object] | None = None
) -> list[tuple[Any, ...]]:
    """The rows of an answer."""
    return of_duckdb(connection).result(lambda: connection.execute(query, values).fetchall())


def arrays_of(connection: Connection, query: str, progress: Progress | None, size: int) -> Arrays:
    """The arrays of a query, telling how many of so many bytes are done."""
    asked = of_duckdb(connection, progress and (lambda share: progress(int(size * share), size)))
    arrays = asked.result(lambda: connection.execute(query).fetchnumpy())
    if progress is not None:
        progress(size, size)
    return arrays


def _rarely_fails(connection: Connection, source: Source, condition: str) -> bool:
    sample = f"SELECT * FROM {source.relation} LIMIT {_SAMPLE}"  # noqa: S608
    asked = f"SELECT count(*), count(*) FILTER (WHERE {condition}) FROM ({sample})"  # noqa: S608
    [(rows, plain)] = answered(connection, asked)
    return bool(plain >= (1 - _FEW) * rows)


def _as_number(column: str, source: Source) -> str:
    """A single-precision number means what is written: 3.7, and not 3.7000000477."""
    return column if column in source.numbers else text_of(column)


def _time(source: Source) -> str:
    if source.time is None:
        return "'nan'::DOUBLE"
    text = text_of(source.time)
    number = f"coalesce(TRY_CAST({text} AS DOUBLE), 'inf'::DOUBLE)"
    number = f"CASE WHEN regexp_matches({text}, '[_+]') THEN 'inf'::DOUBLE ELSE {number} END"
    return f"CASE WHEN {text} = '' THEN 'nan'::DOUBLE ELSE {number} END"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
