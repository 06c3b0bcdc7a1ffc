"""Ordinary callers beside callers who mean harm: how many are answered, and what memory it takes.

    python -m benchmarks.abuse

Each attack lasts some seconds, from a process of its own, while one ordinary caller after the other
asks on a connection of its own and on new ones. Then 10^5 ordinary requests. Memory is what the
server's process holds, in MB over what it held before: at most during an attack, and after a rest.
`at first` is the share answered at the first try. One whose call was not taken or lost tries again
for 5 s, and one who is refused does not, as a device; `answered` counts those with an answer in the
end.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from benchmarks.serving.http2 import (
    DATA,
    HEADERS,
    NO_ANSWER,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    RawConnection,
    frame,
    headers,
    message,
)
from benchmarks.serving.open_loop import Load, offer, serve, served

from askew_server.serving.call import Answer, Job

SUCCESS, GROWTH_MB, REQUESTS_MB = 0.99, 60.0, 5.0  # goals
SECONDS, REST, REQUESTS = 6.0, 2.0, 100_000
PASSING = {NO_ANSWER, 1, 14}  # CANCELLED and UNAVAILABLE: what a device sends again
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 1.9)  # seconds before further tries, as long as a device's
REPLY, PIECE = bytes(600), bytes(1 << 18)
ASK, GET = headers("/Shop/Ask", timeout="1000m"), headers("/Shop/Piece")
QUESTION = message(bytes(260))


class ShopService:
    """A question that takes a job, and a large piece of what devices hold."""

    name = "Shop"

    @property
    def methods(self) -> Mapping[str, Answer]:
        return {"Ask": lambda _, __: Job(lambda: REPLY), "Piece": lambda _, __: PIECE}


def half_sent(port: int) -> None:
    """200 calls without a message on each of 20 connections, again and again."""
    crowd = [RawConnection(port) for _ in range(20)]
    _repeat(port, crowd, lambda each: b"".join(each.call(ASK, None) for _ in range(200)), 1.0)


def unread(port: int) -> None:
    """130 pieces and as many answers asked for on each of 20 connections, with no window."""
    crowd = [RawConnection(port, window=0) for _ in range(20)]
    for head in (ASK, GET):
        _repeat(port, crowd, lambda each, head=head: _many(each, head, 130), SECONDS)  # type: ignore[misc]


def resets(port: int) -> None:
    """20,000 calls that are reset as soon as they begin, on 4 connections."""
    crowd = [RawConnection(port) for _ in range(4)]

    def burst(each: RawConnection) -> bytes:
        calls = []
        for _ in range(25):
            reset = frame(RST_STREAM, 0, each.next_stream, bytes([0, 0, 0, 8]))
            calls.append(each.call(ASK, QUESTION) + reset)
        return b"".join(calls)

    _repeat(port, crowd, burst, SECONDS * 4 * 25 / 20_000)


def oversized(port: int) -> None:
    """Frames, messages and headers far beyond every limit, on ten connections at a time."""
    endless = frame(HEADERS, 0, 1, b"\0\x01a\x7f\x81\x01" + bytes(200_000))
    huge = b"\0" + (1 << 28).to_bytes(4, "big") + bytes(1 << 20)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for made in (_frames_of(huge), [endless], [frame(DATA, 0, 1, bytes(10_000_000))]):
            crowd = [RawConnection(port) for _ in range(10)]
            for each in crowd:
                with suppress(OSError):
                    for part in [each.call(ASK, None), *made]:
                        each.send(part)
            for each in crowd:
                each.close()


def slow(port: int) -> None:
    """300 who send half a preface, half a frame or nothing, and 100 who close one direction."""
    starts = [b"", PREFACE[:7], PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, ASK)[:12]]
    crowd = [_plain(port, start) for start in starts for _ in range(100)]
    for _ in range(100):
        crowd.append(_plain(port, PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, ASK)))
        crowd[-1].shutdown(socket.SHUT_WR)
    time.sleep(SECONDS)


def idle(port: int) -> None:
    """1,000 connections that say who they are and no more."""
    crowd = [RawConnection(port) for _ in range(1000)]
    time.sleep(SECONDS)
    for each in crowd:
        each.close()


ATTACKS: tuple[Callable[[int], None], ...] = (half_sent, unread, resets, oversized, slow, idle)


def _many(each: RawConnection, head: bytes, number: int) -> bytes:
    return b"".join(each.call(head, QUESTION) for _ in range(number))


def _repeat(
    port: int, crowd: list[RawConnection], made: Callable[[RawConnection], bytes], pause: float
) -> None:
    """Send what is made, on every connection, until the attack is over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for number, each in enumerate(crowd):
            with suppress(OSError):
                each.socket.settimeout(0.01)
                each.send(made(each))
                for _ in each.received():
                    pass
            if each.closed:
                each.close()
                crowd[number] = RawConnection(port)
        time.sleep(min(pause, max(0.0, end - time.monotonic())))


