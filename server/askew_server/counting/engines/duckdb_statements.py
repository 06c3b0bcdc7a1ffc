"""How DuckDB is asked: statements that somebody may stop, and what their failures say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager

import duckdb

from askew_server.counting.engines import Progress, failures_named

Rows = list[tuple[object, ...]]

_PROGRESS_SECONDS = 0.25
_INTERRUPT_SECONDS = 0.05  # between two interruptions: one that comes before a statement is lost


class Statements:
    """What is asked of one connection, one statement at a time, each in a thread of its own.

    In the thread of a caller, DuckDB may notice Ctrl-C or SIGTERM only when a sort has ended, and
    it makes a RuntimeError of either; and no other thread could close the connection.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, progress: Progress | None = None
    ) -> None:
        """progress: told, in the thread of the caller, how much of a long statement is done."""
        self._connection = connection
        self._progress = progress or (lambda _: None)
        self._asked: Future[Rows] | None = None

    def rows(self, statement: Callable[[], Rows]) -> Rows:
        """What a statement gives. It is stopped by any exception in the caller's thread, which a
        signal or `progress` may raise.
        """
        with ThreadPoolExecutor(1) as thread:
            self._asked = asked = thread.submit(statement)
            try:
                while wait([asked], _PROGRESS_SECONDS).not_done:
                    _tell(self._connection, self._progress)
                found = asked.result()
            finally:
                self._stop(asked)
        self._progress(1.0)
        return found

    def close(self) -> None:
        """Stops what is asked, by whatever thread, and closes the connection."""
        if self._asked is not None:
            self._stop(self._asked)
        self._connection.close()

    def _stop(self, asked: Future[Rows]) -> None:
        while not asked.done():
            self._connection.interrupt()
            wait([asked], _INTERRUPT_SECONDS)


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
        _tell(connection, progress)


def _tell(connection: duckdb.DuckDBPyConnection, progress: Progress) -> None:
    share = connection.query_progress() / 100
    if share >= 0:  # negative while DuckDB does not know
        progress(min(share, 1.0))


def _reason(error: Exception) -> str:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "DuckDB's memory is used up; raise its limit or give it a temporary directory"
    if isinstance(error, duckdb.IOException | duckdb.CatalogException):
        return str(error).partition("\n")[0]  # names files and tables, never a row
    return f"DuckDB cannot read this ({type(error).__name__})"
