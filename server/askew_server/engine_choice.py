"""A counter on the operator's engine, with the operator's secret key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from askew_server.command_options import Workplace
from askew_server.counting import CountingTask, Engine, TopCounts, count_top
from askew_server.counting.address import open_engine
from askew_server.counting.bounding import require_countable
from askew_server.counting.key_store import stored_key


@dataclass(frozen=True)
class EventCounter:
    """Counts on an engine, with the operator's secret key."""

    engine: Engine
    _key: bytes = field(repr=False)

    def check(self, task: CountingTask) -> None:
        """What can be known before anything is paid or read: tables, columns and their types."""
        require_countable(self.engine, task)

    def __call__(self, task: CountingTask) -> TopCounts:
        """The counts that a task asks for."""
        return count_top(self.engine, task, self._key)


@contextmanager
def counter(place: Workplace) -> Iterator[EventCounter]:
    """A counter on the engine of a workplace; the bounding key is made where there is none."""
    engine = open_engine(
        place.engine, memory_limit=place.memory_limit, temp_directory=place.temp_directory
    )
    try:
        yield EventCounter(engine, stored_key(place.bounding_key_path))
    finally:
        engine.close()
