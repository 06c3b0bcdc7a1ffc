"""CPU of a server for a card and a question, by gRPC and by the HTTP door.

One caller, one call at a time, in turns: medians of nine. A card by HTTP has half of gRPC's CPU at
most, a question not more than gRPC's.
"""

from __future__ import annotations

import http.client
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from benchmarks.results import Result, record

from askew.wire.v1 import retrieval_pb2 as pb

_ROUNDS, _CARDS, _QUESTIONS = 9, 500, 200  # a turn ends before an idle connection is closed
_GOALS = {"card": 0.5, "question": 1.0}
_SERVICE = "/askew.wire.v1.Retrieval"


def question() -> bytes:
    """One that the demo answers."""
    message = pb.RetrieveRequest(k=20, values=[3, 3], catalog_date=20_780)
    message.lattice.step_exponent, message.lattice.inverse_rate = 6, 64
    return message.SerializeToString()


def by_grpc(channel: grpc.Channel, method: str, message: bytes) -> Callable[[], bytes]:
    """A call on a connection that is open."""
    call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"{_SERVICE}/{method}")
    return lambda: call(message)


def by_http(port: int, method: str, message: bytes) -> Callable[[], bytes]:
    """The same."""
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def call() -> bytes:
        return posted(connection, f"{_SERVICE}/{method}", message, "application/proto")

    return call


def posted(connection: http.client.HTTPConnection, path: str, body: bytes, kind: str) -> bytes:
    """The reply; on a new connection where the door closed one that was idle meanwhile."""
    try:
        connection.request("POST", path, body, {"content-type": kind})
        return connection.getresponse().read()
    except (BrokenPipeError, ConnectionResetError):  # RemoteDisconnected is one
        connection.close()
        connection.request("POST", path, body, {"content-type": kind})
        return connection.getresponse().read()


def cpu_seconds(process: int) -> float:
    """Of a process until now."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def microseconds(process: int, call: Callable[[], bytes], count: int) -> float:
    """CPU of the server for one call."""
    before = cpu_seconds(process)
    for _ in range(count):
        call()
    return (cpu_seconds(process) - before) / count * 1e6


@contextmanager
def serving(*words: str) -> Iterator[tuple[int, str, int]]:
    """A server: its process, and its ports of gRPC and HTTP."""
    command = (sys.executable, "-m", "askew_server", "serve", "--port", "0", *words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ports = re.findall(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
            yield server.pid, ports[0], int(ports[1])
        finally:
            server.terminate()


def main() -> int:
    """1 where a goal was missed."""
    shares: dict[str, float] = {}
    with (
        serving("--demo") as (process, port, http_port),
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        for name, method, message, count in (
            ("card", "GetModelCard", b"", _CARDS),
            ("question", "Retrieve", question(), _QUESTIONS),
        ):
            plain = by_http(http_port, method, message)
            shares[name] = share(process, (by_grpc(channel, method, message), plain), count)
    for name, found in shares.items():
        print(f"{name}: {found:.2f} of the CPU; goal {_GOALS[name]}")
        goal, met = f"{_GOALS[name]} of the other way", found <= _GOALS[name]
        record(Result("by HTTP", name, "of the other way's CPU", found, goal=goal, met=met))
    return int(any(found > _GOALS[name] for name, found in shares.items()))


def share(process: int, calls: tuple[Callable[[], bytes], ...], count: int) -> float:
    """The second way's CPU as a share of the first's, for the same bytes."""
    assert calls[0]() == calls[1]()
    rounds = [[microseconds(process, call, count) for call in calls] for _ in range(_ROUNDS)]
    first, second = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"  {first:.0f} us, then {second:.0f} us")
    return float(second / first)


if __name__ == "__main__":
    sys.exit(main())
