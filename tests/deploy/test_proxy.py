"""The proxy that is shipped, really run: what passes, what is kept from it, what it writes down."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from subprocess import PIPE
from typing import Any
from urllib.request import Request, urlopen

import grpc
import grpc.aio
import pytest
from deploy.proxy import CALLER, Proxy, proxying, require_nginx
from end_to_end.server_process import BESIDE

from askew.catalog.catalog_file import FIRST, Part
from askew.errors import NotFound
from askew_client.catalog.https import HttpsSource, trusted
from askew_client.settings.settings import StaticHost
from askew_client.transport.grpc import GrpcTransport

pytestmark = pytest.mark.slow


require_nginx()

Code = grpc.StatusCode
PATIENCE = 20  # seconds; only ever waited for by a proxy that does not do what it should
MANY = 16  # connections, of which all go to one server once in 32,768 times
HEALTH = "/grpc.health.v1.Health/Check"
RETRIEVE = "/askew.wire.v1.Retrieval/Retrieve"
CARD = "/askew.wire.v1.Retrieval/GetModelCard"


@pytest.fixture(scope="module")
def servers() -> Iterator[list[str]]:
    """The addresses of two servers of films."""
    command = [sys.executable, "-m", "askew_server", "serve", "--demo", "--port", "0", "--host"]
    addresses = []
    with ExitStack() as stack:
        for host in ("127.0.0.2", "127.0.0.3"):
            process = subprocess.Popen(
                [*command, host], stdin=PIPE, stdout=PIPE, text=True, env=BESIDE
            )
            stack.enter_context(process)
            stack.callback(process.terminate)
            assert process.stdout is not None
            line = process.stdout.readline()  # when it is ready
            addresses.append(line.removeprefix("listening on ").partition(",")[0])
        yield addresses


@pytest.fixture
def proxy(servers: list[str], tmp_path: Path) -> Iterator[Proxy]:
    with proxying(servers, tmp_path) as running:
        yield running


async def called(channel: grpc.aio.Channel, method: str, request: bytes = b"") -> Code:
    """The status of a call."""
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
    try:
        await call(request, timeout=PATIENCE, wait_for_ready=True)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return Code.OK


async def test_a_file_and_a_call_by_http_come_through_it_as_from_the_server(
    proxy: Proxy, servers: list[str]
) -> None:
    """A file as devices hold it, a call as pages make it."""
    await ready(proxy)
    host, _, port = servers[0].rpartition(":")
    replies = []
    for base, trust in (
        (f"https://{proxy.address}", trusted(str(proxy.authority))),
        (f"http://{host}:{int(port) + 1}", None),
    ):
        async with HttpsSource(StaticHost.of(f"{base}/catalog"), PATIENCE, trust) as source:
            parts = [await source.read(FIRST, Part.WHOLE, *at) for at in ((0, 48), (48, 4096))]
            with pytest.raises(NotFound):
                await source.read(FIRST, Part.DEFAULT, 0, 48)
        request = Request(f"{base}{CARD}", b"", {"Content-Type": "application/proto"})
        with await asyncio.to_thread(urlopen, request, timeout=PATIENCE, context=trust) as card:
            replies.append([*parts, card.read()])
    assert replies[0] == replies[1]
    assert all(replies[0])
    assert "catalog 206" in proxy.log


async def test_a_server_that_is_not_there_takes_no_call(servers: list[str], tmp_path: Path) -> None:
    """Without a retry of the caller's. Planted bug: `grpc_next_upstream off`."""
    with proxying(["127.0.0.5:9", servers[0]], tmp_path) as proxy:
        assert await codes_of_many(proxy) == {Code.OK}


async def test_a_call_that_dies_with_its_server_is_one_to_make_again(
    servers: list[str], tmp_path: Path
) -> None:
    """nginx asks nobody else what it has begun to send, and a device sends the same bytes again.

    Planted bug: a page of nginx's own for 502, of which a device can make nothing.
    """

    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        died.append(await reader.read(1024))
        writer.close()

    died: list[bytes] = []
    async with await asyncio.start_server(die, "127.0.0.5", 0) as dying:
        host, port = dying.sockets[0].getsockname()
        with proxying([f"{host}:{port}", servers[0]], tmp_path) as proxy:
            device = (proxy.address, PATIENCE, str(proxy.authority))
            for _ in range(MANY):
                async with GrpcTransport(*device) as network:
                    assert await network.call("GetModelCard", b"")
            codes = await codes_of_many(proxy)
    assert died
    assert codes <= {Code.OK, Code.UNAVAILABLE}
    assert " 204 upstream=127.0.0.5" in proxy.log


async def codes_of_many(proxy: Proxy) -> set[Code]:
    """The statuses of calls on connections of their own, some of them with either server."""
    codes = set()
    for _ in range(MANY):
        async with proxy.channel() as channel:
            codes.add(await called(channel, CARD))
    return codes


async def ready(proxy: Proxy) -> None:
    async with proxy.channel() as channel:
        assert await called(channel, HEALTH) == Code.OK


async def test_an_address_gets_no_more_calls_than_its_share(
    servers: list[str], tmp_path: Path
) -> None:
    """At a rate for which all of them would take minutes."""
    with proxying(servers, tmp_path, rate="1r/s") as proxy:
        async with proxy.channel() as channel:
            codes = await asyncio.gather(*(called(channel, HEALTH) for _ in range(600)))
    assert 200 <= codes.count(Code.OK) < 600
    assert set(codes) == {Code.OK, Code.RESOURCE_EXHAUSTED}


