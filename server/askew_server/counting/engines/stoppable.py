"""Statements that somebody may stop: each runs in a thread of its own while its caller waits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

Rows = list[tuple[object, ...]]

_TELL_SECONDS = 0.25
_STOP_SECONDS = 0.05  # between two stops: one that comes before a statement is lost


class Stoppable:
    """What is asked of one connection, one statement at a time.

    A driver that a signal finds at work does not pass it on: DuckDB makes a RuntimeError of it, or
    hears it when a sort has ended; Spark's writes tracebacks. Here it finds a caller who waits.
    """

    def __init__(
        self, stop: Callable[[], object], tell: Callable[[], object] = lambda: None
    ) -> None:
        """stop: ends what the connection does, from any thread. tell: called while the caller
        waits, and may raise.
        """
        self._stop, self._tell = stop, tell
        self._asked: Future[Rows] | None = None

    def rows(self, statement: Callable[[], Rows]) -> Rows:
        """What a statement gives. Any exception in the caller's thread stops it."""
        with ThreadPoolExecutor(1) as thread:
            self._asked = thread.submit(statement)
            try:
                while wait([self._asked], _TELL_SECONDS).not_done:
                    self._tell()
                return self._asked.result()
            finally:
                self.stop()

    def stop(self) -> None:
        """Ends what is asked, by whatever thread."""
        while self._asked is not None and not self._asked.done():
            self._stop()
            wait([self._asked], _STOP_SECONDS)
