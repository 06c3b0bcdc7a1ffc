"""What a server's parts report, and where an operator's pages read it.

Counting is always on: it takes about a microsecond a call. Labels, text and time zones come in when
somebody reads the counts, not when they are made. A call leaves a status and a duration behind.
Everything else that differs between calls, as its k, its noise or its caller, would tell of one
question on a server that is asked rarely.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import date
from typing import Protocol

from askew_server.serving.event_log import EventLog, of_error

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

FETCH_STATUSES = (200, 206, 404, 405, 409, 416)
"""What HTTP says to whoever fetches a file that devices hold."""


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


_LONGEST_REASON = 300  # characters
_EPOCH = date(1970, 1, 1).toordinal()


class QueueState(Protocol):
    """What is read of the admission of a queue."""

    @property
    def taken(self) -> int:
        """Slots of jobs that run or wait."""

    @property
    def wait(self) -> float:
        """Seconds until one more job would begin."""

    @property
    def refused(self) -> int:
        """Calls that found no slot, ever."""


class Observer:
    """Counts of one process, and its log. For the thread of the event loop, but for `swapped` and
    `swap_refused`, which are single steps.
    """

    def __init__(self, log: EventLog | None = None) -> None:
        self.log = log if log is not None else EventLog(None)
        self.methods: list[MethodCounts] = []
        self.queues: Mapping[str, QueueState] = {}
        self.callers: Callable[[], int] = lambda: 0  # connections with a call under way
        self.healths: Callable[[], Mapping[str, bool]] = dict
        self.version: Callable[[], int] | None = None
        self.loaded, self.swaps, self.swaps_refused = 0.0, 0, 0
        self.certificates_refusals = 0
        self.certificate_days: Callable[[], float] | None = None  # left, where TLS is spoken
        self.catalogs: Callable[[], Mapping[int, str]] = dict
        self.fetches = dict.fromkeys(FETCH_STATUSES, 0)

    def method(self, service: str, method: str) -> MethodCounts:
        """The counts of a method, to be kept by whoever carries its calls: one, for all doors."""
        for each in self.methods:
            if (each.service, each.method) == (service, method):
                return each
        counts = MethodCounts(service, method)
        self.methods.append(counts)
        return counts

    def failed(self, counts: MethodCounts, error: BaseException) -> None:
        """A call failed for a reason that is the server's own. The error's text is not looked at:
        it could hold a request.
        """
        self.log.log_event("call_failed", method=counts.method, **of_error(error))

    def serves(
        self,
        version: Callable[[], int],
        now: float,
        catalogs: Callable[[], Mapping[int, str]] = dict,
    ) -> None:
        """A snapshot serves from now on, in seconds since 1970. version: its Monday, in days since
        1970-01-01, whenever it is asked. catalogs: by their Mondays, what devices hold, by digest.
        """
        self.version, self.loaded, self.catalogs = version, now, catalogs

    def fetched(self, status: int) -> None:
        """Somebody asked for a file that devices hold, or a part of it, and heard this status."""
        self.fetches[status] += 1

    def swapped(self, day: int, now: float) -> None:
        """Another snapshot serves, of the model of this Monday."""
        self.loaded, self.swaps = now, self.swaps + 1
        self.log.log_event("swapped", monday=monday_of(day))

    def withdrawn(self, day: int) -> None:
        """The model of this Monday is answered from no more."""
        self.log.log_event("withdrawn", monday=monday_of(day))

    def swap_refused(self, error: BaseException | None = None, reason: str = "") -> None:
        """What would have been next is not good; what was served goes on being served.

        reason: for the operator, of the operator's own files; cut to one line.
        """
        self.swaps_refused += 1
        told = of_error(error) if error is not None else {"error": "refused"}
        self.log.log_event("swap_refused", reason=_line(reason), error=told["error"])

    def token_refused(self) -> None:
        """Note that an analyst's token is no good, or no longer."""
        self.log.log_event("token_refused")

    def certificates_refused(self, reason: str) -> None:
        """Files of certificates, or of a gateway's keys, changed and are no use; what was there
        stays.

        reason: for the operator, of the operator's own files. From any thread.
        """
        self.certificates_refusals += 1
        self.log.log_event("certificates_refused", reason=_line(reason))


def _line(reason: str) -> str | None:
    plain = "".join(each if each.isprintable() else " " for each in reason)
    return " ".join(plain.split())[:_LONGEST_REASON] or None


def monday_of(day: int) -> str:
    """As a date; what is beyond the last date of the calendar is that."""
    return date.fromordinal(min(_EPOCH + day, date.max.toordinal())).isoformat()


_OVER = 60.0  # seconds without a refusal, after which an overload has ended


class Overloads:
    """Looks at an observer's queues now and then. clock: seconds, never going back."""

    def __init__(self, observer: Observer, clock: Callable[[], float]) -> None:
        self._observer, self._clock = observer, clock
        self._seen = {queue: each.refused for queue, each in observer.queues.items()}
        self._under_way: dict[str, tuple[float, float, int]] = {}  # began, latest, refused before

    def look(self) -> None:
        """Tells of what began or ended since the last look."""
        for queue, state in self._observer.queues.items():
            before, now = self._seen.get(queue, 0), self._clock()
            self._seen[queue] = state.refused
            if state.refused > before:
                self._refusing(queue, before, now)
            elif queue in self._under_way and now - self._under_way[queue][1] >= _OVER:
                self._over(queue)

    def _refusing(self, queue: str, before: int, now: float) -> None:
        if queue not in self._under_way:
            self._observer.log.log_event("overload_began", queue=queue)
        began, _, refused = self._under_way.get(queue, (now, now, before))
        self._under_way[queue] = (began, now, refused)

    def _over(self, queue: str) -> None:
        began, latest, before = self._under_way.pop(queue)
        count, seconds = self._seen[queue] - before, round(latest - began)
        self._observer.log.log_event("overload_ended", queue=queue, count=count, seconds=seconds)
