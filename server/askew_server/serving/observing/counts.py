"""What is counted of a method's calls: plain integers in the path of a call, and nothing of it.

A call leaves a status and a duration behind. Everything else that differs between calls, as its k,
its noise or its caller, would tell of one question on a server that is asked rarely.
"""

from __future__ import annotations

from bisect import bisect_left

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the ranges of seconds that calls are sorted into; what takes longer is beyond."""

STATUSES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""By their numbers, which gRPC fixed."""


class MethodCounts:
    """Calls of one method: how many by status, and how long they took. For one thread."""

    __slots__ = ("durations", "method", "seconds", "service", "statuses")

    def __init__(self, service: str, method: str) -> None:
        self.service, self.method = service, method
        self.statuses = [0] * len(STATUSES)
        self.durations = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def done(self, status: int, seconds: float) -> None:
        """One call ended. status: gRPC's number. seconds: from its arrival to its reply."""
        self.statuses[status] += 1
        self.durations[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
