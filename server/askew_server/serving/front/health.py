"""Whether each service can answer now, for gRPC's health checks and for whoever else asks.

A state is kept, not made when it is asked for: a check never waits for a disk, however many ask.

gRPC's health service, which tells a caller no more of a failure than ours do.

gRPC's own would send the text of whatever is raised, by a parser too. It also writes to one watcher
under the lock that the next change needs, so one who reads nothing would hold up all others, and
the stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import grpc.aio
from grpc_health.v1 import health_pb2

from askew.wire import convert, status
from askew_server.serving.observing.observer import Observer
from askew_server.serving.services.call import Service

State = health_pb2.HealthCheckResponse.ServingStatus
Context = grpc.aio.ServicerContext[bytes, bytes]
_SERVICE: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


class QuietHealth:
    """The states of services by name, asked for once or watched. For one thread."""

    def __init__(self) -> None:
        self._states: Mapping[str, int] = {}
        self._changed = asyncio.Event()  # of these states; the next ones have one of their own

    def tell(self, states: Mapping[str, int]) -> None:
        """What each service is from now on."""
        changed, self._changed = self._changed, asyncio.Event()
        self._states = states
        changed.set()

    def answer_on(self, server: grpc.aio.Server) -> None:
        """As registered methods, which wait in a line of their own: no others crowd them out."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Check": grpc.unary_unary_rpc_method_handler(self.check),
            "Watch": grpc.unary_stream_rpc_method_handler(self.watch),
        }
        server.add_registered_method_handlers(_SERVICE, methods)

    async def check(self, request: bytes, context: Context) -> bytes | None:
        """The state now."""
        return await _quiet(self._checked(request, context), context)

    async def watch(self, request: bytes, context: Context) -> None:
        """The state now, and whenever it changes."""
        await _quiet(self._watched(request, context), context)

    async def _checked(self, request: bytes, context: Context) -> bytes:
        name = _name(request)
        if name not in self._states:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return _reply(self._states[name])

    async def _watched(self, request: bytes, context: Context) -> None:
        name = _name(request)
        told: int | None = None
        while True:
            changed, state = self._changed, self._states.get(name, State.SERVICE_UNKNOWN)
            if state != told:
                await context.write(_reply(state))
            told = state
            await changed.wait()


def _name(request: bytes) -> str:
    return str(convert.parse(health_pb2.HealthCheckRequest(), request).service)


def _reply(state: int) -> bytes:
    return bytes(health_pb2.HealthCheckResponse(status=state).SerializeToString())


async def _quiet(answer: Awaitable[bytes | None], context: Context) -> bytes | None:
    try:
        return await answer
    except grpc.aio.AbortError:
        raise  # what it says on purpose
    except Exception as error:
        await context.abort(*status.status_of(error))


ALL = ""
"""The name under which gRPC asks for a server as a whole."""


@runtime_checkable
class Checked(Protocol):
    """A service that may become unable to answer while it runs, as when its file is gone."""

    def check(self) -> None:
        """Raises what makes it unable to answer, if anything does. May read files."""


class Health:
    """The state of each service: none answers before the server does, nor while it stops."""

    def __init__(self, services: Sequence[Service], observer: Observer) -> None:
        self.told = QuietHealth()
        self._observer = observer
        self._checked = {each.name: each for each in services if isinstance(each, Checked)}
        self._serving = {each.name: False for each in services}
        self._stopping = False
        observer.healths = lambda: self._serving
        self._publish()

    async def ready(self) -> None:
        """The server answers: look at what each service needs, and say so."""
        self._serving = {name: await self._is_good(name) for name in self._serving}
        self._publish()

    async def look(self) -> None:
        """Tells what has changed since the last look. To be called every few seconds."""
        for name in self._checked:
            good = await self._is_good(name)
            if good != self._serving[name] and not self._stopping:
                self._serving[name] = good
                self._observer.log.tell("health_changed", service=name, serving=good)
                self._publish()

    def stop(self) -> None:
        """Nothing is serving any more, whatever is found later."""
        self._stopping = True
        self._serving = dict.fromkeys(self._serving, False)
        self._publish()

    async def _is_good(self, name: str) -> bool:
        service = self._checked.get(name)
        if service is not None:
            try:
                await asyncio.to_thread(service.check)
            except Exception:  # whatever it is: it cannot answer
                return False
        return True

    def _publish(self) -> None:
        states = {**self._serving, ALL: all(self._serving.values())}
        self.told.tell(
            {name: State.SERVING if good else State.NOT_SERVING for name, good in states.items()}
        )
