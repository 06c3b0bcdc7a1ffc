"""Distinct privacy units per item, after contribution bounding, on an engine that has the events.

>>> from askew_server.counting import ContributionBound, CountingTask, count_top
"""

from askew_server.counting.bounding import EventCounter, count_top
from askew_server.counting.contract import (
    KEY_BYTES,
    ContributionBound,
    CountingTask,
    Engine,
    TopCounts,
)

__all__ = [
    "KEY_BYTES",
    "ContributionBound",
    "CountingTask",
    "Engine",
    "EventCounter",
    "TopCounts",
    "count_top",
]
