"""The device's end of the network, before servers that are silent, slow, broken or hostile."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest

from askew.catalog.catalog_file import FIRST
from askew.errors import AskewError, Malformed, ParameterError, ServerFailed, TooSlow, Unreachable
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Query, Signal
from askew.settings import is_loopback
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import slate_to_bytes
from askew_client.transport import grpc as grpc_transport
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
    """A server with these methods of a service on a free port of this machine."""
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
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


async def never(_: bytes, __: Context) -> bytes:
    await asyncio.Event().wait()
    return b""


async def is_too_slow(answer: Awaitable[object]) -> None:
    """The call ends by its own deadline, and not by the one that keeps this test from hanging."""
    async with asyncio.timeout(LONG):
        with pytest.raises(TooSlow):
            await answer


@pytest.fixture
def query(pair: Pair) -> Query:
    return Query(
        Signal(pair.card.space.version, LatticeLaplace(11, 1024), (-1200, 300)),
        4,
        catalog_date=FIRST,
    )


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost"],
)
def test_this_machine_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.0.1",
        "128.0.0.1",
        "[2001:db8::1]",
        "example.org",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "127.0.0.1@example.org",
        "dns:localhost",
        "unix:/tmp/socket",
        "",
    ],
)
def test_everything_else_is_not_this_machine(host: str) -> None:
    """Planted bug: `"localhost" in host` or `startswith("127.")`: plain text to a stranger."""
    assert not is_loopback(host)


async def test_plain_text_is_never_spoken_to_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plain(*_: object, **__: object) -> None:
        pytest.fail("plain text")

    monkeypatch.setattr(grpc.aio, "insecure_channel", plain)
    async with GrpcTransport("example.org:443", SOON):
        pass


@pytest.mark.parametrize(
    "target",
    [
        "",
        "localhost",
        "localhost:",
        ":7571",
        "localhost:http",
        "localhost:0",
        "localhost:65536",
        "localhost:-1",
        "localhost: 7571",
        "localhost:7571/path",
        "localhost:²",
        "localhost:\u0667\u0665\u0667\u0661",
        "127.0.0.1",
        "[::1]",
    ],
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
        handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(answer)
        async with (
            serving(GetModelCard=handler) as address,
            GrpcTransport(address, LONG) as transport,
        ):
            assert await transport.call("GetModelCard", b"") == b"a card"


async def test_success_without_a_message_is_a_bad_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """gRPC hands on None where a server sends the status of success and nothing else."""

    async def nothing(*_: object, **__: object) -> None:
        return None

    async with GrpcTransport("127.0.0.1:1", SOON) as transport:
        monkeypatch.setattr(transport.channel, "unary_unary", lambda _: nothing)
        with pytest.raises(Malformed, match="empty"):
            await transport.call("GetModelCard", b"")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that soon sends nothing again."""
    monkeypatch.setattr(grpc_transport, "PATIENCE", SOON)


async def test_a_port_that_says_nothing_is_too_slow() -> None:
    with listening_socket() as target:
        async with GrpcTransport(target, SOON) as network:
            await is_too_slow(network.call("GetModelCard", b""))


METHODS = ("GetModelCard", "Retrieve")


@pytest.mark.parametrize("method", METHODS)
async def test_a_reply_that_never_comes_is_too_slow(method: str) -> None:
    """Planted bug: a call without a deadline."""
    async with (
        serving(**{method: grpc.unary_unary_rpc_method_handler(never)}) as target,
        GrpcTransport(target, SOON) as network,
    ):
        await is_too_slow(network.call(method, b""))


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


@pytest.mark.parametrize("method", METHODS)
async def test_no_call_says_who_asks(method: str) -> None:
    """Planted bug: a token, or any name of the device, in the headers."""
    seen: set[str] = set()

    async def answer(_: bytes, context: Context) -> bytes:
        seen.update(key for key, _ in context.invocation_metadata() or ())
        return b""

    handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(answer)
    async with serving(**{method: handler}) as target, GrpcTransport(target, LONG) as network:
        await network.call(method, b"")
    assert seen == {"user-agent"}


STATUSES: list[tuple[grpc.StatusCode, Callable[[AskewError], bool]]] = [
    (grpc.StatusCode.UNAVAILABLE, lambda error: isinstance(error, Unreachable)),
    (grpc.StatusCode.INTERNAL, lambda error: isinstance(error, ServerFailed)),
    (grpc.StatusCode.UNIMPLEMENTED, lambda error: isinstance(error, ServerFailed)),
    (grpc.StatusCode.INVALID_ARGUMENT, lambda error: isinstance(error, AskewError)),
]


@pytest.mark.parametrize(("code", "fits"), STATUSES)
@pytest.mark.usefixtures("impatient")
async def test_a_servers_own_words_are_never_shown(
    pair: Pair, query: Query, code: grpc.StatusCode, fits: Callable[[AskewError], bool]
) -> None:
    """Planted bug: the details of a status in the message, where a terminal would obey them."""
    flaky = Flaky(pair, code, failures=99)
    async with serving(**flaky.methods()) as target, GrpcTransport(target, LONG) as network:
        with pytest.raises(AskewError) as refusal:
            await network.call("Retrieve", query_to_bytes(query))
    assert fits(refusal.value)
    assert "Alice" not in str(refusal.value)
    assert str(refusal.value).isprintable()
    assert refusal.value.__context__ is None


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
