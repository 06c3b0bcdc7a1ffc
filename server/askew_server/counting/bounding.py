"""One SQL text, in DuckDB's dialect, that bounds contributions and counts."""

from __future__ import annotations

from askew_server.counting.contract import CountingTask, Engine, TopCounts


def count_top(engine: Engine, task: CountingTask, key: bytes) -> TopCounts:
    """The counts that the task asks for."""
    raise NotImplementedError
