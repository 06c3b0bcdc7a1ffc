"""One bounded queue of jobs before a few threads, for all doors of a server.

A job takes slots when it is admitted, and frees them when it ends, whether or not anybody still
waits for it: a caller who went away makes no room for more work than there is. Where no slot is
free a call is refused at once, and no job begins after its deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from askew.errors import Overloaded, TooSlow, Unreachable
from askew_server.serving.call import Job
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import QueueLimits


class Admission:
    """One queue's threads and state. clock: seconds, never going back."""

    def __init__(
        self,
        name: str,
        limits: QueueLimits,
        observer: Observer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits, self._clock = limits, clock
        self._threads = ThreadPoolExecutor(limits.threads, name)
        self.taken, self._lock = 0, Lock()  # slots of jobs that run or wait
        self._refusals = observer.refusals.labels(name)
        observer.slots.labels(name).set_function(lambda: self.taken)

    async def run(self, job: Job, remaining: float | None) -> bytes:
        """Return the reply that a job makes. remaining: seconds until its caller's deadline.

        Raises Overloaded where no slot is free, TooSlow for a deadline that passes first, and
        Unreachable where the queue stops.
        """
        longest = self._limits.longest
        seconds = longest if remaining is None else min(remaining, longest)
        if seconds <= 0:
            raise TooSlow("the deadline has passed")
        ends = self._clock() + seconds
        with self._lock:
            room = self._limits.threads + self._limits.waiting
            if self.taken and self.taken + job.cost > room:  # one that finds nobody may be large
                self._refusals.inc()
                raise Overloaded("too many calls are under way")
            self.taken += job.cost
        try:
            future = self._threads.submit(self._work, job, ends)
        except RuntimeError:  # it stops
            self._free(job)
            raise Unreachable("the server is stopping") from None
        future.add_done_callback(lambda _: self._free(job))
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise TooSlow("the deadline passed") from None

    def stop(self) -> None:
        """Begin no more jobs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _free(self, job: Job) -> None:
        with self._lock:
            self.taken -= job.cost

    def _work(self, job: Job, ends: float) -> bytes:
        if self._clock() >= ends:
            raise TooSlow("the deadline passed before the work began")
        return job.run()
