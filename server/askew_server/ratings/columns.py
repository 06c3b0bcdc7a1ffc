"""Ratings by columns: DuckDB splits the lines, and only the rows that are not plainly good come
back as text, to be judged one by one by the same rules as ever.

A row is plainly good when it has the right number of fields, is printable ASCII without quotes, its
keys have no space at their ends, and its rating is a finite number on the scale. Where lines cannot
be counted surely (a lone carriage return, a NUL, an error of any kind), there are no columns, and
the file is read row by row instead, which then names what is wrong.
"""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.fields import KEY_LIMIT, RATING_LIMIT
from askew_server.ratings.formats import RatingFormat, rating_columns
from askew_server.ratings.source import LINE_LIMIT, Progress, line_count

_PARQUET = "read_parquet(?, hive_partitioning = false)"
_MEMORY = "1GB"
_POLLED = 0.2  # seconds between two looks at how far a query is
_BATCH = 10_000
_CODED = """
SELECT ratings.rowid + ? AS line, p.code::INTEGER AS person, i.code::INTEGER AS item, r AS rating
FROM ratings JOIN code_of_person AS p ON ratings.person = p.person
JOIN code_of_item AS i ON ratings.item = i.item WHERE odd IS NULL
"""
_ODD = "SELECT rowid + ?, odd FROM ratings WHERE odd IS NOT NULL ORDER BY rowid"
_MOST_ODD = 0.2  # of the rows; with more of them, row by row is no slower


@dataclass(frozen=True, eq=False)
class Columns:
    """The plainly good rows of a file: line (n,) ascending, codes of people and items (n,), rating
    (n,); the keys that the codes stand for; and the other rows, as (line, texts).
    """

    line: NDArray[np.int64]
    person: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.float64]
    people: list[str]
    items: list[str]
    odd: list[tuple[int, list[str]]]


def text_columns(
    path: Path, layout: RatingFormat, *, counts: bool, progress: Progress | None
) -> Columns | None:
    """The columns of a text file, or None where its lines have to be read one by one. The texts of
    an odd row are its line.
    """
    lines, text = line_count(path), layout.text
    if lines is None:
        return None
    encoding = "latin-1" if text.encoding == "latin-1" else "utf-8"
    line = "coalesce(line, '')"  # an empty line is no text to DuckDB
    source = (
        f"(SELECT [{line}] AS whole, {line} AS seen, string_split({line}, ?) AS fields "  # noqa: S608
        "FROM read_csv(?, delim = '\\x01', header = false, columns = {'line': 'VARCHAR'}, "
        "quote = '', escape = '', auto_detect = false, null_padding = true, "
        f"max_line_size = {LINE_LIMIT + 1}, skip = {int(text.has_header)}, "
        f"new_line = '{lines.ending}', compression = '{lines.compression}', "
        f"encoding = '{encoding}'))"
    )
    tab = "\t" if text.separator == "\t" else ""
    fields = [f"fields[{at + 1}]" for at in (layout.user, layout.item, layout.rating)]
    plain = f"len(fields) = {text.n_fields} AND NOT regexp_matches(seen, '[^ !#-~{tab}]')"
    file = glob.escape(str(path.resolve()))  # a name is a pattern to DuckDB
    rows = _Rows(source, [text.separator, file], fields, plain, int(text.has_header) + 1)
    return _read(rows, path, lines.count - int(text.has_header), counts=counts, progress=progress)


def parquet_columns(path: Path, *, counts: bool, progress: Progress | None) -> Columns | None:
    """The columns of a parquet file; the texts of an odd row are user, item and rating."""
    file = glob.escape(str(path.resolve()))
    with duckdb.connect() as connection:
        try:
            described = connection.execute(f"DESCRIBE FROM {_PARQUET}", [file]).fetchall()
            [(count,)] = connection.execute(f"SELECT count(*) FROM {_PARQUET}", [file]).fetchall()  # noqa: S608
        except (duckdb.Error, UnicodeDecodeError):
            return None
    names = [row[0] for row in described]
    if (chosen := rating_columns(names)) is None:
        return None
    texts = ", ".join(f"coalesce(CAST(\"{names[c]}\" AS VARCHAR), '')" for c in chosen)
    whole = f"(SELECT [{texts}] AS whole, whole AS fields FROM {_PARQUET})"  # noqa: S608
    fields = [f"fields[{at}]" for at in (1, 2, 3)]
    plain = "NOT regexp_matches(fields[1] || fields[2], '[^ !#-~]')"
    rows = _Rows(whole, [file], fields, plain, 1)
    return _read(rows, path, count, counts=counts, progress=progress)


