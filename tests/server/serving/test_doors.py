"""Both doors of a server on real ports: they answer and refuse alike, and are drained."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import grpc
import grpc.aio
import pytest
from benchmarks.serving.http2 import RawConnection, headers, message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from logged import logged

from askew.catalog.catalog_file import FIRST, HEAD_BYTES, file_of
from askew.errors import AccessError, LedgerError, NotFound, Overloaded, StaleSpace
from askew_server.published.reader import ReleaseReader
from askew_server.serving import http_door
from askew_server.serving.call import Answer, Caller, Job, Service
from askew_server.serving.grpc_door import REQUEST_BYTES
from askew_server.serving.metrics import Observer
from askew_server.serving.popularity import PopularityService
from askew_server.serving.server import Running, running
from askew_server.serving.settings import ServerConfig

Reply = tuple[int, Mapping[str, str], bytes]
HERE = "127.0.0.1"
PATIENCE = 20.0  # seconds; only ever waited for by a server that does not do what it should
SECRET = "person 17 saw Alien"
FILE = file_of(bytes(range(256)) * 1024)
PATH = "/catalog/1970-01-05.whole"
ORIGIN, OTHER = "https://app.example.org", "https://other.example.org"


def refuse(error: Exception) -> Answer:
    def answer(_: bytes, __: Caller) -> bytes:
        raise error

    return answer


class Studio(Service):
    """One method for each way in which a call can end, and one file."""

    name = "test.Service"

    def __init__(self) -> None:
        self.begun, self.go_on, self.good = Event(), Event(), True
        self.methods = {
            "Echo": lambda request, _: request,
            "Work": lambda request, _: Job(lambda: request * 2),
            "Wait": lambda _, __: Job(self._wait),
            "Token": lambda _, caller: repr(caller()).encode(),
            "Absent": refuse(NotFound("release")),
            "Stale": refuse(StaleSpace()),
            "Full": refuse(Overloaded("too many calls are under way")),
            "Bug": refuse(ValueError(SECRET)),
        }

    def catalog_file(self, catalog_date: int, part: str) -> bytes:
        if (catalog_date, part) != (FIRST, "whole"):
            raise NotFound("catalog file")
        return FILE

    def check(self) -> None:
        if not self.good:
            raise LedgerError("the ledger /secret/path is gone")

    def _wait(self) -> bytes:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return b"made"


@dataclass
class Served:
    server: Running
    observer: Observer
    studio: Studio
    channel: grpc.aio.Channel

    async def by_grpc(self, method: str, request: bytes = b"") -> bytes | tuple[str, str | None]:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        call = self.channel.unary_unary(f"/{Studio.name}/{method}")
        try:
            return await call(request, timeout=PATIENCE)
        except grpc.aio.AioRpcError as error:
            return error.code().name.lower(), error.details()

    async def asked(self, method: str, path: str, body: bytes = b"", **named: str) -> Reply:
        """A reply of HTTP by a connection of its own."""
        sent = {name.replace("_", "-"): value for name, value in named.items()}

        def ask() -> Reply:
            assert self.server.http_port
            connection = http.client.HTTPConnection(HERE, self.server.http_port, timeout=PATIENCE)
            with closing(connection):
                connection.request(method, path, body or None, sent)
                reply = connection.getresponse()
                headers = {name.lower(): value for name, value in reply.getheaders()}
                return reply.status, headers, reply.read()

        return await asyncio.to_thread(ask)

    async def called(self, method: str, request: bytes = b"", **named: str) -> Reply:
        named = {"content_type": "application/proto", **named}
        return await self.asked("POST", f"/{Studio.name}/{method}", request, **named)

    async def health(self) -> dict[str, int]:
        check = health_pb2_grpc.HealthStub(self.channel).Check
        asked = [health_pb2.HealthCheckRequest(service=name) for name in (Studio.name, "", "live")]
        return {each.service: (await check(each, timeout=PATIENCE)).status for each in asked}

    def counted(self, name: str, **labels: str) -> float | None:
        return self.observer.registry.get_sample_value(name, labels)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Served]:
    config = ServerConfig(**{"http": True, "grace": 0, **settings})
    observer, studio = Observer(), Studio()
    async with running([studio], config, observer) as server:
        channel = grpc.aio.insecure_channel(f"{HERE}:{server.port}")
        yield Served(server, observer, studio, channel)
        studio.go_on.set()
    await channel.close()  # after the server: calls under way have their replies


async def test_a_call_ends_alike_by_both_doors_and_is_counted_once_by_each() -> None:
    """With the same bytes, or the same code and text. Planted bug: the text of an exception."""
    with logged() as lines:
        async with serving() as served:
            for method in sorted(served.studio.methods.keys() - {"Wait"}):
                status, said, reply = await served.called(method, b"message")
                expected = await served.by_grpc(method, b"message")
                if isinstance(expected, bytes):
                    assert (status, reply) == (200, expected)
                    assert said["content-type"] == "application/proto"
                else:
                    code, text = expected
                    assert json.loads(reply) == {"code": code, "message": text}
                    assert status >= 400
                assert SECRET not in reply.decode()
                of = {"service": Studio.name, "method": method}
                assert served.counted("askew_request_duration_seconds_count", **of) == 2
    assert [each["error"] for each in lines.events] == ["ValueError"] * 2
    assert SECRET not in lines.getvalue()


async def test_a_caller_by_http_says_who_it_is_and_how_long_it_waits() -> None:
    async with serving() as served:
        assert (await served.called("Token", authorization="Bearer x"))[2] == b"['Bearer x']"
        status, _, reply = await served.called("Work", connect_timeout_ms="0")
        assert (status, json.loads(reply)["code"]) == (504, "deadline_exceeded")
        for name, value in (("content_type", "application/json"), ("content_encoding", "gzip")):
            status, _, reply = await served.called("Echo", b"", **{name: value})
            assert (status, json.loads(reply)["code"]) == (400, "invalid_argument")


async def test_a_message_is_capped_by_both_doors() -> None:
    async with serving() as served:
        for size, good in ((REQUEST_BYTES, True), (REQUEST_BYTES + 1, False)):
            assert ((await served.called("Echo", bytes(size)))[0] == 200) == good
            assert isinstance(await served.by_grpc("Echo", bytes(size)), bytes) == good


@pytest.mark.parametrize(
    "framing", [b"content-length: 99999999\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"]
)
async def test_a_message_that_is_too_long_is_refused_before_all_of_it_is_here(
    framing: bytes,
) -> None:
    """Planted bug: a body is capped when it is whole."""
    head = b"POST /test.Service/Echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n"
    piece = b"%x\r\n%b\r\n" % (REQUEST_BYTES + 1, bytes(REQUEST_BYTES + 1))
    async with serving() as served:
        reader, writer = await asyncio.open_connection(HERE, served.server.http_port)
        writer.write(head + framing + piece)
        async with asyncio.timeout(PATIENCE):
            found = await reader.read()
        writer.close()
    assert found.startswith(b"HTTP/1.1 429 ")
    assert b'"code":"resource_exhausted"' in found


async def test_one_queue_refuses_for_both_doors() -> None:
    async with serving(waiting=0) as served:
        busy = asyncio.create_task(served.by_grpc("Wait"))
        assert await asyncio.to_thread(served.studio.begun.wait, PATIENCE)
        assert (await served.called("Work"))[0] == 429
        assert (await served.by_grpc("Work"))[0] == "resource_exhausted"
        assert await served.by_grpc("Echo", b"no job") == b"no job"
        assert set((await served.health()).values()) == {1}
        assert served.counted("askew_admission_refused_total", queue="answers") == 2
        served.studio.go_on.set()
        assert await busy == b"made"


async def test_a_stop_finishes_what_is_under_way() -> None:
    """By both doors. Planted bug: a stop that cuts off who waits."""
    async with serving(grace=PATIENCE, threads=2) as served:
        by_http = asyncio.create_task(served.called("Wait"))
        assert await asyncio.to_thread(served.studio.begun.wait, PATIENCE)
        served.studio.begun.clear()
        by_grpc = asyncio.create_task(served.by_grpc("Wait"))
        assert await asyncio.to_thread(served.studio.begun.wait, PATIENCE)
    assert ((await by_http)[2], await by_grpc) == (b"made", b"made")
    with pytest.raises(ConnectionError):
        await asyncio.open_connection(HERE, served.server.http_port)


async def test_a_port_that_is_taken_is_named_with_its_option() -> None:
    async with serving() as served:
        for port, http_too in ((served.server.port - 1, True), (served.server.port, False)):
            with pytest.raises(OSError, match="--port names another"):
                await running([], ServerConfig(port=port, http=http_too)).__aenter__()


async def test_a_service_that_cannot_answer_says_so_until_it_can() -> None:
    """What is kept is told, and looked at by the timer alone. Planted bug: one state for all."""
    with logged() as lines:
        async with serving() as served:
            good = {Studio.name: 1, "": 1, "live": 1}
            assert await served.health() == good
            served.studio.good = False
            assert await served.health() == good  # a check never looks itself
            await served.server.look()
            assert await served.health() == {Studio.name: 2, "": 2, "live": 1}
            assert served.counted("askew_service_serving", service=Studio.name) == 0
            served.studio.good = True
            await served.server.look()
            assert await served.health() == good
    told = {"level": "warning", "event": "health_changed", "service": Studio.name}
    assert lines.events == [told | {"serving": False}, told | {"serving": True}]


async def test_health_waits_in_a_line_of_its_own() -> None:
    """While as many calls wait as may. Planted bug: a generic handler, for which health waits with
    all others.
    """
    async with serving() as served:
        crowd, prober = (RawConnection(served.server.port) for _ in range(2))
        head = headers("/test.Service/Echo")
        crowd.send(b"".join(crowd.call(head, message(b"me")) for _ in range(120)))
        head = headers("/grpc.health.v1.Health/Check")
        prober.send(b"".join(prober.call(head, message(b"")) for _ in range(4)))

        def statuses() -> list[int]:
            ended: list[int] = []
            while len(ended) < 4 and not prober.closed:
                ended += [done.status for done in prober.received()]
            return ended

        assert await asyncio.to_thread(statuses) == [0] * 4
        for each in (crowd, prober):
            each.close()


def test_releases_can_be_served_while_their_ledger_can_be_read(tmp_path: Path) -> None:
    service = PopularityService(ReleaseReader(tmp_path / "ledger.sqlite"))
    with pytest.raises(LedgerError):
        service.check()
    (tmp_path / "ledger.sqlite").write_bytes(b"no ledger")
    with pytest.raises(LedgerError):
        service.check()


async def test_what_is_not_there_is_not_there() -> None:
    async with serving() as served:
        for method, path, status in (
            ("GET", "/test.Service/Echo", 405),
            ("POST", "/test.Service/Nothing", 404),
            ("GET", "/", 404),
            ("GET", "/catalog/1970-02-30.whole", 404),
            ("GET", "/catalog/1970-01-05.default", 404),
            ("POST", PATH, 405),
            ("OPTIONS", "/test.Service/Echo", 405),
        ):
            assert (await served.asked(method, path))[0] == status, path


async def test_a_file_comes_whole_or_in_part_and_fetches_are_counted() -> None:
    async with serving(http_origins=(ORIGIN,)) as served:
        status, said, body = await served.asked("GET", PATH)
        assert (status, body) == (200, FILE)
        assert said["accept-ranges"] == "bytes"
        assert not {"etag", "last-modified", "set-cookie"} & said.keys()
        status, said, body = await served.asked("GET", PATH, range="bytes=0-47")
        assert (status, body) == (206, FILE[:HEAD_BYTES])
        assert said["content-range"] == f"bytes 0-47/{len(FILE)}"
        assert (await served.asked("GET", PATH, range="bytes=100000-"))[2] == FILE[100_000:]
        status, said, _ = await served.asked("GET", PATH, range=f"bytes={len(FILE)}-")
        assert (status, said["content-range"]) == (416, f"bytes */{len(FILE)}")
        status, said, body = await served.asked("HEAD", PATH)
        assert (status, said["content-length"], body) == (200, str(len(FILE)), b"")
        await served.asked("OPTIONS", PATH, access_control_request_method="GET", origin=ORIGIN)
        counts = [
            served.counted("askew_file_fetches_total", code=str(code)) for code in (200, 206, 416)
        ]
    assert counts == [2, 2, 1]


async def test_only_pages_of_named_origins_may_read_replies() -> None:
    """Planted bug: any page may."""
    allowed = "access-control-allow-origin"
    for origins, asks, expected in (
        ((ORIGIN,), ORIGIN, ORIGIN),
        ((ORIGIN,), OTHER, None),
        ((), ORIGIN, None),
        (("*",), ORIGIN, "*"),
    ):
        async with serving(http_origins=origins) as served:
            assert (await served.called("Echo", origin=asks))[1].get(allowed) == expected
            assert (await served.asked("GET", PATH, origin=asks))[1].get(allowed) == expected
            found = await served.asked(
                "OPTIONS", "/test.Service/Echo", origin=asks, access_control_request_method="POST"
            )
            assert (found[0] == 200, found[1].get(allowed)) == (expected is not None, expected)


async def test_a_page_has_its_connection_closed_and_others_keep_theirs() -> None:
    """A page cannot close one, and must not rank while one is open. Planted bug: no such header."""
    async with serving() as served:
        assert "connection" not in (await served.called("Echo"))[1]
        for name, value in (("origin", ORIGIN), ("sec_fetch_mode", "cors")):
            assert (await served.called("Echo", b"", **{name: value}))[1]["connection"] == "close"
            found = await served.asked("GET", PATH, b"", **{name: value})
            assert found[1]["connection"] == "close"


async def test_a_page_comes_with_a_strict_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of another origin, nothing inline. Planted bug: a policy with unsafe-inline."""
    (tmp_path / "web").mkdir()
    monkeypatch.setattr(http_door, "files", lambda _: tmp_path)
    with pytest.raises(AccessError, match="this installation has no page"):
        async with serving(http_web=True):
            pass
    for name in ("index.html", "page.js"):
        (tmp_path / "web" / name).write_text(name)
    async with serving(http_web=True) as served:
        for path, kind, body in (
            ("/", "text/html", b"index.html"),
            ("/page.js", "text/javascript", b"page.js"),
        ):
            status, said, found = await served.asked("GET", path)
            assert (status, said["content-type"].partition(";")[0], found) == (200, kind, body)
            policy = said["content-security-policy"]
            assert "default-src 'none'" in policy
            assert not re.search("unsafe|http", policy)
            assert said["x-content-type-options"] == "nosniff"
            assert said["referrer-policy"] == "no-referrer"
            assert said["connection"] == "close"
        assert (await served.asked("POST", "/"))[0] == 405
        assert (await served.called("Echo", b"x"))[2] == b"x"
