"""A counter on the operator's engine, with the operator's secret key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from askew_server.cli.options import Workplace
from askew_server.counting import CountingTask, Engine, TopCounts, count_top
from askew_server.counting.engines.address import open_engine
from askew_server.stoppable import Progress


@dataclass(frozen=True)
class EventCounter:
    """Counts on an engine, with the operator's secret key."""

    engine: Engine
    _key: bytes = field(repr=False)

    def __call__(self, task: CountingTask) -> TopCounts:
        """The counts that a task asks for."""
        return count_top(self.engine, task, self._key)


@contextmanager
def opened_engine(
    place: Workplace,
    progress: Progress | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> Iterator[Engine]:
    """The engine of a workplace, until it is no longer needed."""
    engine = open_engine(
        place.engine,
        memory_limit=place.memory_limit,
        temp_directory=place.temp_directory,
        multi_line=place.multi_line,
        progress=progress,
        warn=warn,
    )
    try:
        yield engine
    finally:
        engine.close()
