"""Clients that speak HTTP/2 and misbehave: others are answered meanwhile, and after them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing
from threading import Event
from typing import Any

import grpc
import grpc.aio
import pytest
from benchmarks.serving.http2 import RawConnection, headers, message
from grpc_health.v1 import health_pb2, health_pb2_grpc

from askew_server.serving.call import Answer, Job
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.settings import Limits, QueueLimits, ServerConfig

PATIENCE = 3  # seconds; only ever waited for by a server that does not do what it should
LARGE = 1 << 18
LIMITS, ANSWERS = Limits(), QueueLimits()
OK, MALFORMED, TOO_SLOW, EXHAUSTED, UNKNOWN = 0, 3, 4, 8, 12


class Studio:
    """Answers at once, with a job that waits, and with a large reply."""

    name = "Studio"

    def __init__(self) -> None:
        self.begun, self.go_on = Event(), Event()

    @property
    def methods(self) -> Mapping[str, Answer]:
        return {
            "Echo": lambda request, _: request,
            "Job": lambda request, _: Job(lambda: request),
            "Wait": lambda _, __: Job(self._wait),
            "Large": lambda _, __: bytes(LARGE),
        }

    def _wait(self) -> bytes:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return b"waited"


class Wired:
    """A running server, and one who behaves."""

    def __init__(self, server: RunningServer, studio: Studio, channel: grpc.aio.Channel) -> None:
        self.server, self.studio, self._channel = server, studio, channel

    async def ask(self, method: str = "Echo", request: bytes = b"hello") -> bytes:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        call = self._channel.unary_unary(f"/Studio/{method}")
        return await call(request, timeout=PATIENCE)

    async def status(self, method: str) -> grpc.StatusCode:
        """With which a call ends."""
        try:
            await self.ask(method)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    async def health(self) -> int:
        check = health_pb2_grpc.HealthStub(self._channel).Check
        reply: health_pb2.HealthCheckResponse
        reply = await check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
        return int(reply.status)

    def watched(self) -> Any:
        """The states of the server from now on."""
        watch = health_pb2_grpc.HealthStub(self._channel).Watch
        return watch(health_pb2.HealthCheckRequest(), timeout=PATIENCE)

    async def at_rest(self) -> None:
        """No call is under way any more."""
        async with asyncio.timeout(PATIENCE):
            while self.server.connections.peers:  # noqa: ASYNC110  # the kernel tells of a close
                await asyncio.sleep(0)


@asynccontextmanager
async def running(
    limits: Limits = LIMITS, answers: QueueLimits = ANSWERS, proxies: tuple[str, ...] = ()
) -> AsyncIterator[Wired]:
    studio = Studio()
    config = ServerConfig(limits=limits, answers=answers, proxies=proxies)
    server = RunningServer([studio], config)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            yield Wired(server, studio, channel)
    finally:
        studio.go_on.set()
        await server.stop(grace=0)


def asked(connection: RawConnection, method: str, number: int, body: bytes | None) -> Counter[int]:
    """The statuses with which so many calls end that begin together."""
    head = headers(f"/Studio/{method}")
    connection.send(b"".join(connection.call(head, body) for _ in range(number)))
    return ended_of(connection, number)


def ended_of(connection: RawConnection, number: int) -> Counter[int]:
    """The statuses of the next calls that end."""
    ended = Counter[int]()
    while ended.total() < number and not connection.closed:
        ended.update(done.status for done in connection.received())
    return ended


def begun(connection: RawConnection, method: str, number: int, body: bytes | None) -> None:
    """So many calls begin, and nobody waits for them; those of before the last are refused."""
    head = headers(f"/Studio/{method}")
    connection.send(b"".join(connection.call(head, body) for _ in range(number)))
    refused = number - LIMITS.calls
    while refused > 0:
        refused -= len(list(connection.received()))


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    async with running() as each:
        yield each


async def test_half_sent_calls_refuse_nobody_else(wired: Wired) -> None:
    """Planted bug: calls count for the whole server while their message is awaited."""
    with ExitStack() as open_:
        for _ in range(4):
            connection = open_.enter_context(closing(RawConnection(wired.server.port)))
            await asyncio.to_thread(begun, connection, "Echo", 200, None)
        assert wired.server.connections.peers == 4
        for _ in range(20):
            assert await wired.ask("Job") == b"hello"
        assert await wired.health() == health_pb2.HealthCheckResponse.SERVING
    await wired.at_rest()


async def test_a_message_that_does_not_come_is_not_waited_for() -> None:
    """Planted bug: no bound on the wait; the call ends with its connection alone."""
    async with running(Limits(message=0.05)) as wired:
        with closing(RawConnection(wired.server.port)) as connection:
            ended = await asyncio.to_thread(asked, connection, "Echo", 10, None)
            assert ended == {TOO_SLOW: 10}
            await wired.at_rest()


async def test_a_call_that_ends_without_a_message_is_answered(wired: Wired) -> None:
    with closing(RawConnection(wired.server.port)) as connection:
        ended = await asyncio.to_thread(asked, connection, "Echo", 1, b"")
        assert ended == {MALFORMED: 1}


async def test_one_connection_has_so_many_calls_answered_and_no_more(wired: Wired) -> None:
    with closing(RawConnection(wired.server.port)) as connection:
        await asyncio.to_thread(begun, connection, "Echo", 16, None)
        ended = await asyncio.to_thread(asked, connection, "Echo", 5, message(b"one more"))
        assert ended == {EXHAUSTED: 5}
    await wired.at_rest()


async def test_calls_of_one_connection_in_turn_are_never_too_many(wired: Wired) -> None:
    """Planted bug: the count of a connection never goes down."""
    with closing(RawConnection(wired.server.port)) as connection:
        for _ in range(10):
            ended = await asyncio.to_thread(asked, connection, "Echo", 10, message(b"again"))
            assert ended == {OK: 10}


async def test_a_proxys_connection_is_spared() -> None:
    """Planted bug: proxies are not looked at. A proxy carries many people's calls."""
    limits = Limits(streams=8, calls=4)
    async with running(limits, proxies=("127.0.0.0/8",)) as wired:
        with closing(RawConnection(wired.server.port)) as connection:
            half_sent = [connection.call(headers("/Studio/Echo"), None) for _ in range(20)]
            connection.send(b"".join(half_sent))
            ended = await asyncio.to_thread(asked, connection, "Echo", 5, message(b"each"))
            assert ended == {OK: 5}


