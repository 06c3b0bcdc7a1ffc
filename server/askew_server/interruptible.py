"""Statements that somebody may stop: each runs in a thread of its own while its caller waits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_T = TypeVar("_T")
Progress = Callable[[float], object]
"""Is called with the share of the work that is done, from 0 to 1."""

_TELL_SECONDS = 0.25
_STOP_SECONDS = 0.05  # between two stops: one that comes before a statement is lost


class Interruptible:
    """What is asked of one connection, one statement at a time.

    A driver that a signal finds at work does not pass it on: DuckDB makes a RuntimeError of it, or
    hears it when a sort has ended; Spark's writes tracebacks. Here it finds a caller who waits.
    """

    def __init__(
        self, stop: Callable[[], object], tell: Callable[[], object] = lambda: None
    ) -> None:
        """Keep how statements are stopped and watched. stop: ends what the connection does, from
        any thread. tell: called while the caller waits, and may raise.
        """
        self._stop, self._tell = stop, tell
        self._asked: Future[Any] | None = None

    def result(self, statement: Callable[[], _T]) -> _T:
        """Return what a statement returns, or raise what it raises; it runs in another thread. Any
        exception in the caller's thread, as of Ctrl-C, stops the statement.
        """
        with ThreadPoolExecutor(1) as thread:
            self._asked = asked = thread.submit(statement)
            try:
                while wait([asked], _TELL_SECONDS).not_done:
                    self._tell()
                return asked.result()
            finally:
                self.stop()

    def stop(self) -> None:
        """End the statement that runs, if one does, by the `stop` of the constructor, and wait
        until it has ended; from any thread.
        """
        while self._asked is not None and not self._asked.done():
            self._stop()
            wait([self._asked], _STOP_SECONDS)


def of_duckdb(connection: DuckDBPyConnection, progress: Progress) -> Interruptible:
    """Return an `Interruptible` for a connection to DuckDB. progress: is called every quarter of a
    second of a statement with the share that is done, from 0 to 1, unless DuckDB does not know it.
    """
    connection.execute("SET enable_progress_bar = true")  # it counts for its bar alone
    connection.execute("SET enable_progress_bar_print = false")
    return Interruptible(connection.interrupt, lambda: tell(connection, progress))


def tell(connection: DuckDBPyConnection, progress: Progress) -> None:
    """Call `progress` with the share of the connection's statement that is done, from 0 to 1; not
    while DuckDB does not know, or runs none.
    """
    share = connection.query_progress() / 100
    if share >= 0:  # negative while DuckDB does not know
        progress(min(share, 1.0))
