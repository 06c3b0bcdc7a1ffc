"""What a gRPC server of Python comes to that works and refuses and does nothing else, with ours
beside it.

It looks at nothing, counts nothing and bounds no caller: a job is done where fewer wait than may,
else the call is refused as soon as it is here.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import grpc.aio

from askew_server.serving.grpc_server import QuietHealth, State
from askew_server.serving.limits import options_of
from askew_server.serving.settings import ServerConfig

Context = grpc.aio.ServicerContext[bytes, bytes]


async def serve_bare(path: str, work: Callable[[bytes], bytes], waiting: int) -> None:
    """Serve one method as `open_loop.serve` does, with the same options of gRPC."""
    service, method = path.strip("/").split("/")
    one, taken = ThreadPoolExecutor(1), 0
    loop = asyncio.get_running_loop()

    async def handle(request: bytes, context: Context) -> bytes:
        nonlocal taken
        if taken >= waiting:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
        taken += 1
        try:
            return await loop.run_in_executor(one, work, request)
        finally:
            taken -= 1

    server = grpc.aio.server(options=options_of(ServerConfig()))
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]]
    handlers = {method: grpc.unary_unary_rpc_method_handler(handle)}
    health = QuietHealth()
    health.answer_on(server)
    health.tell({"": State.SERVING})
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await loop.run_in_executor(None, sys.stdin.read)
    await server.stop(0)
