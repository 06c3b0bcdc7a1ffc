"""Ordinary callers of the HTTP door beside callers who mean harm.

    python -m benchmarks.http_abuse

As `benchmarks.abuse` for gRPC: each attack lasts some seconds, from a process of its own, while one
ordinary caller asks on a new connection each time. Memory is in MB over what the server's process
held before.
"""

from __future__ import annotations

import http.client
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context

from benchmarks.abuse import GROWTH_MB, SECONDS, SUCCESS, memory
from benchmarks.http_door import question

PATH = "/askew.wire.v1.Retrieval/Retrieve"
HEAD = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n".encode()
COMMAND = (sys.executable, "-m", "askew_server", "serve", "--demo", "--port", "0")


def slow_bodies(port: int) -> None:
    """300 calls whose message comes a byte at a time."""
    _dripped(port, HEAD + b"content-length: 200\r\n\r\n", 300)


def slow_headers(port: int) -> None:
    """300 calls whose headers come a byte at a time."""
    _dripped(port, HEAD + b"x-slow: ", 300)


def many_connections(port: int) -> None:
    """1,000 connections that say nothing."""
    crowd = [_opened(port, b"") for _ in range(1000)]
    time.sleep(SECONDS)
    for each in crowd:
        each.close()


def oversized(port: int) -> None:
    """Messages and headers far beyond every limit, on ten connections at a time."""
    end = time.monotonic() + SECONDS
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    said = (
        HEAD + b"content-length: 99999999999\r\n\r\n" + bytes(1 << 20),
        HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunk * 4,
        HEAD + b"x-large: " + b"y" * (1 << 20),
    )
    while time.monotonic() < end:
        for each in [_opened(port, b"") for _ in range(10)]:
            for data in said:
                with suppress(OSError):
                    each.settimeout(0.1)
                    each.sendall(data)
            each.close()


ATTACKS: tuple[Callable[[int], None], ...] = (
    slow_bodies,
    slow_headers,
    many_connections,
    oversized,
)


def _dripped(port: int, start: bytes, number: int) -> None:
    crowd = [_opened(port, start) for _ in range(number)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for at, each in enumerate(crowd):
            try:
                each.sendall(b"x")
            except OSError:
                each.close()
                crowd[at] = _opened(port, start)
        time.sleep(0.25)


def _opened(port: int, start: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    with suppress(OSError):
        made.sendall(start)
    return made


def answered(port: int) -> bool:
    """Whether an ordinary question is, at the first try."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("POST", PATH, question(), {"content-type": "application/proto"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def attacked(attack: Callable[[int], None], port: int, pid: int) -> bool:
    """One attack, and its line of the table. Returns whether a goal is missed."""
    before = most = memory(pid)
    attacker = get_context("spawn").Process(target=attack, args=(port,))
    attacker.start()
    took, good = list[float](), 0
    while attacker.is_alive():
        start = time.monotonic()
        good += answered(port)
        took.append(time.monotonic() - start)
        most = max(most, memory(pid))
        time.sleep(0.01)
    attacker.join()
    share = good / len(took)
    print(f"{attack.__name__:16} {len(took):6} {share:9.4f} {1e3 * max(took):10.0f} "
          f"{most - before:8.1f}", flush=True)  # fmt: skip
    return share < SUCCESS or most - before > GROWTH_MB or attacker.exitcode != 0


def main() -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    with subprocess.Popen(COMMAND, stdout=-1, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://[^:]+:(\d+)", server.stdout.readline())
        assert found is not None
        port = int(found[1])
        for _ in range(200):
            answered(port)
        print(f"{'attack':16} {'asked':>6} {'at first':>9} {'slowest ms':>10} {'MB most':>8}")
        missed = [attacked(each, port, server.pid) for each in ATTACKS]
        server.terminate()
    print(f"goals: answered {SUCCESS}, {GROWTH_MB:.0f} MB: {'MISSED' if any(missed) else 'kept'}")
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
