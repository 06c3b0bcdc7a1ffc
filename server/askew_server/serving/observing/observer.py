"""Where a server's parts tell what happens to them, and where it is read when somebody asks.

Counting is always on: it takes about a microsecond a call. Labels, text and time zones come in when
the counts are read, not when they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Protocol

from askew_server.serving.observing.counts import MethodCounts
from askew_server.serving.observing.event_log import EventLog
from askew_server.serving.observing.told_errors import of_error

_LONGEST_REASON = 300  # characters
_EPOCH = date(1970, 1, 1).toordinal()


class Places(Protocol):
    """What is read of the admission of a lane."""

    @property
    def taken(self) -> int:
        """Places of jobs that run or wait."""

    @property
    def wait(self) -> float:
        """Seconds until one more job would begin."""

    @property
    def refused(self) -> int:
        """Calls that found no place, ever."""


class Observer:
    """Counts of one process, and its log. For the thread of the event loop, but for `swapped` and
    `swap_refused`, which are single steps.
    """

    def __init__(self, log: EventLog | None = None) -> None:
        self.log = log if log is not None else EventLog(None)
        self.methods: list[MethodCounts] = []
        self.lanes: Mapping[str, Places] = {}
        self.callers: Callable[[], int] = lambda: 0  # connections with a call under way
        self.healths: Callable[[], Mapping[str, bool]] = dict
        self.version: Callable[[], int] | None = None
        self.loaded, self.swaps, self.swaps_refused = 0.0, 0, 0
        self.certificates_refusals = 0
        self.certificate_days: Callable[[], float] | None = None  # left, where TLS is spoken
        self.catalogs: Callable[[], Mapping[int, str]] = dict

    def method(self, service: str, method: str) -> MethodCounts:
        """The counts of a method, to be kept by whoever carries its calls."""
        counts = MethodCounts(service, method)
        self.methods.append(counts)
        return counts

    def failed(self, counts: MethodCounts, error: BaseException) -> None:
        """A call failed for a reason that is the server's own. The error's text is not looked at:
        it could hold a request.
        """
        self.log.tell("call_failed", method=counts.method, **of_error(error))

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

    def swapped(self, day: int, now: float) -> None:
        """Another snapshot serves, of the version of this Monday."""
        self.loaded, self.swaps = now, self.swaps + 1
        self.log.tell("swapped", monday=monday_of(day))

    def withdrawn(self, day: int) -> None:
        """The version of a Monday to come is taken back."""
        self.log.tell("withdrawn", monday=monday_of(day))

    def swap_refused(self, error: BaseException | None = None, reason: str = "") -> None:
        """What would have been next is not good; what was served goes on being served.

        reason: for the operator, of the operator's own files; cut to one line.
        """
        self.swaps_refused += 1
        told = of_error(error) if error is not None else {"error": "refused"}
        self.log.tell("swap_refused", reason=_line(reason), error=told["error"])

    def token_refused(self, why: str) -> None:
        """An analyst's token is garbage, expired or revoked."""
        self.log.tell("token_refused", token=why)

    def connections_closed(self, count: int) -> None:
        """So many were beyond their address' share."""
        self.log.tell("connections_closed", count=count)

    def certificates_refused(self, reason: str) -> None:
        """Files of certificates changed and are no use; what was shown goes on being shown.

        reason: for the operator, of the operator's own files. From any thread.
        """
        self.certificates_refusals += 1
        self.log.tell("certificates_refused", reason=_line(reason))


def _line(reason: str) -> str | None:
    plain = "".join(each if each.isprintable() else " " for each in reason)
    return " ".join(plain.split())[:_LONGEST_REASON] or None


def monday_of(day: int) -> str:
    """As a date; what is beyond the last date of the calendar is that."""
    return date.fromordinal(min(_EPOCH + day, date.max.toordinal())).isoformat()