def _frames_of(data: bytes) -> list[bytes]:
    return [frame(DATA, 0, 1, data[at : at + 16384]) for at in range(0, len(data), 16384)]


def _plain(port: int, start: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    made.sendall(start)
    return made


def memory(pid: int) -> float:
    """MB that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Ordinary:
    """One who asks again and again, every other time on a new connection."""

    def __init__(self, port: int) -> None:
        self._port, self._kept = port, RawConnection(port)
        self.answered, self.at_first, self.asked, self.slowest = 0, 0, 0, 0.0

    def ask(self) -> None:
        self.asked += 1
        start = time.monotonic()
        status = first = self._once()
        for pause in PAUSES:
            if status in PASSING:
                time.sleep(pause)
                status = self._once()
        self.slowest = max(self.slowest, time.monotonic() - start)
        self.answered, self.at_first = self.answered + (status == 0), self.at_first + (first == 0)

    def _once(self) -> int:
        connection = self._kept if self.asked % 2 else RawConnection(self._port)
        status = self._status(connection)
        if connection is not self._kept:
            connection.close()
        elif connection.closed:
            self._kept = RawConnection(self._port)
        return status

    def _status(self, connection: RawConnection) -> int:
        with suppress(OSError):
            connection.socket.settimeout(2)
            connection.send(connection.call(ASK, QUESTION))
            while not connection.closed:
                for done in connection.received():
                    return done.status
        return NO_ANSWER


def attacked(attack: Callable[[int], None], port: int, pid: int) -> bool:
    """One attack, and its line of the table. Returns whether a goal is missed."""
    before = most = memory(pid)
    attacker = get_context("spawn").Process(target=attack, args=(port,))
    attacker.start()
    caller = Ordinary(port)
    while attacker.is_alive():
        caller.ask()
        most = max(most, memory(pid))
        time.sleep(0.01)
    attacker.join()
    time.sleep(REST)
    grown, back = most - before, memory(pid) - before
    share = caller.answered / caller.asked
    first = caller.at_first / caller.asked
    print(f"{attack.__name__:10} {caller.asked:6} {first:9.4f} {share:9.4f} "
          f"{1e3 * caller.slowest:10.0f} {grown:8.1f} {back:8.1f}", flush=True)  # fmt: skip
    return share < SUCCESS or grown > GROWTH_MB or attacker.exitcode != 0


def after_requests(port: int, pid: int) -> bool:
    """Ordinary requests, and what they leave behind. Returns whether a goal is missed."""
    load = Load(port, pid, "/Shop/Ask", lambda: QUESTION, 5.0)
    offer(load, 3.0, callers=16)
    before, answered = memory(pid), 0
    while answered < REQUESTS:
        answered += offer(load, 4.0, callers=16).statuses[0]
    grown = memory(pid) - before
    print(f"{answered} requests: memory grew by {grown:.1f} MB")
    return grown > REQUESTS_MB


def main() -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    with served(__spec__.name) as (port, pid):
        offer(Load(port, pid, "/Shop/Ask", lambda: QUESTION, 5.0), 2.0, callers=16)
        print(f"{'attack':10} {'asked':>6} {'at first':>9} {'answered':>9} {'slowest ms':>10} "
              f"{'MB most':>8} {'MB after':>8}")  # fmt: skip
        start = memory(pid)
        missed = [attacked(each, port, pid) for each in ATTACKS]
        most = memory(pid) - start
        print(f"after all of them: {most:.1f} MB")
        missed += [most > GROWTH_MB, after_requests(port, pid)]
    print(
        f"goals: answered {SUCCESS}, {GROWTH_MB:.0f} MB at most, {REQUESTS_MB:.0f} MB of requests: "
        f"{'MISSED' if any(missed) else 'kept'}"
    )
    return int(any(missed))


if __name__ == "__main__":
    if "--serve" in sys.argv:
        asyncio.run(serve(ShopService()))
    else:
        sys.exit(main())
