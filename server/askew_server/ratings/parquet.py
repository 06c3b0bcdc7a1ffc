"""Ratings from a parquet file, row by row as text so that every format obeys the same rules."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askew.errors import DataError
from askew_server.ratings.formats import rating_columns, time_column, unrecognized_ratings
from askew_server.ratings.source import PROGRESS_EVERY, Progress, first_bytes
from askew_server.stoppable import of_duckdb

_MAGIC = b"PAR1"


def is_parquet(path: Path) -> bool:
    """Whether the file begins as parquet does."""
    return first_bytes(path, len(_MAGIC)) == _MAGIC


def parquet_ratings(
    path: Path, progress: Progress | None = None
) -> Iterator[tuple[int, str, str, str, str]]:
    """The number of each row from 1, with its user, item, rating and time; a null is empty text."""
    size = path.stat().st_size
    row = 0
    for n_rows, batch in _batches(path):
        for user, item, rating, time in batch:
            row += 1
            yield row, user, item, rating, time
        if progress:
            progress(size * row // n_rows, size)


def _batches(path: Path) -> Iterator[tuple[int, list[tuple[str, str, str, str]]]]:
    """The number of rows in the file, with each batch of them."""
    # Imported here: only the operator who loads parquet pays for it.
    import duckdb

    # A name is a pattern to duckdb, and folders such as "user=3" would become columns.
    file = [glob.escape(str(path.resolve()))]
    source = "FROM read_parquet(?, hive_partitioning = false)"
    with _failures_named(path, duckdb.Error), duckdb.connect() as connection:
        described = connection.execute(f"DESCRIBE SELECT * {source}", file).fetchall()
        names = [name for name, *_ in described]
        columns = rating_columns(names)
        if columns is None:
            raise unrecognized_ratings(path, names)
        [(n_rows,)] = connection.execute(f"SELECT count(*) {source}", file).fetchall()
        texts = ", ".join(_as_text(names[column]) for column in columns)
        time = time_column(names)
        texts += ", ''" if time is None else f", {_as_text(names[time])}"
        rows = of_duckdb(connection).result(
            lambda: connection.execute(f"SELECT {texts} {source}", file)
        )
        while batch := rows.fetchmany(PROGRESS_EVERY):
            yield n_rows, batch


def _as_text(column: str) -> str:
    return f"coalesce(CAST(\"{column}\" AS VARCHAR), '')"


@contextmanager
def _failures_named(path: Path, failure: type[Exception]) -> Iterator[None]:
    try:
        yield
    except (failure, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]  # the rest is the query
        raise DataError(f"{path}: cannot be read as parquet: {reason}") from error
