"""A server in a process of its own: the production one over a simulated model, or an echo.

python -m benchmarks.serving.host bare 824 2015           # Echo/824 answers 824 bytes at once
python -m benchmarks.serving.host bare places 1000000 codebook   # by grpc.aio and nothing else
python -m benchmarks.serving.host places 1000000 codebook
python -m benchmarks.serving.host tastes 100000 4
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from askew_server.serving.call import Answer, Job

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # those of BLAS wait for each other's cores
RETRIEVE = "/askew.wire.v1.Retrieval/Retrieve"
CARD = "/askew.wire.v1.Retrieval/GetModelCard"


class Hosted:
    """A server that runs as long as this is open. packages: a folder of those that it takes before
    the installed ones.
    """

    def __init__(self, *words: object, packages: str = "") -> None:
        command = [sys.executable, "-m", "benchmarks.serving.host", *map(str, words)]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ
            | ONE_THREAD
            | {"ASKEW_WITH_PARENT": "1"}  # it ends with this process
            | ({"PYTHONPATH": packages} if packages else {}),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.strip():
            raise SystemExit(f"the server of {words} ended early")
        self.port, self.pid = int(line), self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)  # closes its input, at which it stops


def main() -> None:
    from benchmarks.serving.models import snapshot

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.retrieval import RetrievalService
    from askew_server.serving.server import serve
    from askew_server.serving.settings import Http, QueueLimits, ServerConfig

    words = sys.argv[1:]
    is_bare = words[0] == "bare"
    if is_bare and words[1].isdigit():
        stored = {size: bytes(int(size)) for size in words[1:]}
        replies = {size: lambda _, reply=reply: reply for size, reply in stored.items()}
        asyncio.run(_bare("Echo", replies))
        return
    service = RetrievalService(SnapshotHolder(snapshot(*words[is_bare:])))
    if is_bare:
        answers = {name: partial(_computed, each) for name, each in service.methods.items()}
        asyncio.run(_bare(service.name, answers))
        return

    def announce(port: int, _: int | None) -> None:
        print(port, flush=True)

    # 16 dear calls at once would be too many, and wait too long on a busy machine.
    config = ServerConfig(http=Http(), answers=QueueLimits(waiting=1000))
    asyncio.run(serve([service], config, announce))


def _computed(answer: Answer, request: bytes) -> bytes:
    reply = answer(request, tuple)
    return reply.run() if isinstance(reply, Job) else reply


async def _bare(service: str, methods: Mapping[str, Callable[[bytes], bytes]]) -> None:
    """grpc.aio as it comes: no options, no limits, nothing is looked at."""
    import grpc
    import grpc.aio

    def method(answer: Callable[[bytes], bytes]) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def handle(request: bytes, _: object) -> bytes:
            return answer(request)

        return grpc.unary_unary_rpc_method_handler(handle)

    server = grpc.aio.server()
    handlers = {name: method(answer) for name, answer in methods.items()}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    main()
