"""The gateway of oblivious HTTP, RFC 9458: requests that a relay brings, sealed to our key.

Who asks is hidden by the relay alone, which must be somebody else's. Behind the seal a request is
the same as a direct one: its queue, limits, errors and counts. The connection that brings it is the
relay's, so limits of one connection spare a relay where `server.proxies` names its address.

    GET  /.well-known/ohttp-gateway       application/ohttp-keys: for makers of apps and settings
    POST /.well-known/ohttp-gateway       message/ohttp-req to message/ohttp-res
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from askew.errors import (
    AccessError,
    NotFound,
    Overloaded,
    ParameterError,
    TransportError,
    WireError,
)
from askew.noise.randomness import RandomBits
from askew.wire.oblivious import MOST_BYTES, GatewayKeys, OpenedRequest, PlainReply, PlainRequest
from askew_server.serving import http_server
from askew_server.serving.bearer import read_private
from askew_server.serving.certificates import mark_of
from askew_server.serving.http_server import Event, Gone, HttpApp, Receive, Scope, Send
from askew_server.serving.limits import Connections

PATH = "/.well-known/ohttp-gateway"
_KEYS, _SEALED, _OPENED = b"application/ohttp-keys", b"message/ohttp-req", b"message/ohttp-res"
_PROBLEM = b"application/problem+json"
_UNKNOWN_KEY = json.dumps(
    {
        "type": "https://iana.org/assignments/http-problem-types#ohttp-key",
        "title": "key identifier unknown",
    }
).encode()
# Headers of a sealed request that mean something here, and of its reply. Nobody checked the others.
_HEARD = {b"authorization", b"content-encoding", b"content-type", b"range"}
_HEARD |= {b"connect-protocol-version", b"connect-timeout-ms"}
_TOLD = {b"content-type", b"content-range"}
_PEM = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n?", re.DOTALL)


def gateway_keys(path: Path) -> GatewayKeys:
    """The keys in a file of mode 0600: PEM, the current one first, then those that devices may
    still have. Raises AccessError.
    """
    private: list[bytes] = []
    try:
        for each in _PEM.findall(read_private(path)):
            key = load_pem_private_key(each, None)
            if not isinstance(key, X25519PrivateKey):
                raise TypeError
            private.append(key.private_bytes_raw())
        return GatewayKeys(private)
    except ParameterError as error:
        raise AccessError(f"{path}: {error}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise AccessError(f"{path} must hold private keys of X25519 in PEM alone") from None


class KeyFile:
    """The keys of a file, read again when it changes. A file that is no use is told to `refused`
    once, and the keys stay what they were. Raises AccessError where it is no use at the start.
    """

    def __init__(self, path: Path, refused: Callable[[str], None]) -> None:
        self._path, self._refused = path, refused
        self._mark = mark_of(path)
        self._keys = gateway_keys(path)

    def keys(self) -> GatewayKeys:
        """Those of the file now. Raises nothing."""
        mark = mark_of(self._path)
        if mark != self._mark:
            self._mark = mark  # taken before reading: what changes meanwhile is read again
            try:
                self._keys = gateway_keys(self._path)
            except AccessError as error:
                self._refused(str(error))
        return self._keys


class Gateway:
    """The HTTP door's application, and in front of it what opens sealed requests.

    connections: those of the server, whose room for unread replies a sealed file takes, too.
    """

    def __init__(
        self, app: HttpApp, file: KeyFile, connections: Connections, bits: RandomBits
    ) -> None:
        self._app, self._file, self._connections, self._bits = app, file, connections, bits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["path"] != PATH:
            await self._app(scope, receive, send)
        elif scope["method"] == "POST":
            await self._forwarded(scope, receive, send)
        elif scope["method"] == "GET":
            kept = ((b"cache-control", b"public, max-age=86400"),)
            keys = http_server.Reply(200, _KEYS, self._file.keys().configurations, kept)
            await http_server.sent(send, keys, ())
        else:
            allowed = (b"allow", b"GET, POST")
            refused = http_server.refused(HTTPStatus.METHOD_NOT_ALLOWED, allowed)
            await http_server.sent(send, refused, (http_server.CLOSE,))

    async def _forwarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            opened = await self._opened(scope, receive)
            request = opened.request
        except Gone:
            return
        except (WireError, TransportError) as error:
            await http_server.sent(send, _refusal(error), (http_server.CLOSE,))
            return
        sealing = _Sealing(lambda reply: self._sealed(send, opened, reply, request))
        inner = {
            **scope,
            "method": request.method.decode("latin-1"),
            "path": request.path.decode("latin-1"),
            "headers": [each for each in request.fields if each[0] in _HEARD],
        }
        await self._app(inner, _first(request.body, receive), sealing.send)

    async def _opened(self, scope: Scope, receive: Receive) -> OpenedRequest:
        headers = dict(scope["headers"])
        message = await self._app.message(headers, receive)
        if headers.get(b"content-type", b"").strip().lower() != _SEALED:
            raise NotFound("media type")
        return self._file.keys().opened(message)

    async def _sealed(
        self, send: Send, opened: OpenedRequest, reply: PlainReply, request: PlainRequest
    ) -> None:
        """Sends a reply, and returns when it is taken. A call's own holds its room meanwhile."""
        held = 0
        sealed = opened.sealed(reply, self._bits)
        if request.method != b"POST":
            try:
                held = self._connections.hold(len(sealed))
            except Overloaded:
                sealed = opened.sealed(PlainReply(HTTPStatus.SERVICE_UNAVAILABLE), self._bits)
        try:
            await http_server.sent(send, http_server.Reply(200, _OPENED, sealed), ())
        finally:
            self._connections.release(held)


class _Sealing:
    """Takes what the application sends, and gives it on when it is whole."""

    def __init__(self, give: Callable[[PlainReply], Awaitable[None]]) -> None:
        self._give = give
        self._reply = PlainReply(HTTPStatus.INTERNAL_SERVER_ERROR)
        self._body = bytearray()
        self._is_too_long = False

    async def send(self, event: Event) -> None:
        """Returns when the last of it is taken, as uvicorn's own does."""
        if event["type"] == "http.response.start":
            told = tuple((name, value) for name, value in event["headers"] if name in _TOLD)
            self._reply = PlainReply(event["status"], told)
            return
        if len(self._body) + len(event["body"]) > _MOST:
            self._is_too_long = True
        else:
            self._body += event["body"]
        if event["more_body"]:
            return
        whole = PlainReply(self._reply.status, self._reply.fields, bytes(self._body))
        too_long = PlainReply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        await self._give(too_long if self._is_too_long else whole)


_MOST = MOST_BYTES // 2  # bytes of a body


def _first(body: bytes, receive: Receive) -> Receive:
    """A message that is here already, and then what else comes of the connection."""
    left = [body]

    async def received() -> Event:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return received


def _refusal(error: WireError | TransportError) -> http_server.Reply:
    """What is said before a request is open: in the open, so little."""
    match error:
        case NotFound(what="key"):
            return http_server.Reply(HTTPStatus.BAD_REQUEST, _PROBLEM, _UNKNOWN_KEY)
        case NotFound():
            return http_server.refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        case Overloaded():
            return http_server.refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        case TransportError():
            return http_server.refused(HTTPStatus.REQUEST_TIMEOUT)
    return http_server.refused(HTTPStatus.BAD_REQUEST)
