"""A server in a process of its own: the production one over a simulated model, or an echo.

python -m benchmarks.serving.host bare 824 2015           # Echo/824 answers 824 bytes at once
python -m benchmarks.serving.host places 1000000 codebook
python -m benchmarks.serving.host tastes 100000 4
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

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
        port, _, own = line.partition(" ")
        self.port, self.pid = int(port), self._process.pid
        self.own: Mapping[str, float] = json.loads(own)  # microseconds of an answer alone, by k

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
    kind, *words = sys.argv[1:]
    if kind == "bare":
        asyncio.run(_bare(list(map(int, words))))
        return
    from benchmarks.serving.models import K, own_computing, snapshot

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.retrieval import RetrievalService
    from askew_server.serving.server import serve
    from askew_server.serving.settings import Http, QueueLimits, ServerConfig

    served = snapshot(kind, *words)
    service = RetrievalService(SnapshotHolder(served))
    own = {k: own_computing(service, served.card, k) for k in (K, 20)}

    def announce(port: int, _: int | None) -> None:
        print(port, json.dumps(own), flush=True)

    # 16 dear calls at once would be too many, and wait too long on a busy machine.
    config = ServerConfig(http=Http(), answers=QueueLimits(waiting=1000))
    asyncio.run(serve([service], config, announce))


async def _bare(sizes: Sequence[int]) -> None:
    """grpc.aio as it comes: no options, no limits, nothing is looked at."""
    import grpc
    import grpc.aio

    def method(size: int) -> grpc.RpcMethodHandler[bytes, bytes]:
        reply = bytes(size)

        async def handle(_: bytes, __: object) -> bytes:
            return reply

        return grpc.unary_unary_rpc_method_handler(handle)

    server = grpc.aio.server()
    handlers = {str(size): method(size) for size in sizes}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("Echo", handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), "{}", flush=True)
    await server.start()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    main()
