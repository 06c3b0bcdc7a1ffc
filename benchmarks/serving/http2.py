"""Clients of gRPC made of bare HTTP/2 frames (RFC 9113).

`ClosedLoop` asks from bytes that are ready and takes little of the machine: a client of grpcio
takes about as much of it as the server that it measures, and h2load never looks at the status of a
call. A call is two frames that were made before; of a reply everything is checked, its bytes and
`grpc-status 0` in its trailers.

`RawConnection` is as fast as Python allows. It remembers nothing between
frames: a status is found by looking for its name.
"""

from __future__ import annotations

import re
import select
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from time import perf_counter

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
TABLE_SIZE, PUSH, WINDOW = 1, 2, 4  # settings
LARGEST = 2**31 - 1  # of a window
_FIRST = 65535  # a connection's window at the start


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload


def opened(size: int) -> bytes:
    """The connection takes so many bytes more."""
    return frame(WINDOW_UPDATE, 0, 0, size.to_bytes(4, "big"))


def opening(window: int) -> bytes:
    """How a connection begins that remembers no headers. window: bytes of one reply that may come
    before its reader takes any.
    """
    settings = struct.pack(">HIHIHI", TABLE_SIZE, 0, PUSH, 0, WINDOW, window)
    return PREFACE + frame(SETTINGS, 0, 0, settings) + opened(LARGEST - _FIRST)


def headers(path: str, authority: str = "a", timeout: str = "") -> bytes:
    """The headers of a call, as literals that nobody remembers (RFC 7541). timeout: as gRPC writes
    it, such as 1000m.
    """
    pairs = {":path": path, ":authority": authority}
    pairs |= {"content-type": "application/grpc", "te": "trailers"}
    if timeout:
        pairs["grpc-timeout"] = timeout
    fields = (_literal(name.encode(), value.encode()) for name, value in pairs.items())
    return b"\x83\x86" + b"".join(fields)  # POST and http


def message(data: bytes) -> bytes:
    """A gRPC message without compression."""
    return b"\0" + len(data).to_bytes(4, "big") + data


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


_REFILL = 1 << 29  # bytes of replies after which the connection's window is opened again
_FINE = b"\x0bgrpc-status\x010"


class WrongReply(Exception):
    """A reply that is not the expected one."""


@dataclass
class Tally:
    """What one window of a closed loop did. latencies: seconds, one a call."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)


class Connection:
    """One connection, one call at a time."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = headers(path, f"127.0.0.1:{port}", "20S")
        self._stream, self._left, self._seen = -1, b"", 0
        self.reply, self.asked = b"", 0.0
        self._socket.sendall(opening(LARGEST))

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
                self._socket.sendall(opened(self._seen))
                self._seen = 0
        elif kind == HEADERS and flags & END_STREAM:
            if _FINE not in payload:
                raise WrongReply(f"a call failed: {payload!r}")
            return True
        elif kind in {SETTINGS, PING} and not flags & ACK:
            self._socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind in {RST_STREAM, GOAWAY}:
            raise WrongReply("the server gave a call up")
        return False


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


NO_ANSWER = -1  # instead of a status: the stream was reset, or the connection closed
_STATUS = re.compile(rb"grpc-status[\x01\x02](\d\d?)")


@dataclass(frozen=True)
class Done:
    """The end of a call: its stream and its status."""

    stream: int
    status: int


class RawConnection:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(opening(LARGEST))
        self.next_stream = 1
        self.closed = False
        self._held = b""

    def call(self, head: bytes, data: bytes) -> bytes:
        """The frames of a new call."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        return frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, data)

    def send(self, frames: bytes) -> None:
        self.socket.sendall(frames)

    def received(self) -> Iterator[Done]:
        """The calls that ended by what has come. Raises TimeoutError where nothing comes."""
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise
        except OSError:
            data = b""
        self.closed = not data
        data, at = self._held + data, 0
        while len(data) - at >= 9:
            word, flags, stream = struct.unpack_from(">IBI", data, at)
            end = at + 9 + (word >> 8)
            if end > len(data):
                break
            yield from self._taken(word & 255, flags, stream, data[at + 9 : end])
            at = end
        self._held = data[at:]

    def _taken(self, kind: int, flags: int, stream: int, payload: bytes) -> Iterator[Done]:
        if kind == HEADERS and flags & END_STREAM:
            found = _STATUS.search(payload)
            yield Done(stream, int(found[1]) if found else NO_ANSWER)
        elif kind == RST_STREAM and any(payload):  # without an error it follows a status
            yield Done(stream, NO_ANSWER)
        elif kind in {SETTINGS, PING} and not flags & ACK:
            self.send(frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind == GOAWAY:
            self.closed = True

    def close(self) -> None:
        self.socket.close()
