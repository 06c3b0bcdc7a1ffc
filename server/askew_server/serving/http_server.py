"""The same services over plain HTTP, for callers without gRPC: a web page, a phone, curl.

A call is a POST of its message, as the Connect protocol has it for unary calls:

    POST /askew.wire.v1.Retrieval/Retrieve       content-type: application/proto
    200, the reply's bytes; or an error's status, with {"code": ..., "message": ...}

Queues, limits of a connection, the table of errors and the counts are those of gRPC. Files are read
by GET: what devices hold at /catalog/2026-11-23.whole, and with `web` the page at /.

uvicorn carries it, on sockets that `http_sockets` accepts. A page cannot close a connection, so the
door does after each of its requests: while a page ranks in private, none is open.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, field
from datetime import date
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol, runtime_checkable

import grpc

from askew.errors import (
    AccessError,
    Malformed,
    Overloaded,
    StaleSpace,
    TooSlow,
    TransportError,
    WireError,
)
from askew.wire import status
from askew_server.serving.call import Answer, Job, QueueName, Service
from askew_server.serving.limits import Admission, Connections
from askew_server.serving.observer import MethodCounts, Observer
from askew_server.serving.settings import ServerConfig

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Mapping[bytes, bytes]

_PROTO, _JSON, _TEXT = b"application/proto", b"application/json", b"text/plain; charset=utf-8"
_CODE = grpc.StatusCode
_HTTP_STATUS: Mapping[grpc.StatusCode, int] = {  # of the Connect protocol
    _CODE.CANCELLED: 499,
    _CODE.UNKNOWN: 500,
    _CODE.INVALID_ARGUMENT: 400,
    _CODE.DEADLINE_EXCEEDED: 504,
    _CODE.NOT_FOUND: 404,
    _CODE.ALREADY_EXISTS: 409,
    _CODE.PERMISSION_DENIED: 403,
    _CODE.RESOURCE_EXHAUSTED: 429,
    _CODE.FAILED_PRECONDITION: 400,
    _CODE.ABORTED: 409,
    _CODE.OUT_OF_RANGE: 400,
    _CODE.UNIMPLEMENTED: 501,
    _CODE.INTERNAL: 500,
    _CODE.UNAVAILABLE: 503,
    _CODE.DATA_LOSS: 500,
    _CODE.UNAUTHENTICATED: 401,
}
_CANCELLED: int = _CODE.CANCELLED.value[0]
_PIECE = 1 << 16  # bytes of a file that are written at a time
_NO_STORE = (b"cache-control", b"no-store")
_CLOSE = (b"connection", b"close")
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
_PAGE_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
_ASKED = b"content-type, connect-protocol-version, connect-timeout-ms, range"
_KINDS = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": _JSON,
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".webmanifest": b"application/manifest+json",
}
_EPOCH = date(1970, 1, 1).toordinal()


@runtime_checkable
class HasFiles(Protocol):
    """A service with files that devices hold."""

    def catalog_file(self, catalog_date: int, part: str) -> bytes:
        """One that was in force on a Monday. Raises a WireError."""


@dataclass(frozen=True)
class Reply:
    """What is sent to a request, its body from `start` to `end`, by default its own. held: of what
    unread replies may take.
    """

    status: int
    kind: bytes = _TEXT
    body: bytes = field(default=b"", repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = (_NO_STORE,)
    start: int = 0
    end: int | None = None
    held: int = 0


class Gone(Exception):
    """Who asked is not there any more."""


class HttpApp:
    """Services as an ASGI application.

    admissions, connections: those of the server, for all its doors. name: a connection as its
    limits name it, from a request's scope.
    """

    def __init__(
        self,
        services: Sequence[Service],
        config: ServerConfig,
        observer: Observer,
        admissions: Mapping[QueueName, Admission],
        connections: Connections,
    ) -> None:
        """Raises AccessError where the page is asked for and is not here."""
        self._limits, self._observer = config.limits, observer
        self._admissions, self._connections = admissions, connections
        self.calls = {
            f"/{service.name}/{name}": (answer, observer.method(service.name, name))
            for service in services
            for name, answer in service.methods.items()
        }
        self._files = [each for each in services if isinstance(each, HasFiles)]
        self._pages = _pages() if config.http is not None and config.http.web else {}
        origins = () if config.http is None else config.http.origins
        self._origins = frozenset(each.encode() for each in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        headers = dict(scope["headers"])
        # Of a page by plain text, only its calls say that it is one: so its files close, too.
        is_page = b"origin" in headers or b"sec-fetch-mode" in headers
        is_page = is_page or scope["path"] in self._pages
        own = (*((_CLOSE,) if is_page else ()), *self._cross_origin(headers.get(b"origin")))
        call = self.calls.get(scope["path"]) if scope["method"] == "POST" else None
        if call is None:
            await _sent(send, self._static(scope, headers), own)
            return
        peer = scope["state"]["peer"]
        try:
            self._connections.enter(peer)
        except Overloaded as error:
            await _sent(send, _refusal(*status.status_of(error)), (_CLOSE, *own))
            return
        held = 0
        try:
            reply, is_read = await self._replied(call, headers, receive)
            held = reply.held
            await _sent(send, reply, own if is_read else (_CLOSE, *own))
        except Gone:
            pass
        finally:
            self._connections.leave(peer, held)

    async def _replied(
        self, call: tuple[Answer, MethodCounts], headers: Headers, receive: Receive
    ) -> tuple[Reply, bool]:
        """The reply to a call, and whether its message was read to its end."""
        answer, counts = call
        began, ended, is_read = time.monotonic(), _CANCELLED, False
        try:
            seconds = _checked(headers)
            message = await self._message(headers, receive)
            is_read = True
            reply = answer(message, _HttpCaller(headers))
            if isinstance(reply, Job):
                reply = await _while_there(
                    self._admissions[reply.queue].run(reply, seconds), receive
                )
            held = self._connections.hold(len(reply))
            ended = 0
            return Reply(200, _PROTO, reply, held=held), True
        except Gone:
            raise
        except Exception as error:
            code, text = status.status_of(error)
            ended = code.value[0]
            if not isinstance(error, WireError | TransportError):
                self._observer.failed(counts, error)
            return _refusal(code, text), is_read
        finally:
            counts.done(ended, time.monotonic() - began)

    async def _message(self, headers: Headers, receive: Receive) -> bytes:
        """A message, whole. Raises TooSlow, Overloaded for one that is too long, and Gone."""
        most = self._limits.request_bytes
        if int(headers.get(b"content-length", b"0")) > most:
            raise Overloaded(f"a message has at most {most} bytes")
        message = b""
        try:
            async with asyncio.timeout(self._limits.message):
                while True:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        raise Gone
                    message += bytes(event["body"])
                    if len(message) > most:
                        raise Overloaded(f"a message has at most {most} bytes")
                    if not event["more_body"]:
                        return message
        except TimeoutError:
            raise TooSlow("the message did not come") from None

    def _cross_origin(self, origin: bytes | None) -> tuple[tuple[bytes, bytes], ...]:
        """Whether a page of another origin may read the reply: by configuration alone."""
        if not self._origins:
            return ()
        if b"*" in self._origins:
            return ((b"access-control-allow-origin", b"*"),)
        allowed = ((b"access-control-allow-origin", origin),) if origin in self._origins else ()
        return (*((name, value) for name, value in allowed if value), (b"vary", b"origin"))

    def _static(self, scope: Scope, headers: Headers) -> Reply:
        """The reply to what is no call."""
        path, method = scope["path"], scope["method"]
        if path in self.calls:
            if method == "OPTIONS" and b"access-control-request-method" in headers:
                return self._preflight(b"POST")
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, (b"allow", b"POST"))
        if path.startswith("/catalog/"):
            if method == "OPTIONS" and b"access-control-request-method" in headers:
                return self._preflight(b"GET")
            reply = self._held(path.removeprefix("/catalog/"), method, headers)
            self._observer.fetched(reply.status)
            return reply
        page = self._pages.get(path)
        if page is None:
            return _refused(HTTPStatus.NOT_FOUND)
        if method not in {"GET", "HEAD"}:
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, (b"allow", b"GET, HEAD"))
        return page

    def _preflight(self, method: bytes) -> Reply:
        """What a browser asks before a page of another origin calls."""
        if not self._origins:
            return _refused(HTTPStatus.FORBIDDEN)
        return Reply(
            HTTPStatus.OK,
            headers=(
                (b"access-control-allow-methods", method),
                (b"access-control-allow-headers", _ASKED),
                (b"access-control-max-age", b"7200"),
            ),
        )

    def _held(self, name: str, method: str, headers: Headers) -> Reply:
        """A file that devices hold, or the part of it that is asked for."""
        if method not in {"GET", "HEAD"}:
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, (b"allow", b"GET, HEAD"))
        found = re.fullmatch(r"(\d{4}-\d{2}-\d{2})\.([a-z]{1,16})", name, re.ASCII)
        if found is None or not self._files:
            return _refused(HTTPStatus.NOT_FOUND)
        try:
            day = date.fromisoformat(found[1]).toordinal() - _EPOCH
            file = self._files[0].catalog_file(max(0, day), found[2])
        except StaleSpace:  # a date for which there is no model
            return _refused(HTTPStatus.CONFLICT)
        except (ValueError, WireError):
            return _refused(HTTPStatus.NOT_FOUND)
        return _part_of(file, headers.get(b"range", b""))


def _checked(headers: Headers) -> float | None:
    """The seconds that a caller waits, if it says so. Raises Malformed for what is no call."""
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != _PROTO:
        raise Malformed("a call has the content-type application/proto")
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Malformed("a call has no content-encoding")
    if headers.get(b"connect-protocol-version", b"1") != b"1":
        raise Malformed("the version of the Connect protocol is 1")
    waits = headers.get(b"connect-timeout-ms")
    if waits is None:
        return None
    if not re.fullmatch(rb"[0-9]{1,10}", waits):
        raise Malformed("connect-timeout-ms is a whole number of at most ten digits")
    return int(waits) / 1000


def _part_of(file: bytes, wanted: bytes) -> Reply:
    """One range, as bytes=48- or bytes=0-47; anything else gets the whole file."""
    common = ((b"accept-ranges", b"bytes"), (b"cache-control", b"public, max-age=300"))
    kind, size = b"application/octet-stream", len(file)
    found = re.fullmatch(rb"bytes=(\d{1,15})-(\d{0,15})", wanted)
    if found is None:
        return Reply(HTTPStatus.OK, kind, file, common)
    start, end = int(found[1]), min(size, int(found[2] or size) + 1)
    if start >= end:
        outside = (b"content-range", b"bytes */%d" % size)
        return _refused(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, outside)
    inside = (b"content-range", b"bytes %d-%d/%d" % (start, end - 1, size))
    return Reply(HTTPStatus.PARTIAL_CONTENT, kind, file, (inside, *common), start, end)


def _refusal(code: grpc.StatusCode, text: str) -> Reply:
    """An error of a call, as Connect writes it."""
    name = "canceled" if code is _CODE.CANCELLED else code.name.lower()
    return Reply(_HTTP_STATUS[code], _JSON, json.dumps({"code": name, "message": text}).encode())


def _refused(code: HTTPStatus, *headers: tuple[bytes, bytes]) -> Reply:
    """A status in words."""
    return Reply(code, _TEXT, f"{code.phrase}\n".encode(), (_NO_STORE, *headers))


async def _sent(send: Send, reply: Reply, own: Iterable[tuple[bytes, bytes]]) -> None:
    """Sends a reply. Returns when whoever asked has taken it, or the connection ended."""
    end = len(reply.body) if reply.end is None else reply.end
    headers = [
        (b"content-type", reply.kind),
        (b"content-length", b"%d" % (end - reply.start)),
        (b"x-content-type-options", b"nosniff"),
        *reply.headers,
        *own,
    ]
    await send({"type": "http.response.start", "status": int(reply.status), "headers": headers})
    for at in range(reply.start, end, _PIECE):
        piece = reply.body[at : min(end, at + _PIECE)]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    # What uvicorn sends next waits until all before it is written.
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _while_there(work: Coroutine[Any, Any, bytes], receive: Receive) -> bytes:
    """What a job becomes. It is given up where whoever asked goes away. Raises Gone."""
    job, left = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((job, left), return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            raise Gone
        return await job
    finally:
        job.cancel()
        left.cancel()


class _HttpCaller:
    """What HTTP tells of a caller. Implements Caller."""

    __slots__ = ("_headers",)

    def __init__(self, headers: Headers) -> None:
        self._headers = headers

    def authorization(self) -> Sequence[str]:
        """The value of its authorization header."""
        found = self._headers.get(b"authorization")
        return [] if found is None else [found.decode("latin-1")]


def _pages() -> Mapping[str, Reply]:
    """The files of the page by their paths, read once. Raises AccessError where there are none."""
    found = dict(_files_in(files("askew_server.serving").joinpath("web")))
    if "index.html" not in found:
        raise AccessError("this installation has no page: --web is of no use")
    replies = {
        f"/{name}": Reply(
            HTTPStatus.OK,
            _KINDS["." + name.rpartition(".")[2]],
            body,
            ((b"cache-control", b"no-cache"), *_PAGE_HEADERS),
        )
        for name, body in found.items()
    }
    return {**replies, "/": replies["/index.html"]}


def _files_in(folder: Traversable, path: str = "") -> Iterator[tuple[str, bytes]]:
    """Those of a kind that is served, by their paths within a folder."""
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_dir():
            yield from _files_in(each, f"{path}{each.name}/")
        elif "." + each.name.rpartition(".")[2] in _KINDS:
            yield path + each.name, each.read_bytes()