async def test_replies_that_nobody_reads_refuse_nothing_small() -> None:
    """A window of 0: each reply stays with the server. Large ones have a bound, others none.

    Planted bug: a reply is held for ever; or none is counted, and memory has no bound.
    """
    limits = Limits(unread_bytes=30 * LARGE)
    async with running(limits) as wired:
        with ExitStack() as open_:
            for _ in range(3):
                silent = RawConnection(wired.server.port, window=0)
                connection = open_.enter_context(closing(silent))
                await asyncio.to_thread(begun, connection, "Large", 64, message(b""))
            assert await wired.ask("Job") == b"hello"
            assert await wired.status("Large") is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await wired.health() == health_pb2.HealthCheckResponse.SERVING
        await wired.at_rest()
        assert await wired.status("Large") is grpc.StatusCode.OK


async def test_health_is_answered_while_every_place_is_taken() -> None:
    """Planted bug: health asks for a place as well."""
    async with running(answers=QueueLimits(threads=1, waiting=0)) as wired:
        waiting = asyncio.create_task(wired.ask("Wait"))
        await asyncio.to_thread(wired.studio.begun.wait, PATIENCE)
        assert await wired.status("Job") is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await wired.health() == health_pb2.HealthCheckResponse.SERVING
        assert await wired.ask("Echo") == b"hello"
        wired.studio.go_on.set()
        assert await waiting == b"waited"


async def test_health_waits_in_a_line_of_its_own() -> None:
    """While as many calls wait as may: the loop stands still until gRPC has turned the rest away.

    Planted bug: a generic handler, for which health waits with all others.
    """
    async with running(Limits(pending=4)) as wired:
        with ExitStack() as open_:
            crowd, prober = (
                open_.enter_context(closing(RawConnection(wired.server.port))) for _ in range(2)
            )
            head = headers("/Studio/Echo")
            crowd.send(b"".join(crowd.call(head, message(b"me")) for _ in range(30)))
            turned_away = 0
            while turned_away < 20:  # and one was taken, and 5 wait at most
                turned_away += len(list(crowd.received()))
            head = headers("/grpc.health.v1.Health/Check")
            prober.send(b"".join(prober.call(head, message(b"")) for _ in range(4)))
            assert await asyncio.to_thread(ended_of, prober, 4) == {OK: 4}


async def test_a_watcher_of_health_who_reads_nothing_holds_up_nobody(wired: Wired) -> None:
    """Planted bug: a state is written under the lock that the next change needs. Then others who
    watch are told nothing, and a server that is asked to stop does not.
    """
    with closing(RawConnection(wired.server.port, window=0)) as silent:
        silent.send(silent.call(headers("/grpc.health.v1.Health/Watch"), message(b"")))
        assert await asyncio.to_thread(asked, silent, "Nothing", 1, message(b"")) == {UNKNOWN: 1}
        watched = wired.watched()
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        wired.server.health.stop()
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_callers_who_reset_their_calls_make_no_room() -> None:
    """Two hundred who ask and go away at once: one job runs, and one place stays taken."""
    async with running(answers=QueueLimits(threads=1, waiting=0)) as wired:
        first = asyncio.create_task(wired.ask("Wait"))
        await asyncio.to_thread(wired.studio.begun.wait, PATIENCE)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await wired.status("Job") is grpc.StatusCode.RESOURCE_EXHAUSTED
        wired.studio.go_on.set()
