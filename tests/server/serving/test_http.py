"""The HTTP door on a real port: replies and refusals as by gRPC, and what it lets nobody do."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import grpc.aio
import pytest

from askew.catalog.catalog_file import FIRST, HEAD_BYTES, file_of
from askew.errors import AccessError, NotFound, Overloaded, StaleSpace
from askew_server.serving import http_server, http_sockets
from askew_server.serving.call import Answer, Caller, Job
from askew_server.serving.event_log import EventLog
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.http_server import HttpApp
from askew_server.serving.http_sockets import HttpDoor
from askew_server.serving.observer import STATUSES, Observer
from askew_server.serving.settings import Http, Limits, Log, ServerConfig

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
    opened: list[asyncio.StreamWriter]

    @property
    def door(self) -> HttpDoor:
        assert self.server.http is not None
        return self.server.http

    @property
    def app(self) -> HttpApp:
        assert isinstance(self.door.app, HttpApp)
        return self.door.app

    @property
    def port(self) -> int:
        return self.door.port

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

    async def spoken(self, *parts: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which this was said, until the test is over."""
        reader, writer = await asyncio.open_connection(HERE, self.port)
        self.opened.append(writer)
        for part in parts:
            writer.write(part)
            await writer.drain()
        return reader, writer

    async def called(
        self, method: str, message: bytes = b"", **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"content_type": "application/proto", **headers}
        return await self.asked("POST", f"/{Services.name}/{method}", message, **headers)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Served]:
    config = ServerConfig(**{"http": Http(), **settings})
    told = io.StringIO()
    observer = Observer(EventLog(told, Log()))
    server = RunningServer([Services()], config, observer)
    await server.start()
    served = Served(server, observer, told, [])
    try:
        yield served
    finally:
        for each in served.opened:
            each.transport.abort()
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


@pytest.mark.parametrize("method", sorted(Services().methods.keys() - {"Large"}))
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
        await served.server.stop(grace=10)  # gRPC's caller has its reply before its call has ended
    assert sum(counts.statuses) == 2  # one count for both doors, once each call has ended
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


async def test_fetches_of_files_are_counted_by_status() -> None:
    """Planted bug: a page's question before its call counts as a fetch."""
    async with serving(http=Http(origins=(ORIGIN,))) as served:
        there, gone = f"/catalog/{MONDAY}.whole", "/catalog/1970-01-12.whole"
        await served.asked("GET", there)
        await served.asked("GET", there)
        await served.asked("GET", there, range="bytes=0-47")
        await served.asked("GET", gone)
        await served.asked("OPTIONS", there, access_control_request_method="GET", origin=ORIGIN)
        await served.called("Echo")
        counted = {code: number for code, number in served.observer.fetches.items() if number}
        assert counted == {200: 2, 206: 1, 404: 1}


