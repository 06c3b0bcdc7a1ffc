"""The same methods over plain HTTP, for callers without gRPC: a web page, a phone, curl.

A call is a POST of its message, as the Connect protocol has it for unary calls:

    POST /askew.wire.v1.Retrieval/Retrieve       content-type: application/proto
    200, the reply's bytes; or an error's status, with {"code": ..., "message": ...}

Files are read by GET: what devices hold at /catalog/2026-11-23.whole, and with `web` the page at /.
Slow headers, slow readers and many connections are for the proxy in front to bound.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from http import HTTPStatus
from importlib.resources import files
from typing import Any

import grpc
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askew.catalog.catalog_file import Part
from askew.errors import AccessError, Malformed, NotFound, Overloaded, StaleSpace, WireError
from askew_server.serving.admission import Method
from askew_server.serving.call import Service
from askew_server.serving.certificates import Certificates
from askew_server.serving.grpc_door import REQUEST_BYTES
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import ServerConfig

_PROTO = "application/proto"
_HTTP_STATUS: Mapping[grpc.StatusCode, int] = {  # of the Connect protocol, all that we send
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.UNAUTHENTICATED: 401,
}
_PAGE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
    "connection": "close",
}
_ASKED = ("content-type", "connect-protocol-version", "connect-timeout-ms", "range")


def http_app(
    services: Sequence[Service],
    methods: Mapping[str, Mapping[str, Method]],
    config: ServerConfig,
    observer: Observer,
) -> Starlette:
    """Return the application of HTTP: POST /SERVICE/METHOD for each method, GET /catalog/DAY.PART
    for files that devices hold, and the page at / if it is asked for. Raises AccessError where the
    page is asked for and is not here.
    """
    routes: list[BaseRoute] = [
        Route(f"/{service}/{name}", _call(method), methods=["POST"])
        for service, own in methods.items()
        for name, method in own.items()
    ]
    routes.append(Route("/catalog/{day}.{part}", _catalog(services, observer)))
    if config.http_web:
        folder = files("askew_server.serving").joinpath("web")
        if not folder.joinpath("index.html").is_file():
            raise AccessError("this installation has no page to serve: leave out --web")
        routes.append(Mount("/", _Page(directory=str(folder), html=True)))
    middleware = [Middleware(_ClosedForPages)]
    if config.http_origins:  # it marks every reply as one of these origins
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=config.http_origins,
                allow_methods=("GET", "POST"),
                allow_headers=_ASKED,
            )
        )
    return Starlette(routes=routes, middleware=middleware)


def _call(method: Method) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        waits = request.headers.get("connect-timeout-ms", "")
        remaining = int(waits) / 1000 if re.fullmatch("[0-9]{1,10}", waits) else None
        is_read = False

        async def message() -> bytes:
            nonlocal is_read
            whole = await _message(request)
            is_read = True
            return whole

        reply = await method.reply(
            message(), lambda: request.headers.getlist("authorization"), lambda: remaining
        )
        if isinstance(reply, bytes):
            return Response(reply, media_type=_PROTO)
        code, text = reply
        said = None if is_read else {"connection": "close"}
        return JSONResponse(
            {"code": code.name.lower(), "message": text}, _HTTP_STATUS.get(code, 500), said
        )

    return endpoint


async def _message(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _PROTO:
        raise Malformed(f"a call must have the content-type {_PROTO}")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Malformed("a call must have no content-encoding")
    message = b""
    async for piece in request.stream():
        message += piece
        if len(message) > REQUEST_BYTES:
            raise Overloaded(f"a message has at most {REQUEST_BYTES} bytes")
    return message


def _catalog(services: Sequence[Service], observer: Observer) -> Callable[[Request], Any]:
    def file_of(day: int, part: str) -> bytes:
        for service in services:
            with suppress(NotFound):
                return service.catalog_file(day, part)
        raise NotFound("catalog file")

    def part_of(request: Request) -> Response:
        try:
            day = (date.fromisoformat(request.path_params["day"]) - date(1970, 1, 1)).days
            file = file_of(max(0, day), request.path_params["part"])
        except StaleSpace:  # a date for which there is no model
            return _refused(HTTPStatus.CONFLICT)
        except (ValueError, WireError):
            return _refused(HTTPStatus.NOT_FOUND)
        keep = "no-store" if request.path_params["part"] == Part.LIVE else "public, max-age=300"
        common = {"accept-ranges": "bytes", "cache-control": keep}
        kind, size = "application/octet-stream", len(file)
        # The one range that is asked for.
        wanted = re.fullmatch(r"bytes=(\d{1,15})-(\d{0,15})", request.headers.get("range", ""))
        if wanted is None:
            return Response(file, headers=common, media_type=kind)
        start, end = int(wanted[1]), min(size, int(wanted[2] or size) + 1)
        if start >= end:
            status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            return _refused(status, {"content-range": f"bytes */{size}"})
        inside = {"content-range": f"bytes {start}-{end - 1}/{size}", **common}
        return Response(file[start:end], HTTPStatus.PARTIAL_CONTENT, inside, kind)

    async def endpoint(request: Request) -> Response:
        response = part_of(request)
        observer.fetches.labels(str(response.status_code)).inc()
        return response

    return endpoint


def _refused(status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{status.phrase}\n", status, headers)


class _Page(StaticFiles):
    def file_response(self, *words: Any, **options: Any) -> Response:
        """Return a file of the page, with the page's headers: its policy, and no caching
        unasked.
        """
        response = super().file_response(*words, **options)
        response.headers.update(_PAGE_HEADERS)
        return response


class _ClosedForPages:
    """Closes the connection after each reply to a page, since a page cannot: while it ranks in
    private, none is open. Says of each reply that it is what it says, and not to be kept.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = Headers(scope=scope)
        is_page = "origin" in asked or "sec-fetch-mode" in asked

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = MutableHeaders(scope=message)
                said["x-content-type-options"] = "nosniff"
                said.setdefault("cache-control", "no-store")
                if is_page:
                    said["connection"] = "close"
            await send(message)

        await self._app(scope, receive, sending)


class HttpDoor(uvicorn.Server):
    """Answers by an application on a socket that is bound, until it is stopped."""

    def __init__(
        self, app: ASGIApp, bound: socket.socket, certificates: Certificates | None, grace: float
    ) -> None:
        tls: dict[str, Any] = {}
        if certificates is not None:
            tls["ssl_certfile"], tls["ssl_keyfile"] = certificates.files
        super().__init__(
            uvicorn.Config(
                app,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=75,  # longer than the proxy keeps one
                timeout_graceful_shutdown=max(1, round(grace)),
                **tls,
            )
        )
        self._certificates, self._bound = certificates, bound
        self._task: asyncio.Task[None] | None = None
        self.port: int = bound.getsockname()[1]

    async def start(self) -> None:
        """Answer calls from now on; return once the door does, or has failed."""
        self._task = asyncio.create_task(self.serve([self._bound]))
        while not (self.started or self._task.done()):  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0)

    async def stop(self) -> None:
        """Take no more connections, and return once what is under way has ended; cancel what has
        not after `grace`, rounded to seconds, at least 1.
        """
        self.should_exit = True
        if self._task is not None:
            await self._task

    def renew(self) -> None:
        """Show new connections the certificate that the files hold now; without TLS, do nothing.
        Raises OSError for files that are gone, and its kind ssl.SSLError for a pair that is none.
        """
        if self.config.ssl is not None and self._certificates is not None:
            self.config.ssl.load_cert_chain(*self._certificates.files)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process, where uvicorn would take them."""
        yield
