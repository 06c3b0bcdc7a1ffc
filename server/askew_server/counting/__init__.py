"""Distinct privacy units per item, after contribution bounding, on an engine that has the events.

>>> from askew_server.counting import CountingTask, count_top
"""

from askew_server.counting.bounding import count_events, count_top
from askew_server.counting.contract import (
    KEY_BYTES,
    CountingTask,
    Engine,
    EventSource,
    TopCounts,
)

__all__ = [
    "KEY_BYTES",
    "CountingTask",
    "Engine",
    "EventSource",
    "TopCounts",
    "count_events",
    "count_top",
]