async def test_only_pages_of_named_origins_may_read_replies() -> None:
    """Planted bug: the origin of whoever asks is allowed."""
    allowed = "access-control-allow-origin"
    asks: dict[str, Any] = {"access_control_request_method": "POST"}
    async with serving(http=Http(origins=(ORIGIN,))) as served:
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
    async with serving(http=Http(origins=("*",))) as served:
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


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server hangs up. Raises TimeoutError where it does not."""
    async with asyncio.timeout(PATIENCE):
        found = b""
        try:
            while piece := await reader.read(1 << 16):
                found += piece
        except ConnectionError:
            pass
        return found


LARGE = (
    b"POST /test.Service/Large HTTP/1.1\r\ncontent-type: application/proto\r\n"
    b"content-length: 0\r\n\r\n"
)
CALL = b"POST /test.Service/Echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n"
ONE = CALL + b"content-length: 1\r\n\r\nx"


@pytest.mark.parametrize(
    "said",
    [b"", b"POST /test.Service/Echo HTTP/1.1\r\nhost: ", ONE + b"POST /test"],
    ids=["nothing", "half a head", "half a second head"],
)
async def test_headers_come_in_time_or_the_connection_ends(said: bytes) -> None:
    """Planted bug: time begins anew with every byte."""
    async with serving(limits=Limits(handshake=SHORT)) as served:
        reader, writer = await served.spoken(said)

        async def drip() -> None:
            with contextlib.suppress(ConnectionError):
                while said:
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(SHORT / 4)

        dripping = asyncio.create_task(drip())
        found = await rest(reader)
        assert found.count(b"HTTP/1.1 200 OK") == said.count(ONE)
        dripping.cancel()


async def test_who_waits_too_long_with_the_next_request_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_sockets, "_KEPT", SHORT)
    async with serving() as served:
        reader, _ = await served.spoken(ONE)
        assert (await rest(reader)).endswith(b"\r\n\r\nx")


async def test_a_head_has_a_size() -> None:
    """Planted bug: headers without end, each in time."""
    async with serving() as served:
        reader, _ = await served.spoken(CALL, *[b"x-%d: y\r\n" % n for n in range(900)])
        assert await rest(reader) == b""


@pytest.mark.parametrize(
    "framing", [b"content-length: 9\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"]
)
async def test_a_message_comes_in_time_or_is_refused(framing: bytes) -> None:
    async with serving(limits=Limits(message=SHORT)) as served:
        reader, _ = await served.spoken(CALL, framing)
        found = await rest(reader)
        assert found.startswith(b"HTTP/1.1 504 ")
        assert b'{"code": "deadline_exceeded", ' in found


@pytest.mark.parametrize(
    "said",
    [
        b"content-length: 99999999999\r\n\r\n",
        b"content-length: 101\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\n32\r\n%b\r\n33\r\n%b" % (bytes(50), bytes(51)),
    ],
    ids=["said to be huge", "said to be longer", "in pieces"],
)
async def test_a_message_that_is_too_long_is_refused_before_all_of_it_is_here(said: bytes) -> None:
    async with serving(limits=Limits(request_bytes=100)) as served:
        reader, _ = await served.spoken(CALL, said)
        found = await rest(reader)
        assert found.startswith(b"HTTP/1.1 429 ")
        assert b'{"code": "resource_exhausted", ' in found
        assert (await served.called("Echo", bytes(100)))[0] == 200


@pytest.mark.parametrize(
    "said",
    [
        b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * 50_000,
        b"transfer-encoding: chunked\r\n\r\n0\r\nx: " + b"y" * 300_000,
        b"transfer-encoding: chunked\r\n\r\n5;" + b"y" * 300_000,
    ],
    ids=["headers", "a long header", "a long frame"],
)
async def test_what_follows_a_message_has_a_size(said: bytes) -> None:
    """They would be kept until the message is late. Planted bug: only a head is counted."""
    async with serving(limits=Limits(message=60)) as served:
        reader, _ = await served.spoken(CALL)
        with contextlib.suppress(ConnectionError):
            served.opened[-1].write(said)
        assert await rest(reader) == b""


async def test_a_message_in_many_pieces_is_answered_and_so_is_the_next() -> None:
    async with serving() as served:
        pieces = b"transfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 16_384 + b"0\r\n\r\n"
        reader, writer = await served.spoken(CALL, pieces)
        async with asyncio.timeout(PATIENCE):
            await reader.readuntil(b"\r\n\r\n" + b"x" * 16_384)
            for part in (ONE[:20], ONE[20:]):
                writer.write(part)
                await writer.drain()
            await reader.readuntil(b"\r\n\r\nx")


async def test_requests_do_not_wait_in_a_line_on_one_connection() -> None:
    """Thousands would fit into what is read at once. Planted bug: uvicorn's own line of them."""
    async with serving() as served:
        reader, _ = await served.spoken(ONE * 3)
        assert (await rest(reader)).count(b"HTTP/1.1") <= 1


