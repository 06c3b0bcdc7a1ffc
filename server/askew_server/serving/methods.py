"""Calls of services by any door: admitted, counted, and ended with a status of the one table.

Callers never see the text of an error that is not meant for them, and neither does the log.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence

import grpc

from askew.errors import TransportError, WireError
from askew.wire import status
from askew_server.serving.admission import Admission
from askew_server.serving.call import Answer, Caller, Job, QueueName, Service
from askew_server.serving.metrics import Observer


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
        self._observer, self._done = observer, observer.method(service, name)

    async def reply(
        self, message: bytes | Awaitable[bytes], caller: Caller, remaining: float | None
    ) -> bytes | tuple[grpc.StatusCode, str]:
        """Return the reply, or the status and the text of a refusal or a failure. remaining:
        seconds until the caller's deadline.
        """
        began, ended = time.monotonic(), "CANCELLED"  # which it stays where the caller goes away
        try:
            if not isinstance(message, bytes):
                message = await message
            reply = self._answer(message, caller)
            if isinstance(reply, Job):
                reply = await self._queues[reply.queue].run(reply, remaining)
            ended = "OK"
            return reply
        except Exception as error:
            code, text = status.status_of(error)
            ended = code.name
            if not isinstance(error, WireError | TransportError):
                self._observer.failed(self.name, error)
            return code, text
        finally:
            self._done(ended, time.monotonic() - began)


def methods_of(
    services: Sequence[Service], queues: Mapping[QueueName, Admission], observer: Observer
) -> Mapping[str, Mapping[str, Method]]:
    """Return the methods by the names of their services and their own."""
    return {
        service.name: {
            name: Method(service.name, name, answer, queues, observer)
            for name, answer in service.methods.items()
        }
        for service in services
    }
