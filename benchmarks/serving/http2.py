"""Unary gRPC calls from bytes that are ready: a closed loop that takes little of the machine.

A client of grpcio takes about as much of the machine as the server that it measures, and h2load
never looks at the status of a call. Here a call is two frames that were made before, and of a reply
everything is checked: its bytes, and `grpc-status 0` in its trailers. The table of header
compression is set to no size, so that a block of headers is read without a state.

Frames: RFC 9113. Blocks of headers: RFC 7541. Messages: gRPC over HTTP/2.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from time import perf_counter

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
_HUGE = 2**31 - 1
_REFILL = 1 << 29  # bytes of replies after which the connection's window is opened again
_FINE = b"\x0bgrpc-status\x010"


class WrongReply(Exception):
    """A reply that is not the expected one."""


@dataclass
class Tally:
    """What one window of a closed loop did. latencies: seconds, one a call."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One frame."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags))
    return head + stream.to_bytes(4, "big") + payload


def message(data: bytes) -> bytes:
    """A gRPC message without compression."""
    return b"\0" + len(data).to_bytes(4, "big") + data


def _text(text: str) -> bytes:
    return bytes((len(text),)) + text.encode()


class Connection:
    """One connection, one call at a time."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        named = [(":authority", 1, f"127.0.0.1:{port}"), (":path", 4, path)]
        # :method POST and :scheme http of the static table, then literals that nobody remembers.
        block = b"\x83\x86" + b"".join(bytes((index,)) + _text(text) for _, index, text in named)
        block += b"\x0f\x10" + _text("application/grpc") + b"\x00" + _text("te") + _text("trailers")
        self._headers = block + b"\x00" + _text("grpc-timeout") + _text("20S")
        self._stream, self._left, self._seen = -1, b"", 0
        self.reply, self.asked = b"", 0.0
        settings = b"\0\1\0\0\0\0" + b"\0\2\0\0\0\0" + b"\0\4" + _HUGE.to_bytes(4, "big")
        opening = frame(SETTINGS, 0, 0, settings) + frame(WINDOW, 0, 0, _open(_HUGE - 65535))
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + opening)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def ask(self, question: bytes) -> None:
        """Begins a call."""
        self._stream += 2
        self.reply, self.asked = b"", perf_counter()
        call = frame(HEADERS, END_HEADERS, self._stream, self._headers)
        self._socket.sendall(call + frame(DATA, END_STREAM, self._stream, message(question)))

    def receive(self) -> bool:
        """Reads what is there; whether the call has ended. Raises WrongReply for another status."""
        new = self._socket.recv(1 << 17)
        if not new:
            raise WrongReply("the server closed a connection")
        data, at, ended = self._left + new, 0, False
        while len(data) >= at + 9:
            end = at + 9 + int.from_bytes(data[at : at + 3], "big")
            if end > len(data):
                break
            ended |= self._read(data[at + 3], data[at + 4], data[at + 9 : end])
            at = end
        self._left = data[at:]
        return ended

    def _read(self, kind: int, flags: int, payload: bytes) -> bool:
        if kind == DATA:
            self.reply += payload
            self._seen += len(payload)
            if self._seen > _REFILL:
                self._socket.sendall(frame(WINDOW, 0, 0, _open(self._seen)))
                self._seen = 0
        elif kind == HEADERS and flags & END_STREAM:
            if _FINE not in payload:
                raise WrongReply(f"a call failed: {payload!r}")
            return True
        elif kind in {SETTINGS, PING} and not flags & ACK:
            self._socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind in {RESET, GOAWAY}:
            raise WrongReply("the server gave a call up")
        return False


def _open(size: int) -> bytes:
    return size.to_bytes(4, "big")


class ClosedLoop:
    """So many connections that each ask again as soon as they are answered.

    calls: questions in turn, each with the reply that it must get.
    """

    def __init__(self, port: int, path: str, width: int, calls: Sequence[tuple[bytes, bytes]]):
        self._calls = cycle([(question, message(reply)) for question, reply in calls])
        self._connections = [Connection(port, path) for _ in range(width)]
        self._poll = select.epoll()
        self._at = {each.fileno(): each for each in self._connections}
        for number in self._at:
            self._poll.register(number, select.EPOLLIN)

    def run(self, seconds: float) -> Tally:
        """Asks for so long, and waits for the last replies. Raises WrongReply for any other."""
        tally, expected, start = Tally(), dict[int, bytes](), perf_counter()
        for each in self._connections:
            expected[each.fileno()] = self._next(each)
        while expected:
            for number, _ in self._poll.poll(30) or _silent():
                each = self._at[number]
                if not each.receive():
                    continue
                if each.reply != expected.pop(number):
                    raise WrongReply("a reply has other bytes than the same question got before")
                now = perf_counter()
                tally.latencies.append(now - each.asked)
                if now - start < seconds:
                    expected[number] = self._next(each)
        tally.seconds = perf_counter() - start
        return tally

    def close(self) -> None:
        self._poll.close()
        for each in self._connections:
            each.close()

    def _next(self, connection: Connection) -> bytes:
        question, reply = next(self._calls)
        connection.ask(question)
        return reply


def ask_once(port: int, path: str, questions: Sequence[bytes]) -> list[bytes]:
    """The replies to these questions, one after the other."""
    connection = Connection(port, path)
    replies = []
    for question in questions:
        connection.ask(question)
        while not connection.receive():
            pass
        replies.append(connection.reply[5:])
    connection.close()
    return replies


def _silent() -> list[tuple[int, int]]:
    raise WrongReply("the server was silent for 30 seconds")


Load = Callable[[float], Tally]
"""What a window runs."""