@pytest.mark.parametrize(
    "asked",
    [
        LARGE,
        b"GET /catalog/1970-01-05.whole HTTP/1.1\r\n\r\n",
    ],
    ids=["reply", "file"],
)
async def test_a_reply_that_nobody_reads_ends_its_connection(
    asked: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it was given to hold is given back. Planted bug: a drain without an end."""
    monkeypatch.setattr(f"{__name__}.FILE", file_of(bytes(1 << 24)))
    async with serving(limits=Limits(age_grace=SHORT)) as served:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((HERE, served.port))
        connection.sendall(asked)
        async with asyncio.timeout(PATIENCE):
            while not served.door.state.connections:  # noqa: ASYNC110
                await asyncio.sleep(0)
            while served.door.state.connections:  # noqa: ASYNC110
                await asyncio.sleep(0)
            while served.server.connections.peers:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert served.server.connections._unread == 0
        connection.close()


async def test_replies_that_wait_to_be_read_have_a_size_in_all() -> None:
    async with serving(limits=Limits(unread_bytes=1 << 20)) as served:
        status, _, reply = await served.called("Large")
        assert (status, json.loads(reply)["code"]) == (429, "resource_exhausted")
        counts = served.observer.method("test.Service", "Large")
        assert dict(zip(STATUSES, counts.statuses, strict=True))["RESOURCE_EXHAUSTED"] == 1


async def test_connections_have_a_number() -> None:
    """And one that ends makes room. Planted bug: none is refused."""
    async with serving(limits=Limits(connections=2)) as served:
        silent = [await served.spoken() for _ in range(2)]
        reader, third = await served.spoken()
        assert await rest(reader) == b""
        for _, writer in [*silent, (reader, third)]:
            writer.close()
        async with asyncio.timeout(PATIENCE):
            while served.door.state.connections:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert (await served.called("Echo"))[0] == 200


async def test_a_call_under_way_counts_for_its_connection_as_by_grpc() -> None:
    begun, ended = Event(), Event()

    def wait() -> bytes:
        begun.set()
        assert ended.wait(PATIENCE)
        return b""

    async with serving() as served:
        served.app.calls["/test.Service/Work"] = (
            lambda *_: Job(wait),
            served.observer.method("test.Service", "Work"),
        )
        reader, _ = await served.spoken(ONE.replace(b"Echo", b"Work"))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        assert served.server.connections.peers == 1
        ended.set()
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")


async def test_who_went_away_is_not_worked_for() -> None:
    """As by gRPC. Planted bug: the job of a caller who left is done when its turn comes."""
    begun, ended, made = Event(), Event(), list[int]()

    def wait(number: int) -> bytes:
        made.append(number)
        begun.set()
        assert ended.wait(PATIENCE)
        return b""

    async with serving() as served:
        counts = served.observer.method("test.Service", "Work")
        numbers = iter(range(3))
        served.app.calls["/test.Service/Work"] = (
            lambda *_: Job(partial(wait, next(numbers))),
            counts,
        )
        work = ONE.replace(b"Echo", b"Work")
        first, _ = await served.spoken(work)
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        _, leaving = await served.spoken(work)
        last, _ = await served.spoken(work)
        async with asyncio.timeout(PATIENCE):
            while served.server.connections.peers < 3:  # noqa: ASYNC110
                await asyncio.sleep(0)
            leaving.close()
            while served.server.connections.peers > 2:  # noqa: ASYNC110
                await asyncio.sleep(0)
        ended.set()
        for reader in (first, last):
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert made == [0, 2]


async def test_what_is_no_http_is_told_nothing_and_logged_once() -> None:
    async with serving() as served:
        for _ in range(3):
            reader, _ = await served.spoken(SECRET.encode() + b"\r\n\r\n")
            assert (await rest(reader)).startswith(b"HTTP/1.1 400 ")
        assert SECRET not in served.told.getvalue()


async def test_a_stop_finishes_what_is_under_way() -> None:
    async with serving() as served:
        begun, ended = Event(), Event()

        def wait() -> bytes:
            begun.set()
            assert ended.wait(PATIENCE)
            return b"made"

        served.app.calls["/test.Service/Work"] = (
            lambda *_: Job(wait),
            served.observer.method("test.Service", "Work"),
        )
        reader, _ = await served.spoken(ONE.replace(b"Echo", b"Work"))
        idle, _ = await served.spoken(ONE)
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        stopping = asyncio.create_task(served.server.stop(PATIENCE))
        assert (await rest(idle)).endswith(b"x")
        ended.set()
        assert (await rest(reader)).endswith(b"made")
        await stopping
        with pytest.raises(ConnectionError):
            await served.spoken()


async def test_a_page_comes_with_a_strict_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of another origin, nothing inline. Planted bug: a policy with unsafe-inline."""
    (tmp_path / "web").mkdir()
    monkeypatch.setattr(http_server, "files", lambda _: tmp_path)
    with pytest.raises(AccessError, match="this installation has no page"):
        RunningServer([], ServerConfig(http=Http(web=True)))
    for name in ("index.html", "page.js", "notes.txt"):
        (tmp_path / "web" / name).write_text(name)
    async with serving(http=Http(web=True)) as served:
        for path, kind, body in (
            ("/", "text/html; charset=utf-8", b"index.html"),
            ("/page.js", "text/javascript; charset=utf-8", b"page.js"),
        ):
            status, headers, found = await served.asked("GET", path)
            assert (status, headers["content-type"], found) == (200, kind, body)
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["connection"] == "close"
        assert (await served.asked("GET", "/notes.txt"))[0] == 404
        assert (await served.asked("POST", "/"))[0] == 405


async def test_a_port_that_is_taken_is_named_with_its_option() -> None:
    async with serving() as served:
        with pytest.raises(OSError, match="--port names another"):
            RunningServer([], ServerConfig(port=served.port - 1, http=Http()))
