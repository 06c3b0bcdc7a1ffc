"""The device's end of the network, before servers that are silent, slow, broken or hostile."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest

from askew.catalog.catalog_file import FIRST
from askew.errors import ParameterError, TooSlow, Unreachable
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Query, Signal
from askew.settings import is_loopback
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import slate_to_bytes
from askew_client.transport.grpc import GrpcTransport

if TYPE_CHECKING:
    from client.conftest import Pair

Context = grpc.aio.ServicerContext[bytes, bytes]
SOON = 0.3  # seconds, for servers that never answer
LONG = 10.0  # seconds, for answers that come at once unless something is wrong


@asynccontextmanager
async def serving(
    service: str = "askew.wire.v1.Retrieval", /, **methods: grpc.RpcMethodHandler[Any, Any]
) -> AsyncIterator[str]:
    server = grpc.aio.server()
    handler = grpc.method_handlers_generic_handler(service, methods)
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


async def never(_: bytes, __: Context) -> bytes:
    await asyncio.Event().wait()
    return b""


@pytest.fixture
def query(pair: Pair) -> Query:
    return Query(
        Signal(pair.card.space.version, LatticeLaplace(11, 1024), (-1200, 300)),
        4,
        catalog_date=FIRST,
    )


HERE = ["127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost"]
ELSEWHERE = [
    *("", "0.0.0.0", "::", "10.0.0.1", "192.168.1.1", "169.254.0.1", "128.0.0.1"),
    *("[2001:db8::1]", "example.org", "localhost.example.org", "127.0.0.1.example.org"),
    *("127.0.0.1@example.org", "dns:localhost", "unix:/tmp/socket"),
]


@pytest.mark.parametrize("host", HERE + ELSEWHERE)
def test_this_machine_is_told_from_all_others(host: str) -> None:
    """Planted bug: `"localhost" in host` or `startswith("127.")`: plain text to a stranger."""
    assert is_loopback(host) == (host in HERE)


async def test_plain_text_is_never_spoken_to_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plain(*_: object, **__: object) -> None:
        pytest.fail("plain text")

    monkeypatch.setattr(grpc.aio, "insecure_channel", plain)
    async with GrpcTransport("example.org:443", SOON):
        pass


TARGETS = [
    *("", "localhost", "localhost:", ":7571", "127.0.0.1", "[::1]", "localhost:http"),
    *("localhost:0", "localhost:65536", "localhost:-1", "localhost: 7571", "localhost:7571/path"),
    *("localhost:²", "localhost:\u0667\u0665\u0667\u0661"),
]


@pytest.mark.parametrize("target", TARGETS)
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
        handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(answer)
        async with (
            serving(GetModelCard=handler) as address,
            GrpcTransport(address, LONG) as transport,
        ):
            assert await transport.call("GetModelCard", b"") == b"a card"


async def test_a_reply_that_never_comes_is_too_slow() -> None:
    """By the call's own deadline. Planted bug: a call without one."""
    async with (
        asyncio.timeout(LONG),
        serving(Retrieve=grpc.unary_unary_rpc_method_handler(never)) as target,
        GrpcTransport(target, SOON) as network,
    ):
        with pytest.raises(TooSlow):
            await network.call("Retrieve", b"")


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

    def methods(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        return {"Retrieve": grpc.unary_unary_rpc_method_handler(self.retrieve)}


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
async def test_a_retry_sends_the_same_bytes(
    pair: Pair, query: Query, code: grpc.StatusCode
) -> None:
    """Planted bug: a retry that draws again, or no retry at all."""
    flaky = Flaky(pair, code, failures=2)
    async with serving(**flaky.methods()) as target, GrpcTransport(target, LONG) as network:
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
    async with serving(**flaky.methods()) as target:
        await GrpcTransport(target, LONG).call("Retrieve", query_to_bytes(query))
    assert len(flaky.requests) == 3
    assert set(heard) == {0}


async def test_no_call_says_who_asks() -> None:
    """Planted bug: a token, or any name of the device, in the headers."""
    seen: set[str] = set()

    async def answer(_: bytes, context: Context) -> bytes:
        seen.update(key for key, _ in context.invocation_metadata() or ())
        return b""

    handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(answer)
    async with serving(Retrieve=handler) as target, GrpcTransport(target, LONG) as network:
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

    handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(check)
    async with (
        serving("grpc.health.v1.Health", Check=handler) as address,
        GrpcTransport(address, LONG) as network,
    ):
        with pytest.raises(Unreachable, match=said) if said else nullcontext():
            await network.check_health()
