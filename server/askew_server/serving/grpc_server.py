"""Askew's services over gRPC on a port, with health checks. Callers never see the text of an error.

Handlers take raw bytes, because gRPC would tell the caller the error text of a message that it
could not parse. Nothing of a request is ever logged.

The health service is our own for two reasons. gRPC's sends the text of whatever is raised, by a
parser too. And it writes to one watcher under the lock that the next change needs, so a watcher
that reads nothing would hold up all others, and the stop. States are kept, not made when somebody
asks: a check never waits for a disk.
"""

from __future__ import annotations

import asyncio
import ctypes
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from askew.errors import Malformed, TooSlow, TransportError, WireError
from askew.wire import status
from askew.wire.messages import parse
from askew_server.serving.call import Answer, Job, QueueName, Service
from askew_server.serving.certificates import Certificates, credentials_of
from askew_server.serving.limits import Admission, Connections, options_of, why_not
from askew_server.serving.observer import MethodCounts, Observer
from askew_server.serving.settings import ServerConfig, second_ports

if TYPE_CHECKING:
    from askew_server.serving.http_sockets import HttpDoor

Context = grpc.aio.ServicerContext[bytes, bytes]
_CANCELLED: int = grpc.StatusCode.CANCELLED.value[0]
Handler = Callable[[object, Context], Awaitable[bytes]]


class RunningServer:
    """Services and health checks on one port."""

    def __init__(
        self,
        services: Sequence[Service],
        config: ServerConfig,
        observer: Observer | None = None,
    ) -> None:
        """Binds the port. Raises OSError, which says why not, as when it is taken, and AccessError
        for a certificate or a key that is no use.
        """
        self._config = config
        self._observer = observer if observer is not None else Observer()
        self.admissions: Mapping[QueueName, Admission] = {
            QueueName.ANSWERS: Admission(QueueName.ANSWERS, config.answers, time.monotonic),
            QueueName.ANALYSTS: Admission(QueueName.ANALYSTS, config.analysts, time.monotonic),
        }
        self._observer.queues = {str(queue): each for queue, each in self.admissions.items()}
        limits = config.limits
        self.connections = Connections(limits.calls, config.proxies, limits.unread_bytes)
        self._observer.callers = lambda: self.connections.peers
        certificates = self._certificates()  # first: gRPC's server must not end without a start
        door: Callable[[socket.socket], HttpDoor] | None = None
        if config.http is not None:
            from askew_server.serving.http_server import HttpApp
            from askew_server.serving.http_sockets import HttpDoor

            app = HttpApp(services, config, self._observer, self.admissions, self.connections)
            door = partial(HttpDoor, app, config, certificates)
        credentials = None if certificates is None else credentials_of(certificates)
        self._server = grpc.aio.server(options=options_of(config))
        self._server.add_generic_rpc_handlers([self._handlers(each) for each in services])
        self.health = Health(services, self._observer)
        self.health.told.answer_on(self._server)
        try:
            self.port, bound = self._bound(credentials)
            self.http = None if door is None or bound is None else door(bound)
        except BaseException:
            # gRPC 1.85 corrupts memory where a server ends that never started, at the end of the
            # interpreter, too: nothing may take this one to pieces, and the process keeps it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
            raise

    async def start(self) -> None:
        """Serve, and say so to health checks."""
        await self._server.start()
        if self.http is not None:
            self.http.start()
        await self.health.ready()

    async def stop(self, grace: float | None = None) -> None:
        """Turn new calls away, finish those under way within `grace` seconds."""
        grace = self._config.grace if grace is None else grace
        self.health.stop()
        doors = [self._server.stop(grace)]
        if self.http is not None:
            doors.append(self.http.stop(grace))
        await asyncio.gather(*doors)
        for admission in self.admissions.values():
            admission.stop()

    def _bound(
        self, credentials: grpc.ServerCredentials | None
    ) -> tuple[int, socket.socket | None]:
        """The port of gRPC, and for HTTP, if it has a door, a socket on the next one. Where any
        port will do, two that follow each other. Raises OSError, which says why not.
        """
        config = self._config
        if config.http is None:
            return self._added(config.port, credentials), None
        from askew_server.serving.http_sockets import bound_socket

        taken: OSError | None = None
        for number in second_ports(config.port):
            try:
                bound = bound_socket(config.host, number)
            except OSError as error:
                if not number:  # any would have done, so it is the host
                    raise
                taken = error
                continue
            try:
                return self._added(bound.getsockname()[1] - 1, credentials), bound
            except OSError as error:
                bound.close()
                taken = error
        raise taken or AssertionError

    def _added(self, port: int, credentials: grpc.ServerCredentials | None) -> int:
        """A port on which gRPC listens. Raises OSError."""
        address = replace(self._config, port=port, http=None).address
        try:
            if credentials is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, credentials)
        except RuntimeError:
            raise OSError(f"cannot listen on {address}: {_why_not(address)}") from None

    def _certificates(self) -> Certificates | None:
        """What ports are opened with; None for plain text. Raises AccessError."""
        if self._config.tls is None:
            return None
        certificates = Certificates(self._config.tls, self._observer.certificates_refused)
        self._observer.certificate_days = lambda: certificates.days_left
        return certificates

    def _handlers(self, service: Service) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            # To gRPC a stream of one message: so a call is known before its message is here.
            name: grpc.stream_unary_rpc_method_handler(
                self._guarded(answer, self._observer.method(service.name, name))
            )
            for name, answer in service.methods.items()
        }
        return grpc.method_handlers_generic_handler(service.name, methods)

    def _guarded(self, answer: Answer, counts: MethodCounts) -> Handler:
        """A handler that turns every failure into a status of the one table."""
        clock, failed = time.monotonic, self._observer.failed

        async def handle(_: object, context: Context) -> bytes:
            began, ended = clock(), _CANCELLED  # which it stays where the caller goes away
            try:
                reply = await self._replied(answer, context)
                ended = 0
                return reply
            except Exception as error:
                code, text = status.status_of(error)
                ended = code.value[0]
                if not isinstance(error, WireError | TransportError):
                    failed(counts, error)
                await context.abort(code, text)
            finally:
                counts.done(ended, clock() - began)

        return handle

    async def _replied(self, answer: Answer, context: Context) -> bytes:
        """The reply to a call, within what its connection and its queue may take."""
        call = _Call(self.connections, context.peer())
        context.add_done_callback(call.over)  # type: ignore[arg-type]  # its type is a class
        reply = answer(await self._message(context), _GrpcCaller(context))
        if isinstance(reply, Job):
            reply = await self.admissions[reply.queue].run(reply, context.time_remaining())
        call.hold(len(reply))
        return reply

    async def _message(self, context: Context) -> bytes:
        """The message of a call. Raises TooSlow for one that does not come, Malformed for none."""
        try:
            async with asyncio.timeout(self._config.limits.message):
                message = await context.read()
        except TimeoutError:
            raise TooSlow("the message did not come") from None
        if not isinstance(message, bytes):
            raise Malformed("a call without a message")
        return message


