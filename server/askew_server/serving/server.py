"""A server as one process with one event loop: its doors, its queues and its timers."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

import grpc.aio
from prometheus_client import start_http_server

from askew.errors import ParameterError
from askew_server.serving.admission import Admission, Method
from askew_server.serving.call import QueueName, Service
from askew_server.serving.certificates import Certificates
from askew_server.serving.grpc_door import Health, grpc_server
from askew_server.serving.http_door import HttpDoor, http_app
from askew_server.serving.log import log_event
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import ServerConfig, second_ports

_EVERY = 5.0  # seconds between two looks at files
_OF_HTTP = " (HTTP has the port after that of gRPC)"
_WITH_PARENT = "ASKEW_WITH_PARENT"  # set, the server stops when its standard input closes

Beside = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""What runs beside the services until the server stops; SIGHUP sets the event that it is given."""


@dataclass(frozen=True)
class Running:
    """A server that answers. look: what a timer does."""

    port: int
    http_port: int | None
    look: Callable[[], Coroutine[None, None, None]]


async def serve(
    services: Sequence[Service],
    config: ServerConfig,
    announce: Callable[[int, int | None], None],
    *,
    beside: Beside | None = None,
    observer: Observer | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until standard input closes where the environment has
    ASKEW_WITH_PARENT: when whoever started the server ends. Calls under way end within `grace`.

    announce(port, that of HTTP or None) is called once, when the server answers. SIGHUP wakes what
    runs beside, and ends nothing where nothing does. Raises OSError for a taken port, AccessError
    for a certificate that is no use.
    """
    observer = observer if observer is not None else Observer()
    # A job asks for the interpreter's lock after each product of numpy, and may wait so long for it
    # beside a loop that refuses calls; and so may the loop beside a job. By default it is 5 ms.
    sys.setswitchinterval(0.001)
    stop, wake = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, wake.set)
    with published(config.metrics_host, config.metrics_port, observer) as numbers:
        async with running(services, config, observer) as server:

            async def look() -> None:
                while True:
                    await asyncio.sleep(_EVERY)
                    await server.look()

            beside_it = [look()] if beside is None else [look(), beside(wake)]
            tasks = [loop.create_task(each) for each in beside_it]
            announce(server.port, server.http_port)
            log_event("ready", port=server.port, http_port=server.http_port, metrics_port=numbers)
            if os.environ.get(_WITH_PARENT):
                await _stop_when_input_closes(stop)
            await stop.wait()
            log_event("stopping")
            for task in tasks:
                task.cancel()
    log_event("stopped")


@asynccontextmanager
async def running(
    services: Sequence[Service],
    config: ServerConfig,
    observer: Observer | None = None,
) -> AsyncIterator[Running]:
    """Answer at both doors while the body of an `async with` runs; yield a Running: `port`,
    `http_port`, None without HTTP, and `look`, which a timer calls; at the end turn new calls away,
    and finish those under way within the seconds of `grace`.

    Raises OSError, which says why a port is none, and AccessError for a certificate that is no use.
    """
    observer = observer if observer is not None else Observer()
    certificates = None
    if config.tls_certificate is not None and config.tls_key is not None:
        certificates = Certificates(
            config.tls_certificate, config.tls_key, observer.certificates_refused
        )
        observer.shows_certificate(lambda: certificates.days_left if certificates else 0.0)
    queues = {
        QueueName.ANSWERS: Admission("answers", config, observer),
        # One count at a time: who waits for one must not take the threads of everybody's answers.
        QueueName.ANALYSTS: Admission("analysts", config, observer, longest=3600.0),
    }
    methods = {
        service.name: {
            name: Method(service.name, name, answer, queues, observer)
            for name, answer in service.methods.items()
        }
        for service in services
    }
    app = http_app(services, methods, config, observer) if config.http else None
    health = Health(services, observer)
    server = grpc_server(methods, health)
    try:
        port, bound = _listening(server, config, certificates)
    except BaseException:
        # gRPC 1.85 corrupts memory where a server ends that never started.
        await server.start()
        await server.stop(None)
        raise
    http = None
    await server.start()
    if app is not None and bound is not None:
        http = HttpDoor(app, bound, certificates, config.grace)
        await http.start()
    await health.look()

    async def look() -> None:
        await health.look()
        if certificates is not None and certificates.look() and http is not None:
            http.renew()

    try:
        yield Running(port, None if http is None else http.port, look)
    finally:
        await health.stop()
        await asyncio.gather(server.stop(config.grace), *([] if http is None else [http.stop()]))
        for queue in queues.values():
            queue.stop()


def _listening(
    server: grpc.aio.Server, config: ServerConfig, certificates: Certificates | None
) -> tuple[int, socket.socket | None]:
    # HTTP has the port after that of gRPC: where any will do, two that follow each other.
    taken: OSError | None = None
    for number in second_ports(config.port):
        bound = None
        try:
            if config.port:  # the port that was typed is named first
                bound_socket(config.host, config.port).close()
            if config.http:
                bound = bound_socket(config.host, number, _OF_HTTP if config.port else "")
            port = config.port if bound is None else bound.getsockname()[1] - 1
            address = f"[{config.host}]:{port}" if ":" in config.host else f"{config.host}:{port}"
            with suppress(RuntimeError):
                if certificates is None:
                    return server.add_insecure_port(address), bound
                return server.add_secure_port(address, certificates.credentials()), bound
            bound_socket(config.host, port).close()  # gRPC does not say why not
            raise OSError(f"cannot listen on {address}: gRPC refuses this address")
        except OSError as error:
            taken = error
            if bound is not None:
                bound.close()
            elif not config.port:  # any would have done, so it is the host
                break
    raise taken or AssertionError


@contextmanager
def published(host: str, port: int | None, observer: Observer) -> Iterator[int | None]:
    """Serve /metrics from a thread of its own while the body of a `with` runs; yield the port, or
    None where none is asked for. port: 0 takes a free one.

    There is no TLS and no password: see who can reach the address. Raises OSError.
    """
    if port is None:
        yield None
        return
    try:
        server, thread = start_http_server(port, host, observer.registry)
    except (OSError, UnicodeError) as error:
        why = why_not(error, "--metrics-port")
        raise OSError(f"cannot listen on {host}:{port} for numbers: {why}") from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def bound_socket(host: str, port: int, note: str = "") -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one. note: put behind the
    error's text, of a port that nobody typed.

    Raises OSError, which says why not and what to do.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(place)
            bound.listen()  # or another could bind it too
        except OSError:
            bound.close()
            raise
    except (OSError, UnicodeError) as error:
        raise OSError(f"cannot listen on {host}:{port}: {why_not(error)}{note}") from None
    return bound


def why_not(error: OSError | UnicodeError, flag: str = "--port") -> str:
    """Return in words why nothing can listen at an address, and what to do: "the port is taken by
    another program; --port names another", with `flag`.
    """
    if isinstance(error, socket.gaierror | UnicodeError):
        return "this machine knows no such host"
    words = {
        errno.EADDRINUSE: f"the port is taken by another program; {flag} names another",
        errno.EADDRNOTAVAIL: "this machine has no such address",
        errno.EACCES: f"a low port needs a privilege; {flag} names another",
    }
    return words.get(error.errno or 0) or os.strerror(error.errno or 0).lower()


def tell(line: str) -> None:
    """Print a line on standard output if it is a terminal, or ASKEW_WITH_PARENT is set; else
    nothing: nothing but the log is said, which is JSON from its first line on.
    """
    with suppress(OSError, ValueError, AttributeError):  # there may be nobody
        if sys.stdout.isatty() or os.environ.get(_WITH_PARENT):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


async def _stop_when_input_closes(stop: asyncio.Event) -> None:

    class Watch(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:  # however the parent ends
            stop.set()

    try:
        await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)
    except ValueError:
        raise ParameterError(_WITH_PARENT, "this standard input", "used with a pipe") from None