async def test_an_address_holds_no_more_calls_open_than_its_share(proxy: Proxy) -> None:
    """Half-sent ones, over several connections."""
    await ready(proxy)
    async with AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(proxy.channel()) for _ in range(5)]
        for channel in channels:
            await channel.channel_ready()
        held: list[grpc.aio.StreamUnaryCall[bytes, bytes]]
        held = [channel.stream_unary(RETRIEVE)() for channel in channels for _ in range(16)]
        refused = [asyncio.create_task(call.code()) for call in held]
        done, _ = await asyncio.wait(refused, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
        assert {each.result() for each in done} == {Code.RESOURCE_EXHAUSTED}
        async with proxy.channel() as another:
            assert await called(another, HEALTH) == Code.RESOURCE_EXHAUSTED
        for call in held:
            call.cancel()
        await asyncio.gather(*refused)
    async with asyncio.timeout(PATIENCE), proxy.channel() as channel:
        # The proxy hears in its own time that each call was given up.
        while (code := await called(channel, HEALTH)) == Code.RESOURCE_EXHAUSTED:
            pass
    assert code == Code.OK


SLOW = {
    "says nothing": b"",
    "half a head": b"POST /askew.wire.v1.Retrieval/Retrieve HTTP/1.1\r\nhost: x\r\nx: ",
    "half a message": (
        b"POST /askew.wire.v1.Retrieval/Retrieve HTTP/1.1\r\nhost: x\r\n"
        b"content-type: application/proto\r\ncontent-length: 9\r\n\r\nhalf"
    ),
}


@pytest.mark.parametrize("said", SLOW)
async def test_who_is_slow_is_hung_up_on_before_a_server_hears_of_it(
    said: str, servers: list[str], tmp_path: Path
) -> None:
    """Planted bug: a timeout that is nginx's own, a minute."""
    with proxying(servers, tmp_path, patience="1s") as proxy:
        await ready(proxy)
        host, port = proxy.address.split(":")
        trust = trusted(str(proxy.authority))
        reader, writer = await asyncio.open_connection(host, int(port), ssl=trust)
        writer.write(SLOW[said])
        async with asyncio.timeout(PATIENCE):
            assert b" 200 " not in await reader.read()
        writer.close()
        assert "application/proto" not in proxy.log
        async with proxy.channel() as channel:
            assert await called(channel, CARD) == Code.OK


async def test_only_what_devices_need_is_behind_it(proxy: Proxy) -> None:
    await ready(proxy)
    async with proxy.channel() as channel:
        for method in ("/askew.wire.v1.Analyst/TopK", "/grpc.health.v1.Health/Watch"):
            assert await called(channel, method) == Code.UNIMPLEMENTED


async def test_it_says_that_no_server_is_there(tmp_path: Path) -> None:
    with proxying(["127.0.0.2:9", "127.0.0.3:9"], tmp_path) as proxy:
        async with proxy.channel() as channel:
            assert await called(channel, RETRIEVE) == Code.UNAVAILABLE


async def test_it_writes_down_no_address_and_no_words_of_a_caller(proxy: Proxy) -> None:
    """Planted bugs: $remote_addr or $request in the format; messages by `error`."""
    async with proxy.channel() as channel:
        for method in (HEALTH, f"{RETRIEVE}?home=49.1519", "/home-49.1519", "/a/home"):
            await called(channel, method)
        await asyncio.gather(*(called(channel, HEALTH) for _ in range(400)))
    # Of what is no TLS nginx complains with the caller's address at most levels.
    reader, writer = await asyncio.open_connection(*proxy.address.split(":"))
    writer.write(b"\x16\x03\x01garbage" * 99)
    await reader.read()
    writer.close()
    log = proxy.log
    assert "grpc.health.v1.Health/Check 200" in log
    assert " other " in log
    # Without what is the server's: times, ports, sizes.
    log = re.sub(r"(?m)^\S+T\S+ |127\.0\.0\.[23]:\d+|[\d.]+ \d+$", "", log)
    assert [word for word in (CALLER, "home", "49", "grpc-python", "?") if word in log] == []


async def test_a_server_is_told_nothing_of_who_calls(tmp_path: Path) -> None:
    """Planted bug: X-Forwarded-For, by which a server would know its callers again."""
    heard: dict[str, object] = {}

    class Overhearing(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
            heard.update(details.invocation_metadata)
            return grpc.unary_unary_rpc_method_handler(lambda _, __: b"")

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Overhearing(),))
    address = f"127.0.0.5:{server.add_insecure_port('127.0.0.5:0')}"
    await server.start()
    names = ("x-forwarded-for", "x-real-ip", "forwarded")

    async def call(channel: grpc.aio.Channel) -> None:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(RETRIEVE)
        metadata = tuple((name, "203.0.113.7") for name in names)
        await method(b"", metadata=metadata, timeout=PATIENCE, wait_for_ready=True)

    async with grpc.aio.insecure_channel(address) as channel:
        await call(channel)
    assert heard.keys() > {*names}
    heard.clear()
    with proxying([address, address], tmp_path) as proxy:
        async with proxy.channel() as channel:
            await call(channel)
    await server.stop(None)
    assert heard.keys() <= {"grpc-accept-encoding", "user-agent", "te", "content-type"}
    assert "python" not in str(heard)
