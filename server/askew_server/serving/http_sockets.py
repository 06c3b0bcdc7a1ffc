"""Connections of the HTTP door: accepted within limits, and given to uvicorn's protocol.

uvicorn bounds neither how slowly headers come, nor how many follow a message, nor how long a reply
stays unread, nor how many requests wait in a line on one connection. Each of these would let a
caller keep a connection, and memory, for as long as it likes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from askew_server.serving.certificates import Certificates, ServerIdentity
from askew_server.serving.http_server import Application
from askew_server.serving.limits import METADATA_BYTES, peer_name, why_not
from askew_server.serving.settings import ServerConfig

_KEPT = 15  # seconds that a connection waits for another request
_LINE = 4096  # connections that the system holds until they are accepted
_AROUND = 1 << 17  # bytes that come with a message: frames of its pieces, and what follows them
_PAUSE = 0.25  # seconds without a new connection, where there is no descriptor for one


class _Refused(Exception):
    """What came is not answered."""


class HttpConnection(HttpToolsProtocol):
    """A connection that must send its headers in time, one request after the other, and take what
    it is sent.
    """

    def __init__(self, config: Config, state: ServerState, head: float, unread: float) -> None:
        """head: seconds for headers; unread: seconds in which something must be taken."""
        super().__init__(config, state, {})
        self.access_log = False
        self._seconds, self._unread_seconds = head, unread
        self._head = 0  # bytes since the last head or message ended, but those of a message
        self._until: asyncio.TimerHandle | None = None  # headers have to be here
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Its time begins."""
        super().connection_made(transport)
        # So that `pause_writing` says what is unread. To TLS a limit of 0 is always reached.
        transport.set_write_buffer_limits(1, 0)
        self.app_state["peer"] = peer_name(transport.get_extra_info("socket"))
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        for each in (self._until, self._unread):
            if each is not None:
                each.cancel()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if self.parser is None or self.transport.is_closing():
            return
        waits = self.cycle is None or self.cycle.response_complete
        self._head += len(data)
        if waits and self._until is None:
            self._expect()
        super().data_received(data)
        if self._head > (_AROUND if self._until is None else METADATA_BYTES):
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """A request begins."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            raise _Refused
        if self._until is not None:
            self._until.cancel()
        self._until, self._head = None, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a message, whose size the application bounds."""
        if not self.cycle.response_complete:
            self._head -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A message has ended."""
        self._head = 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Something is unread."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Nothing is."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
        self._unread = None

    def _expect(self) -> None:
        self._until = self.loop.call_later(self._seconds, self.transport.abort)


class HttpDoor:
    """Answers by an application on a socket that is bound. certificates: None speaks plain text."""

    def __init__(
        self,
        app: Application,
        config: ServerConfig,
        certificates: Certificates | None,
        bound: socket.socket,
    ) -> None:
        self.app = app
        self._limits = config.limits
        self._contexts = None if certificates is None else _Contexts(certificates)
        self._config = Config(
            app,
            http=HttpConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEPT,
        )
        self._config.load()
        self.state = ServerState()
        self._opening: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None
        self._socket = bound
        self.port: int = bound.getsockname()[1]

    def start(self) -> None:
        """Answer from now on."""
        self._socket.listen(_LINE)
        self._accepting = asyncio.create_task(self._accept())

    async def stop(self, grace: float) -> None:
        """Take no more connections, and finish what is under way within `grace` seconds."""
        if self._accepting is not None:
            self._accepting.cancel()
        self._socket.close()
        for each in list(self._opening):
            each.cancel()
        for connection in list(self.state.connections):
            connection.shutdown()
        if self.state.tasks:
            await asyncio.wait(self.state.tasks, timeout=grace)
        for connection in list(self.state.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._socket)
            except OSError:  # it went away meanwhile, or there is no descriptor
                await asyncio.sleep(_PAUSE)
                continue
            if len(self._opening) + len(self.state.connections) >= self._limits.connections:
                connection.close()
                continue
            task = loop.create_task(self._open(connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        """Gives it to the protocol, after a handshake where TLS is spoken."""
        limits = self._limits

        def made() -> HttpConnection:
            return HttpConnection(self._config, self.state, limits.handshake, limits.age_grace)

        options: dict[str, Any] = {}
        if self._contexts is not None:
            options = {
                "ssl": self._contexts.context,
                "ssl_handshake_timeout": limits.handshake,
                "ssl_shutdown_timeout": limits.handshake,
            }
        with suppress(OSError):  # no TLS, or none in time
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(made, connection, **options)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound. Raises OSError."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(place)
        except OSError:
            bound.close()
            raise
    except (OSError, UnicodeError) as error:
        raise OSError(f"cannot listen on {host}:{port}: {why_not(error)}") from None
    return bound


class _Contexts:
    """What handshakes are made with: another one when certificates change."""

    def __init__(self, certificates: Certificates) -> None:
        self._certificates, self._shown = certificates, certificates.identity
        self.context = self._current = _context_of(self._shown)
        self.context.sni_callback = self._renew

    def _renew(self, connection: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        """At a handshake. ssl calls it whether or not the caller names a host."""
        self._certificates.renewed()
        found = self._certificates.identity
        if found is not self._shown:
            self._shown, self._current = found, _context_of(found)
        connection.context = self._current


def _context_of(identity: ServerIdentity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # ssl reads files alone: these lie in memory, so that they are those that were checked.
    with _in_memory(identity.chain) as chain, _in_memory(identity.key) as key:
        context.load_cert_chain(chain, key)
    if identity.client_authority is not None:
        context.load_verify_locations(cadata=identity.client_authority.decode("ascii"))
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """The path of a file that no disk holds."""
    handle = os.memfd_create("askew")
    try:
        os.write(handle, data)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
