"""A server in a process of its own: the production one over a simulated model, or a bare one.

python -m benchmarks.serving.host places 1000000 codebook
python -m benchmarks.serving.host bare places 1000000 codebook   # by grpc.aio and nothing else
python -m benchmarks.serving.host echo 824 2015                  # Echo/824 answers 824 bytes
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import grpc
import grpc.aio
from benchmarks.serving.models import snapshot
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio as health

from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving.call import Answer, Job
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import serve
from askew_server.serving.settings import ServerConfig

Handle = Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]


def main() -> None:
    kind, *words = sys.argv[1:]
    if kind == "echo":
        echoes = {size: _handle(partial(_stored, bytes(int(size)))) for size in words}
        asyncio.run(serve_bare("Echo", echoes))
        return
    service = RetrievalService(
        SnapshotHolder(snapshot(*(words if kind == "bare" else (kind, *words))))
    )
    if kind == "bare":
        methods = {
            name: _handle(partial(_computed, each)) for name, each in service.methods.items()
        }
        asyncio.run(serve_bare(service.name, methods))
        return
    # 16 dear calls at once would be too many, and wait too long on a busy machine.
    config = ServerConfig(http=True, waiting=1000)
    asyncio.run(serve([service], config, _announce))


def _announce(port: int, _: int | None) -> None:
    print(port, flush=True)


def _stored(reply: bytes, _: bytes) -> bytes:
    return reply


def _computed(answer: Answer, request: bytes) -> bytes:
    reply = answer(request, tuple)
    return reply.run() if isinstance(reply, Job) else reply


def _handle(answer: Callable[[bytes], bytes]) -> Handle:
    async def handle(request: bytes, _: object) -> bytes:
        return answer(request)

    return handle


async def serve_bare(
    service: str, methods: Mapping[str, Handle], options: Sequence[tuple[str, Any]] = ()
) -> None:
    """Serve by grpc.aio as it comes, and health, until standard input closes; say the port."""
    server = grpc.aio.server(options=options)
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]]
    handlers = {name: grpc.unary_unary_rpc_method_handler(each) for name, each in methods.items()}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    main()
