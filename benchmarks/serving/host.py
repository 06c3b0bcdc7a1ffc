"""A server in a process of its own: the production one over a simulated model, or an echo.

TLS=FOLDER before the words is TLS with the files certificate.pem and key.pem of a folder.

python -m benchmarks.serving.host echo 824 2015           # Echo/824 answers 824 bytes at once
python -m benchmarks.serving.host bare 824 2015           # the same by grpc.aio, and nothing else
python -m benchmarks.serving.host places 1000000 codebook
python -m benchmarks.serving.host tastes 100000 4
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from askew_server.serving.call import Answer, Service

if TYPE_CHECKING:
    from askew_server.serving.settings import Tls

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # those of BLAS wait for each other's cores
RETRIEVE = "/askew.wire.v1.Retrieval/Retrieve"
CARD = "/askew.wire.v1.Retrieval/GetModelCard"


class Echo:
    """What a server costs that does nothing: stored bytes of a size, at once."""

    name = "Echo"

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes

    @property
    def methods(self) -> Mapping[str, Answer]:
        """One a size."""
        return {str(size): _stored(bytes(size)) for size in self._sizes}


def _stored(reply: bytes) -> Answer:
    return lambda _, __: reply


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
    from askew_server.serving.process import serve

    from askew_server.serving.settings import QueueLimits, ServerConfig, Tls

    words, tls = sys.argv[1:], None
    if words[0].startswith("TLS="):
        folder = Path(words.pop(0).removeprefix("TLS="))
        tls = Tls(certificate=folder / "certificate.pem", key=folder / "key.pem")
    if words[0] == "bare":
        asyncio.run(_bare(list(map(int, words[1:])), tls))
        return
    services = [Echo(list(map(int, words[1:])))] if words[0] == "echo" else [_answers(words)]

    def announce(port: int, _: int | None) -> None:
        print(port, flush=True)

    # 16 dear calls at once would be too many, and wait too long on a busy machine.
    config = ServerConfig(answers=QueueLimits(waiting=1000, max_wait=30.0), tls=tls)
    asyncio.run(serve(services, config, announce))


async def _bare(sizes: Sequence[int], tls: Tls | None) -> None:
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
    if tls is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        pair = tls.key.read_bytes(), tls.certificate.read_bytes()
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    await server.start()
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(0)


def _answers(words: Sequence[str]) -> Service:
    from benchmarks.serving.models import snapshot

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.retrieval import RetrievalService

    kind, size, more = (*words, *("0", "2")[len(words) - 1 :])
    return RetrievalService(SnapshotHolder(snapshot(kind, int(size), more)))


if __name__ == "__main__":
    main()
