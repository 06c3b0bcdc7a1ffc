"""Which jobs of a lane run now, which wait, and which are refused.

A place is taken when a job is admitted and freed by the job itself when it ends, whether or not
anybody still waits for it: a caller who went away cannot make room for more work than there is.
What would be answered too late is refused at once: the oldest job is always next, and it is in time
because no more are let in than their own pace allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from askew.errors import Overloaded, TooSlow, Unreachable
from askew_server.serving.configuration.server import LaneLimits
from askew_server.serving.services.call import Job

_MEMORY = 8
"""How many jobs the pace is an average of, roughly: later ones count more."""


class Admission:
    """One lane's threads and places. clock: seconds, never going back."""

    def __init__(self, name: str, limits: LaneLimits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._threads = ThreadPoolExecutor(limits.threads, name)
        self._taken, self._pace, self._lock = 0, 0.0, Lock()
        self.refused = 0  # calls that found no place, ever

    @property
    def taken(self) -> int:
        """Places of jobs that run or wait."""
        return self._taken

    @property
    def wait(self) -> float:
        """Seconds until a thread is free for one more job, by the pace of those before."""
        ahead = max(0, self._taken + 1 - self._limits.threads)
        return ahead * self._pace / self._limits.threads

    async def run(self, job: Job, remaining: float | None) -> bytes:
        """The reply that a job makes. remaining: seconds until its caller's deadline.

        Raises Overloaded where no place is free, or none in time, TooSlow for a deadline that
        passes first, as no work begins after it, and Unreachable where the lane stops.
        """
        longest = self._limits.longest
        seconds = longest if remaining is None else min(remaining, longest)
        ends = self._clock() + seconds
        self._take(job.cost, seconds)
        try:
            future = self._threads.submit(self._run, job, ends)
        except RuntimeError:  # it stops
            self._free(job.cost)
            raise Unreachable("the server is stopping") from None
        future.add_done_callback(lambda _: self._free(job.cost))
        return await _awaited(future, seconds)

    def stop(self) -> None:
        """Begin no more jobs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _take(self, cost: int, seconds: float) -> None:
        if seconds <= 0:
            raise TooSlow("the deadline has passed")
        with self._lock:
            if not self._has_room(cost, seconds):
                self.refused += 1
                raise Overloaded("too many calls are under way")
            self._taken += cost

    def _has_room(self, cost: int, seconds: float) -> bool:
        """Whether a job may come in; one that finds nobody there always may."""
        limits, wait = self._limits, self.wait
        if not self._taken:
            return True
        fits = self._taken + cost <= limits.threads + limits.waiting
        return fits and wait <= limits.patience and wait + cost * self._pace <= seconds

    def _free(self, cost: int) -> None:
        with self._lock:
            self._taken -= cost

    def _run(self, job: Job, ends: float) -> bytes:
        begins = self._clock()
        if begins >= ends:
            raise TooSlow("the deadline passed before the work began")
        try:
            return job.run()
        finally:
            self._learn((self._clock() - begins) / job.cost)

    def _learn(self, seconds: float) -> None:
        with self._lock:
            self._pace += (seconds - self._pace) / _MEMORY


async def _awaited(future: Future[bytes], seconds: float) -> bytes:
    """What a future becomes. A job that has not begun is given up where nobody waits any more."""
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(future)
    except TimeoutError:
        raise TooSlow("the deadline passed") from None