@dataclass(frozen=True)
class _Rows:
    """Where rows come from: a source of `whole` and `fields`, its arguments, the three fields, what
    makes a row plain beside its fields, and the number of the first row.
    """

    source: str
    arguments: list[str]
    fields: list[str]
    plain: str
    first: int


def _read(
    rows: _Rows, path: Path, count: int, *, counts: bool, progress: Progress | None
) -> Columns | None:
    user, item, rating = rows.fields
    limit = "r >= 0" if counts else f"abs(r) <= {RATING_LIMIT}"
    good = f"{rows.plain} AND isfinite(r) AND {limit} AND instr({rating}, '_') = 0"
    for key in (user, item):
        good += f" AND len({key}) BETWEEN 1 AND {KEY_LIMIT} AND {key} = trim({key})"
    statement = (  # of this file's own words alone: what is read is an argument
        f"CREATE TABLE ratings AS SELECT {user} AS person, {item} AS item, "  # noqa: S608
        f"TRY_CAST({rating} AS DOUBLE) AS r, "
        f"CASE WHEN coalesce({good}, false) THEN NULL ELSE whole END AS odd FROM {rows.source}"
    )
    with _database() as connection:
        try:
            _run(connection, statement, rows.arguments, path.stat().st_size, progress)
        except (duckdb.Error, UnicodeDecodeError):
            return None
        return _columns(connection, rows.first, count)


def _columns(connection: duckdb.DuckDBPyConnection, first: int, count: int) -> Columns | None:
    [(rows, odd)] = connection.execute("SELECT count(*), count(odd) FROM ratings").fetchall()
    if rows != count or odd > _MOST_ODD * rows + _BATCH:
        return None
    keys = [_codes(connection, name) for name in ("person", "item")]
    arrays = connection.execute(_CODED, [first]).fetchnumpy()
    order = np.argsort(arrays["line"], kind="stable")  # nearly sorted: one pass
    ordered: dict[str, Any] = {name: np.asarray(array)[order] for name, array in arrays.items()}
    left = connection.execute(_ODD, [first]).fetchall()
    return Columns(**ordered, people=keys[0], items=keys[1], odd=left)


def _codes(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Codes of the keys of a column, as the table code_of_NAME; the keys by code."""
    connection.execute(
        f"CREATE TABLE code_of_{name} AS SELECT {name}, row_number() OVER () - 1 AS code "  # noqa: S608
        f"FROM ratings WHERE odd IS NULL GROUP BY {name}"
    )
    found = connection.execute(f"SELECT {name} FROM code_of_{name} ORDER BY code").fetchall()  # noqa: S608
    return [key for (key,) in found]


@contextmanager
def _database() -> Iterator[duckdb.DuckDBPyConnection]:
    """On disk, where it is compressed: memory does not grow with the file."""
    with tempfile.TemporaryDirectory(prefix="askew-ratings-") as folder:
        settings: dict[str, str | bool | int | float | list[str]]
        settings = {"memory_limit": _MEMORY, "temp_directory": folder}
        with duckdb.connect(str(Path(folder) / "ratings.db"), config=settings) as connection:
            yield connection


def _run(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    arguments: list[str],
    size: int,
    progress: Progress | None,
) -> None:
    """Run a statement, telling how far it is; a callback that fails stops it."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            connection.execute(statement, arguments)
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=work)
    thread.start()
    done = 0
    try:
        while thread.is_alive():
            thread.join(_POLLED)
            now = int(size * max(connection.query_progress(), 0.0) / 100)
            if progress is not None and thread.is_alive() and done < now < size:
                done = now
                progress(done, size)
    except BaseException:
        connection.interrupt()
        raise
    finally:
        thread.join()
    if failed:
        raise failed[0]
    if progress is not None:
        progress(size, size)