class _Call:
    """What a call holds of its connection's share, given back once, when all of it is over."""

    __slots__ = ("_connections", "_held", "_peer")

    def __init__(self, connections: Connections, peer: str) -> None:
        """Raises Overloaded."""
        connections.enter(peer)
        self._connections, self._peer, self._held = connections, peer, 0

    def hold(self, size: int) -> None:
        """A reply of so many bytes is to be read. Raises Overloaded."""
        self._held = self._connections.hold(size)

    def over(self, _: Context) -> None:
        """The reply is taken, or nobody takes it any more."""
        self._connections.leave(self._peer, self._held)


class _GrpcCaller:
    """What gRPC tells of a caller. Implements Caller."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def authorization(self) -> Sequence[str]:
        """The values of its authorization headers."""
        metadata = self._context.invocation_metadata() or ()
        return [str(value) for name, value in metadata if name == "authorization"]


def _why_not(address: str) -> str:
    """What gRPC does not say: found out by trying to listen there once more."""
    host, _, port = address.rpartition(":")
    try:
        places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(place)
    except (OSError, UnicodeError) as error:
        return why_not(error)
    return "gRPC refuses this address"


State = health_pb2.HealthCheckResponse.ServingStatus
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
    return str(parse(health_pb2.HealthCheckRequest(), request).service)


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
LIVE = "live"
"""The name under which somebody asks whether the event loop answers, whatever it can serve."""


@runtime_checkable
class SelfChecking(Protocol):
    """A service that may become unable to answer while it runs, as when its file is gone."""

    def check(self) -> None:
        """Raises what makes it unable to answer, if anything does. May read files."""


class Health:
    """The state of each service: none answers before the server does, nor while it stops."""

    def __init__(self, services: Sequence[Service], observer: Observer) -> None:
        self.told = QuietHealth()
        self._observer = observer
        self._checked = {each.name: each for each in services if isinstance(each, SelfChecking)}
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
                self._observer.log.log_event("health_changed", service=name, serving=good)
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
        told = {n: State.SERVING if good else State.NOT_SERVING for n, good in states.items()}
        self.told.tell(told | {LIVE: State.SERVING})
