"""The device's end of the network, before servers that are silent, slow, broken or hostile."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any

import grpc
import grpc.aio
import pytest
from client.conftest import Pair

from askew.catalog.catalog_file import FIRST
from askew.errors import ParameterError, Unreachable
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Query, Signal
from askew.settings import is_loopback
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import slate_to_bytes
from askew_client.transport.grpc import GrpcTransport

Context = grpc.aio.ServicerContext[bytes, bytes]
SOON = 0.3  # seconds, for servers that never answer
LONG = 10.0  # seconds, for answers that come at once unless something is wrong


Answer = Callable[[bytes, Context], Awaitable[bytes]]


@asynccontextmanager
async def serving(
    answer: Answer, service: str = "askew.wire.v1.Retrieval", method: str = "Retrieve"
) -> AsyncIterator[str]:
    server = grpc.aio.server()
    handler: Any = grpc.unary_unary_rpc_method_handler(answer)
    handler = grpc.method_handlers_generic_handler(service, {method: handler})
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@contextmanager
def listening_socket() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def query(pair: Pair) -> Query:
    return Query(
        Signal(pair.card.space.version, LatticeLaplace(11, 1024), (-1200, 300)),
        4,
        catalog_date=FIRST,
    )


HERE = ["127.9.8.7", "::1", "[::1]", "localhost"]
ELSEWHERE = [
    *("", "0.0.0.0", "::", "10.0.0.1", "[2001:db8::1]", "localhost.example.org"),
    *("127.0.0.1.example.org", "127.0.0.1@example.org", "dns:localhost"),
]


def test_this_machine_is_told_from_all_others() -> None:
    """Planted bug: `"localhost" in host` or `startswith("127.")`: plain text to a stranger."""
    assert [host for host in HERE + ELSEWHERE if is_loopback(host)] == HERE


async def test_plain_text_is_never_spoken_to_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plain(*_: object, **__: object) -> None:
        pytest.fail("plain text")

    monkeypatch.setattr(grpc.aio, "insecure_channel", plain)
    async with GrpcTransport("example.org:443", SOON):
        pass


@pytest.mark.parametrize(
    "target", [":7571", "[::1]", "localhost:0", "localhost:65536", "localhost:-1", "localhost:²"]
)
def test_a_target_that_is_not_host_and_port_is_refused(target: str) -> None:
    """Planted bug: isdigit() alone, which takes superscripts that int() does not."""
    with pytest.raises(ParameterError, match="host:port"):
        GrpcTransport(target, SOON)


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: letting gRPC obey http_proxy, whose owner would see when the device asks."""

    async def answer(_: bytes, __: Context) -> bytes:
        return b"a card"

    monkeypatch.delenv("no_proxy", raising=False)
    with listening_socket() as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy}")
        async with serving(answer) as address, GrpcTransport(address, LONG) as transport:
            assert await transport.call("Retrieve", b"") == b"a card"


class Flaky:
    """Answers Retrieve with a status a few times, then as the honest server does."""

    def __init__(self, pair: Pair, code: grpc.StatusCode, failures: int) -> None:
        self._pair, self._code, self._failures = pair, code, failures
        self.requests: list[bytes] = []

    async def retrieve(self, request: bytes, context: Context) -> bytes:
        self.requests.append(request)
        if len(self.requests) <= self._failures:
            await context.abort(self._code, "\x1b[31mtry again, Alice")
        asked = query_from_bytes(request, self._pair.card)
        return slate_to_bytes(self._pair.retrieve(asked), self._pair.card)


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
async def test_a_retry_sends_the_same_bytes(
    pair: Pair, query: Query, code: grpc.StatusCode
) -> None:
    """Planted bug: a retry that draws again, or no retry at all."""
    flaky = Flaky(pair, code, failures=2)
    async with serving(flaky.retrieve) as target, GrpcTransport(target, LONG) as network:
        reply = await network.call("Retrieve", query_to_bytes(query))
    assert flaky.requests == [query_to_bytes(query)] * 3
    assert reply == slate_to_bytes(pair.retrieve(query), pair.card)


async def test_the_pauses_are_drawn_before_there_is_a_connection(
    pair: Pair, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a draw between two tries, which takes its time while a server listens."""
    flaky = Flaky(pair, grpc.StatusCode.UNAVAILABLE, failures=2)
    heard: list[int] = []

    class Counted(SystemBits):
        def read(self, count: int) -> bytes:
            heard.append(len(flaky.requests))
            return super().read(count)

    monkeypatch.setattr("askew_client.transport.grpc.SystemBits", Counted)
    async with serving(flaky.retrieve) as target:
        await GrpcTransport(target, LONG).call("Retrieve", query_to_bytes(query))
    assert len(flaky.requests) == 3
    assert set(heard) == {0}


async def test_no_call_says_who_asks() -> None:
    """Planted bug: a token, or any name of the device, in the headers."""
    seen: set[str] = set()

    async def answer(_: bytes, context: Context) -> bytes:
        seen.update(key for key, _ in context.invocation_metadata() or ())
        return b""

    async with serving(answer) as target, GrpcTransport(target, LONG) as network:
        await network.call("Retrieve", b"")
    assert seen == {"user-agent"}


@pytest.mark.parametrize(
    ("status", "said"),
    [(b"\x08\x01", ""), (b"\x08\x02", "does not serve"), (b"", "does not serve")],
    ids=["serving", "not serving", "unknown"],
)
async def test_health_is_what_the_server_says(status: bytes, said: str) -> None:
    """By the bytes of grpc.health.v1. Planted bug: any answer is a healthy one."""

    async def check(_: bytes, __: Context) -> bytes:
        return status

    async with (
        serving(check, "grpc.health.v1.Health", "Check") as address,
        GrpcTransport(address, LONG) as network,
    ):
        with pytest.raises(Unreachable, match=said) if said else nullcontext():
            await network.check_health()
