"""What DuckDB says of a statement: how far it is, and why it failed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import duckdb

from askew_server.counting.engines import Progress, failures_named

_PROGRESS_SECONDS = 0.25


@contextmanager
def watched(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Tells `progress`, from another thread, how much of a statement is done."""
    if progress is None:
        yield
        return
    done = threading.Event()
    arguments = (connection, progress, done)
    watcher = threading.Thread(target=_watch, args=arguments, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    progress(1.0)


def without_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB counts its progress for the bar alone, which is not printed."""
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")


def duckdb_failures(where: str) -> AbstractContextManager[None]:
    """DuckDB's failure as a DataError that quotes no row."""
    return failures_named(where, duckdb.Error, _reason)


def _watch(
    connection: duckdb.DuckDBPyConnection, progress: Progress, done: threading.Event
) -> None:
    while not done.wait(_PROGRESS_SECONDS):
        tell(connection, progress)


def tell(connection: duckdb.DuckDBPyConnection, progress: Progress) -> None:
    """Tells how much of a statement is done, where DuckDB knows."""
    share = connection.query_progress() / 100
    if share >= 0:  # negative while DuckDB does not know
        progress(min(share, 1.0))


def _reason(error: Exception) -> str:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "DuckDB's memory is used up; raise its limit or give it a temporary directory"
    if isinstance(error, duckdb.IOException | duckdb.CatalogException):
        return str(error).partition("\n")[0]  # names files and tables, never a row
    return f"DuckDB cannot read this ({type(error).__name__})"
