"""A server in a process of its own: the production one over a simulated model, or an echo.

python -m benchmarks.serving.host echo 824 2015           # Echo/824 answers 824 bytes at once
python -m benchmarks.serving.host places 1000000 codebook
python -m benchmarks.serving.host tastes 100000 posterior 4
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from askew_server.serving.call import Answer, Service

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
            env=os.environ | ONE_THREAD | ({"PYTHONPATH": packages} if packages else {}),
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
    from askew_server.serving.settings import QueueLimits, ServerConfig

    services = [Echo(list(map(int, sys.argv[2:])))] if sys.argv[1] == "echo" else [_answers()]

    def announce(port: int, _: int | None) -> None:
        print(port, flush=True)

    # 16 dear calls at once would be too many, and wait too long on a busy machine.
    config = ServerConfig(answers=QueueLimits(waiting=1000, max_wait=30.0))
    asyncio.run(serve(services, config, announce))


def _answers() -> Service:
    from benchmarks.serving.models import snapshot

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.retrieval import RetrievalService

    kind, size, rule = sys.argv[1:4]
    dimension = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    return RetrievalService(SnapshotHolder(snapshot(kind, int(size), rule, dimension)))


if __name__ == "__main__":
    main()
