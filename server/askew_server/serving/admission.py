"""Calls of services by any door: admitted to a bounded queue, counted, and ended with a status.

A job takes slots when it is admitted, and frees them when it ends, whether or not anybody still
waits for it: a caller who went away makes no room for more work than there is. Where no slot is
free a call is refused at once, and no job begins after its deadline. Callers never see the text of
an error that is not meant for them, and neither does the log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import grpc

from askew.errors import Overloaded, TooSlow, TransportError, Unreachable, WireError
from askew.wire import status
from askew_server.serving.call import Answer, Caller, Job, QueueName
from askew_server.serving.log import log_event, of_error
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import ServerConfig

# No error is raised for it: what a refusal takes is missing where the work is.
_FULL = status.status_of(Overloaded("too many calls are under way"))

Remaining = Callable[[], float | None]
"""Asked for the seconds until a caller's deadline, None without one: not of calls that are refused,
since asking takes as long as the refusal's own work.
"""


class Admission:
    """One queue's threads and state. A job takes one slot or more while it runs or waits: there are
    as many as the configuration's `threads` and `waiting` together. longest: seconds for a call,
    whatever deadline its caller has. clock: never goes back.
    """

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        observer: Observer,
        longest: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._room, self._longest, self._clock = config.threads + config.waiting, longest, clock
        self._threads = ThreadPoolExecutor(config.threads, name)
        self.taken, self._lock = 0, Lock()  # slots of jobs that run or wait
        self._refusals = observer.refusals.labels(name)
        observer.slots.labels(name).set_function(lambda: self.taken)

    async def run(self, job: Job, remaining: Remaining) -> bytes | None:
        """Return the reply that a job makes in a thread of the queue; count a refusal and return
        None at once where too few slots are free, but for a job that finds the queue empty. It has
        the time until its caller's deadline, and `longest` at most.

        Raises what the job raises, TooSlow for a deadline that passes first, and Unreachable where
        the queue stops.
        """
        with self._lock:
            # One that finds nobody may be large.
            if self.taken and self.taken + job.slots > self._room:
                self._refusals.inc()
                return None
            self.taken += job.slots
        left = remaining()
        seconds = self._longest if left is None else min(left, self._longest)
        try:
            future = self._threads.submit(self._work, job, self._clock() + seconds)
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
        """Begin no more jobs; those that run end, and those that wait are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _free(self, job: Job) -> None:
        with self._lock:
            self.taken -= job.slots

    def _work(self, job: Job, ends: float) -> bytes:
        if self._clock() >= ends:
            raise TooSlow("the deadline passed before the work began")
        return job.run()


class Method:
    """One method of a service, behind the queues that all methods share."""

    def __init__(
        self,
        service: str,
        name: str,
        answer: Answer,
        queues: Mapping[QueueName, Admission],
        observer: Observer,
    ) -> None:
        self.name, self._answer, self._queues = name, answer, queues
        self._done = observer.method(service, name)

    async def reply(
        self, message: bytes | Awaitable[bytes], caller: Caller, remaining: Remaining
    ) -> bytes | tuple[grpc.StatusCode, str]:
        """Return the reply's bytes, or the status and the text of a refusal or a failure, such as
        RESOURCE_EXHAUSTED and "too many calls are under way"; raise nothing but the cancellation of
        a caller who goes away. What is no WireError and no TransportError is logged.
        """
        began, ended = time.monotonic(), "CANCELLED"  # which it stays where the caller goes away
        try:
            if not isinstance(message, bytes):
                message = await message
            answer = self._answer(message, caller)
            if isinstance(answer, bytes):
                reply: bytes | None = answer
            else:
                reply = await self._queues[answer.queue].run(answer, remaining)
            ended = "OK" if reply is not None else _FULL[0].name
            return _FULL if reply is None else reply
        except Exception as error:
            code, text = status.status_of(error)
            ended = code.name
            if not isinstance(error, WireError | TransportError):
                # Without its text, which could hold a request.
                log_event("call_failed", method=self.name, **of_error(error))
            return code, text
        finally:
            self._done(ended, time.monotonic() - began)
