"""The HTTP door of a server that is started by its command."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import grpc.aio
import pytest
from end_to_end.server_process import PATIENCE, Server, running

from askew.wire.v1 import retrieval_pb2 as pb

HERE = "127.0.0.1"
CARD = "/askew.wire.v1.Retrieval/GetModelCard"
QUESTION = "/askew.wire.v1.Retrieval/Retrieve"
DEMO = ("--demo", "--port", 0)


async def by_grpc(port: int) -> bytes:
    """The card."""
    async with grpc.aio.insecure_channel(f"{HERE}:{port}") as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(CARD)
        return await call(b"", timeout=PATIENCE)


async def begun(server: Server, size: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A call whose message is waited for."""
    reader, writer = await asyncio.open_connection(HERE, server.http)
    head: Mapping[str, object] = {
        "host": "x",
        "content-type": "application/proto",
        "content-length": size,
        "expect": "100-continue",
    }
    lines = [f"POST {CARD} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    async with asyncio.timeout(PATIENCE):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


@pytest.mark.slow
async def test_both_doors_answer_and_a_stop_finishes_calls() -> None:
    """Planted bug: a stop that cuts off who is half heard."""
    async with running(*DEMO) as server:
        card = await by_grpc(server.port)
        assert pb.GetModelCardResponse.FromString(card).n_items > 0

        unknown = b"\xfa\x06\x01x"  # a field that no card's question has
        calls = [await begun(server, len(unknown)) for _ in range(8)]
        server.process.terminate()
        await server.says("stopping")
        async with asyncio.timeout(PATIENCE):
            for reader, writer in calls:
                writer.write(unknown)
                head, _, body = (await reader.read()).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200 ")
                assert body == card
                writer.close()
        await asyncio.wait_for(
            server.process.communicate(), PATIENCE
        )  # a second signal would kill it
        assert server.process.returncode == 0
        with pytest.raises(ConnectionError):
            await asyncio.open_connection(HERE, server.http)
