"""The HTTP door on a real port: replies and refusals as by gRPC, and what it lets nobody do."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import pytest

from askew.catalog.catalog_file import FIRST, HEAD_BYTES, file_of
from askew.errors import NotFound, Overloaded, StaleSpace
from askew_server.serving.call import Answer, Caller, Job
from askew_server.serving.event_log import EventLog
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.observer import Observer
from askew_server.serving.settings import Http, Log, ServerConfig

HERE = "127.0.0.1"
PATIENCE = 20.0  # seconds; only ever waited for by a server that does not do what it should
SHORT = 0.2  # seconds of a limit that is waited for
SECRET = "person 17 saw Alien"
FILE = file_of(bytes(range(256)) * 1024)
MONDAY = "1970-01-05"
PROTO = {"content-type": "application/proto"}
ORIGIN = "https://app.example.org"


class Services:
    """One method for each way in which a call can end, and one file."""

    name = "test.Service"

    @property
    def methods(self) -> Mapping[str, Answer]:
        return {
            "Echo": lambda request, _: request,
            "Work": lambda request, _: Job(lambda: request * 2),
            "Large": lambda _, __: bytes(1 << 24),
            "Token": lambda _, caller: repr(caller.authorization()).encode(),
            "Absent": refuse(NotFound("release")),
            "Stale": refuse(StaleSpace()),
            "Full": refuse(Overloaded("too many calls are under way")),
            "Bug": refuse(ValueError(SECRET)),
        }

    def catalog_file(self, catalog_date: int, part: str) -> bytes:
        if (catalog_date, part) != (FIRST, "whole"):
            raise NotFound("catalog file")
        return FILE


def refuse(error: Exception) -> Answer:
    def answer(_: bytes, __: Caller) -> bytes:
        raise error

    return answer


@dataclass
class Served:
    server: RunningServer
    observer: Observer
    told: io.StringIO

    @property
    def port(self) -> int:
        assert self.server.http is not None
        return self.server.http.port

    async def asked(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """A reply by a connection of its own."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        def ask() -> tuple[int, Mapping[str, str], bytes]:
            connection = http.client.HTTPConnection(HERE, self.port, timeout=PATIENCE)
            try:
                connection.request(method, path, body, named)
                reply = connection.getresponse()
                found = {name.lower(): value for name, value in reply.getheaders()}
                return reply.status, found, reply.read()
            finally:
                connection.close()

        return await asyncio.to_thread(ask)

    async def called(
        self, method: str, message: bytes = b"", **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"content_type": "application/proto", **headers}
        return await self.asked("POST", f"/{Services.name}/{method}", message, **headers)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Served]:
    config = ServerConfig(**{"http": Http(port=0), **settings})
    told = io.StringIO()
    observer = Observer(EventLog(told, Log()))
    server = RunningServer([Services()], config, observer)
    await server.start()
    try:
        yield Served(server, observer, told)
    finally:
        await server.stop(grace=0)


async def by_grpc(port: int, method: str, message: bytes) -> bytes | tuple[str, str | None]:
    async with grpc.aio.insecure_channel(f"{HERE}:{port}") as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            f"/{Services.name}/{method}"
        )
        try:
            return await call(message)
        except grpc.aio.AioRpcError as error:
            return error.code().name.lower(), error.details()


@pytest.mark.parametrize("method", list(Services().methods.keys() - {"Large"}))
async def test_a_call_ends_as_by_grpc(method: str) -> None:
    """With the same bytes, or the same code and text. Planted bug: the text of an exception."""
    async with serving() as served:
        status, headers, reply = await served.called(method, b"message")
        expected = await by_grpc(served.server.port, method, b"message")
        if isinstance(expected, bytes):
            assert (status, headers["content-type"], reply) == (200, "application/proto", expected)
        else:
            code, text = expected
            assert json.loads(reply) == {"code": code, "message": text}
            assert status >= 400
            assert headers["content-type"] == "application/json"
        assert SECRET not in reply.decode() + served.told.getvalue()
        (counts,) = [each for each in served.observer.methods if each.method == method]
        assert sum(counts.statuses) == 2  # one count for both doors
        assert max(counts.statuses) == 2


