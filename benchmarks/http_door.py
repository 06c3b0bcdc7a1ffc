"""CPU of a server for a card and a question, by gRPC and by the HTTP door.

One caller, one call at a time, in turns: medians of five. A card by HTTP has half of gRPC's CPU at
most, a question not more than gRPC's.
"""

from __future__ import annotations

import http.client
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import grpc

from askew.wire.v1 import retrieval_pb2 as pb

_ROUNDS, _CARDS, _QUESTIONS = 5, 1000, 400
_GOALS = 0.5, 1.0  # of a card, of a question
_SERVICE = "/askew.wire.v1.Retrieval"
_COMMAND = (sys.executable, "-m", "askew_server", "serve", "--demo", "--port", "0", "--http", "0")


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
        headers = {"content-type": "application/proto"}
        connection.request("POST", f"{_SERVICE}/{method}", message, headers)
        return connection.getresponse().read()

    return call


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


def main() -> int:
    """1 where a goal was missed."""
    with subprocess.Popen(_COMMAND, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ports = re.findall(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
            with grpc.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
                shares = [
                    share(
                        server.pid,
                        (
                            by_grpc(channel, method, message),
                            by_http(int(ports[1]), method, message),
                        ),
                        count,
                    )
                    for method, message, count in (
                        ("GetModelCard", b"", _CARDS),
                        ("Retrieve", question(), _QUESTIONS),
                    )
                ]
        finally:
            server.terminate()
    for name, found, goal in zip(("card", "question"), shares, _GOALS, strict=True):
        print(f"{name}: {found:.2f} of gRPC's CPU; goal {goal}")
    return int(any(found > goal for found, goal in zip(shares, _GOALS, strict=True)))


def share(process: int, calls: tuple[Callable[[], bytes], ...], count: int) -> float:
    """HTTP's CPU as a share of gRPC's, for the same bytes."""
    assert calls[0]() == calls[1]()
    rounds = [[microseconds(process, call, count) for call in calls] for _ in range(_ROUNDS)]
    first, second = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"  gRPC {first:.0f} us, HTTP {second:.0f} us")
    return float(second / first)


if __name__ == "__main__":
    sys.exit(main())
