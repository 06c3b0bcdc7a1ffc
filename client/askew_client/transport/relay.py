"""A way to a server by a relay: oblivious HTTP, RFC 9458. The relay learns who asks and when, the
server what is asked, and neither learns both, while they do not tell each other.

Every call is sealed to the server's key, and padded. Calls, files and cards all go this way, so
that the server sees no address of a device. The key stands in the settings beside the relay's
address. It is never fetched: a server could give each device a key of its own, and know the device
by it. A key that is refused is an error, and the person gets another one from where everybody does.

Nothing is sent twice by itself: who asks again seals anew.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
from contextlib import suppress
from types import TracebackType
from typing import Self

import grpc

from askew.catalog.catalog_file import Part
from askew.errors import (
    Malformed,
    OtherKind,
    Overloaded,
    ServerFailed,
    StaleSpace,
    TooSlow,
    Unreachable,
)
from askew.noise.randomness import RandomBits
from askew.wire import status
from askew.wire.oblivious import MOST_BYTES, Fields, KeyConfiguration, PlainReply, PlainRequest
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.catalog.https import as_ours, trusted
from askew_client.catalog.source import name_of
from askew_client.settings.paths import RelayAddress, StaticHost
from askew_client.transport.calls import METRIC_CARD

_SERVICE = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name
_CALL: Fields = ((b"content-type", b"application/proto"),)
_HEADERS = {"Content-Type": "message/ohttp-req", "User-Agent": "askew"}  # the same for all
_SLOWEST = 1 << 13  # bytes a second, below which a file is given up
_PIECE = 1 << 18  # the most bytes of a file that one sealed reply brings
_NO_KEY = b"#ohttp-key"  # how the type of the RFC's problem ends


class RelayTransport:
    """A way to `server` ("host:port") by the relay of the settings. Implements Transport and
    CatalogSource; a connection begins with the first call after it is entered.

    timeout: seconds for one call. bits: for ephemeral keys. authority: a file of certificates in
    PEM, trusted in place of the public authorities as the relay's. Raises ParameterError.
    """

    def __init__(
        self, relay: str, server: str, timeout: float, bits: RandomBits, authority: str = ""
    ) -> None:
        found = RelayAddress.of(relay)
        self._host, self._key = found.host, KeyConfiguration.first_of(found.key)
        self._server, self._timeout, self._bits = server, timeout, bits
        self._trust = trusted(authority) if authority else None
        self._line: _Line | None = None

    async def __aenter__(self) -> Self:
        self._line = self._new_line()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()

    async def call(self, method: str, request: bytes) -> bytes:
        """The reply to one call."""
        path = f"/{_SERVICE}/{method}".encode()
        reply = await self._reply(b"POST", path, _CALL, request)
        if reply.status == 200:
            return reply.body
        raise status.error_of(_code_of(reply.body), self._server)

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        """Return a part of what the server lets devices hold, by as many calls as it takes."""
        found, end = b"", start + size
        while start < end:
            piece = await self._piece(catalog_date, part, start, min(end, start + _PIECE) - 1)
            found, start = found + piece, start + len(piece)
            if not piece:
                break
        return found

    async def _piece(self, catalog_date: int, part: Part, start: int, last: int) -> bytes:
        path = f"/catalog/{name_of(catalog_date, part)}".encode()
        wanted: Fields = ((b"range", b"bytes=%d-%d" % (start, last)),)
        reply = await self._reply(b"GET", path, wanted, b"")
        match reply.status:
            case http.client.NOT_FOUND:
                raise OtherKind("this server has no items for devices to hold", places=True)
            case http.client.CONFLICT:
                raise StaleSpace
            case http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                return b""
            case http.client.SERVICE_UNAVAILABLE:
                raise Overloaded("the server is too busy")
            case http.client.PARTIAL_CONTENT if len(reply.body) <= last + 1 - start:
                says = dict(reply.fields).get(b"content-range", b"")
                if says.startswith(b"bytes %d-" % start):
                    return reply.body
        raise Malformed("the server sends something else than the part of the file")

    async def check_health(self) -> None:
        """Raises a TransportError for a server that does not answer by the relay."""
        await self.call("GetModelCard", METRIC_CARD)

    def _new_line(self) -> _Line:
        return _Line(self._host, self._trust, self._timeout)

    async def _reply(self, method: bytes, path: bytes, fields: Fields, body: bytes) -> PlainReply:
        if self._line is None:
            async with self:
                return await self._reply(method, path, fields, body)
        request = PlainRequest(method, path, self._server.encode(), fields, body)
        sealed = self._key.sealed(request, self._bits)
        extra = _PIECE / _SLOWEST if method == b"GET" else 0.0
        line = self._line
        try:
            posting = asyncio.to_thread(line.posted, sealed.data)
            return sealed.opened(await asyncio.wait_for(posting, self._timeout + extra))
        except asyncio.CancelledError:
            line.close()
            raise
        except Exception as error:
            line.close()  # which ends the thread too, where it still reads
            self._line = self._new_line()
            if isinstance(error, TimeoutError):
                raise TooSlow(f"{self._server} did not answer by the relay in time") from None
            raise as_ours(error, f"the relay {self._host.host}") from None


class _Line:
    """A connection to a relay, opened when it is first used. It blocks, in a thread; `close` may be
    called from another one.
    """

    def __init__(self, host: StaticHost, trust: ssl.SSLContext | None, timeout: float) -> None:
        self._host, self._trust, self._timeout = host, trust, timeout
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._closed = False

    def posted(self, data: bytes) -> bytes:
        """What a relay brings for a sealed request. Raises WireError, TransportError, OSError,
        HTTPException.
        """
        if self._connection is None or self._connection.sock is None:  # the relay hung up
            self._connection = self._connected()
        self._connection.request("POST", self._host.path or "/", data, _HEADERS)
        response = self._connection.getresponse()
        body = response.read(MOST_BYTES)  # the seal of a longer one is cut off
        _check(response.status, body)
        return body

    def close(self) -> None:
        """End the connection."""
        self._closed = True
        if self._socket is not None:
            with suppress(OSError):  # past a TLS socket's own, which a reading thread may be in
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            self._socket.close()
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        name, port = self._host.host, self._host.port
        self._socket = plain = socket.create_connection((name, port), self._timeout)
        connection = http.client.HTTPConnection(name, port)
        connection.auto_open = 0
        if self._host.scheme == "https":
            context = self._trust or ssl.create_default_context()
            self._socket = context.wrap_socket(
                plain, server_hostname=name, do_handshake_on_connect=False
            )
            self._socket.do_handshake()
            connection = http.client.HTTPSConnection(name, port, context=context)
            connection.auto_open = 0
        if self._closed:  # nobody waits any more
            self.close()
            raise Unreachable(f"the connection to {name} was given up")
        connection.sock = self._socket
        return connection


def _check(code: int, body: bytes) -> None:
    """Raises what a status other than 200 says, of the relay or of the gateway in the open."""
    if code == http.client.OK:
        return
    if code == http.client.BAD_REQUEST and _NO_KEY in body:
        raise Malformed(
            "the server has no more the key that the setting `relay` names: get a new setting from "
            "where you had this one"
        )
    if 300 <= code < 400:
        raise Malformed("the relay sends devices elsewhere, which is not followed")
    if code in {http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE}:
        raise Overloaded("the relay, or the server behind it, is too busy")
    raise ServerFailed(f"the relay answers with {code}")


def _code_of(refusal: bytes) -> grpc.StatusCode:
    """The code of an error, as Connect writes it."""
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        name = json.loads(refusal)["code"]
        return grpc.StatusCode.CANCELLED if name == "canceled" else grpc.StatusCode[name.upper()]
    return grpc.StatusCode.UNKNOWN