async def test_a_caller_says_who_it_is_as_by_grpc() -> None:
    async with serving() as served:
        assert (await served.called("Token", authorization="Bearer x"))[2] == b"['Bearer x']"


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"content_type": "application/json"}, "a call has the content-type application/proto"),
        ({"content_encoding": "gzip"}, "a call has no content-encoding"),
        ({"connect_protocol_version": "2"}, "the version of the Connect protocol is 1"),
        (
            {"connect_timeout_ms": "-1"},
            "connect-timeout-ms is a whole number of at most ten digits",
        ),
    ],
)
async def test_what_is_no_call_is_refused_with_the_reason(
    headers: dict[str, Any], why: str
) -> None:
    async with serving() as served:
        status, _, reply = await served.called("Echo", **headers)
        assert (status, json.loads(reply)) == (400, {"code": "invalid_argument", "message": why})


async def test_a_deadline_is_kept() -> None:
    async with serving() as served:
        status, _, reply = await served.called("Work", connect_timeout_ms="0")
        assert (status, json.loads(reply)["code"]) == (504, "deadline_exceeded")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/test.Service/Echo", 405),
        ("POST", "/test.Service/Nothing", 404),
        ("GET", "/", 404),
        ("GET", "/catalog/1970-01-05.whole.", 404),
        ("GET", "/catalog/1970-02-30.whole", 404),
        ("GET", "/catalog/1970-01-12.whole", 404),
        ("GET", "/catalog/1970-01-05.default", 404),
        ("GET", "/catalog/../x", 404),
        ("POST", "/catalog/1970-01-05.whole", 405),
        ("OPTIONS", "/test.Service/Echo", 405),
    ],
)
async def test_what_is_not_there_is_not_there(method: str, path: str, status: int) -> None:
    async with serving() as served:
        found, _, reply = await served.asked(method, path)
        assert (found, reply) == (status, f"{http.client.responses[status]}\n".encode())


async def test_a_file_comes_whole_or_in_part() -> None:
    path = f"/catalog/{MONDAY}.whole"
    async with serving() as served:
        status, headers, body = await served.asked("GET", path)
        assert (status, body) == (200, FILE)
        assert headers["accept-ranges"] == "bytes"
        assert not {"etag", "last-modified", "set-cookie"} & headers.keys()
        status, headers, body = await served.asked("GET", path, range="bytes=0-47")
        assert (status, body) == (206, FILE[:HEAD_BYTES])
        assert headers["content-range"] == f"bytes 0-47/{len(FILE)}"
        status, headers, body = await served.asked("GET", path, range="bytes=100000-")
        assert (status, body) == (206, FILE[100_000:])
        status, headers, _ = await served.asked("GET", path, range=f"bytes={len(FILE)}-")
        assert (status, headers["content-range"]) == (416, f"bytes */{len(FILE)}")
        status, headers, body = await served.asked("HEAD", path)
        assert (status, headers["content-length"], body) == (200, str(len(FILE)), b"")


async def test_only_pages_of_named_origins_may_read_replies() -> None:
    """Planted bug: the origin of whoever asks is allowed."""
    allowed = "access-control-allow-origin"
    asks: dict[str, Any] = {"access_control_request_method": "POST"}
    async with serving(http=Http(port=0, origins=(ORIGIN,))) as served:
        for origin in (ORIGIN, "https://other.example.org"):
            expected = ORIGIN if origin == ORIGIN else None
            _, headers, _ = await served.called("Echo", origin=origin)
            assert (headers.get(allowed), headers["vary"]) == (expected, "origin")
            _, headers, _ = await served.asked(
                "OPTIONS", "/test.Service/Echo", origin=origin, **asks
            )
            assert headers.get(allowed) == expected
        _, headers, _ = await served.asked("GET", f"/catalog/{MONDAY}.whole", origin=ORIGIN)
        assert headers[allowed] == ORIGIN
    async with serving() as served:
        assert allowed not in (await served.called("Echo", origin=ORIGIN))[1]
        found = await served.asked("OPTIONS", "/test.Service/Echo", origin=ORIGIN, **asks)
        assert (found[0], allowed in found[1]) == (403, False)
    async with serving(http=Http(port=0, origins=("*",))) as served:
        assert (await served.called("Echo", origin=ORIGIN))[1][allowed] == "*"


async def test_a_page_has_its_connection_closed_and_others_keep_theirs() -> None:
    """A page cannot close one, and must not rank while one is open. Planted bug: no such header."""
    async with serving() as served:
        assert "connection" not in (await served.called("Echo"))[1]
        for name, value in (("origin", ORIGIN), ("sec_fetch_mode", "cors")):
            header: dict[str, Any] = {name: value}
            assert (await served.called("Echo", **header))[1]["connection"] == "close"
            found = await served.asked("GET", f"/catalog/{MONDAY}.whole", **header)
            assert found[1]["connection"] == "close"
