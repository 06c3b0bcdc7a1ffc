"""Which jobs of a lane run now, which wait, and which are refused.

A place is taken when a job is admitted and freed by the job itself when it ends, whether or not
anybody still waits for it: a caller who went away cannot make room for more work than there is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from askew.errors import Overloaded, TooSlow
from askew_server.serving.configuration.server import LaneLimits
from askew_server.serving.services.call import Job


class Admission:
    """One lane's threads and places. clock: seconds, never going back."""

    def __init__(self, name: str, limits: LaneLimits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._threads = ThreadPoolExecutor(limits.threads, name)
        self._taken, self._lock = 0, Lock()
        self.refused = 0  # calls that found no place, ever

    @property
    def taken(self) -> int:
        """Places of jobs that run or wait."""
        return self._taken

    async def run(self, job: Job, remaining: float | None) -> bytes:
        """The reply that a job makes. remaining: seconds until its caller's deadline.

        Raises Overloaded where no place is free, and TooSlow for a deadline that passes first: no
        work begins after it.
        """
        longest = self._limits.longest
        ends = self._clock() + (longest if remaining is None else min(remaining, longest))
        self._take(job.cost)
        try:
            future = self._threads.submit(self._run, job, ends)
        except RuntimeError:  # it stops
            self._free(job.cost)
            raise Overloaded("the server is stopping") from None
        future.add_done_callback(lambda _: self._free(job.cost))
        return await _awaited(future, ends - self._clock())

    def stop(self) -> None:
        """Begin no more jobs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _take(self, cost: int) -> None:
        with self._lock:
            if self._taken and self._taken + cost > self._limits.threads + self._limits.waiting:
                self.refused += 1
                raise Overloaded("too many calls are under way")
            self._taken += cost

    def _free(self, cost: int) -> None:
        with self._lock:
            self._taken -= cost

    def _run(self, job: Job, ends: float) -> bytes:
        if self._clock() >= ends:
            raise TooSlow("the deadline passed before the work began")
        return job.run()


async def _awaited(future: Future[bytes], seconds: float) -> bytes:
    """What a future becomes. A job that has not begun is given up where nobody waits any more."""
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(future)
    except TimeoutError:
        raise TooSlow("the deadline passed") from None
