"""Clients of gRPC made of bare HTTP/2 frames (RFC 9113).

`RawConnection` is as fast as Python allows: a call is two frames, and a status is found by looking
for its name. A client of grpcio takes about as much of the machine as the server that it measures,
and h2load never looks at the status of a call.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
TABLE_SIZE, PUSH, WINDOW = 1, 2, 4  # settings
LARGEST = 2**31 - 1  # of a window
_FIRST = 65535  # a connection's window at the start


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload


def opening(window: int) -> bytes:
    """Return how a connection begins that remembers no headers.

    window: bytes of one reply that may come before its reader takes any.
    """
    settings = struct.pack(">HIHIHI", TABLE_SIZE, 0, PUSH, 0, WINDOW, window)
    opened = (LARGEST - _FIRST).to_bytes(4, "big")
    return PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, opened)


def headers(path: str, authority: str = "a", timeout: str = "") -> bytes:
    """Return the headers of a call, as literals that nobody remembers (RFC 7541).

    timeout: as gRPC writes it, such as 1000m.
    """
    pairs = {":path": path, ":authority": authority}
    pairs |= {"content-type": "application/grpc", "te": "trailers"}
    if timeout:
        pairs["grpc-timeout"] = timeout
    fields = (_literal(name.encode(), value.encode()) for name, value in pairs.items())
    return b"\x83\x86" + b"".join(fields)  # POST and http


def message(data: bytes) -> bytes:
    """Return a gRPC message without compression."""
    return b"\0" + len(data).to_bytes(4, "big") + data


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


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
        """Return the frames of a new call."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        return frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, data)

    def send(self, frames: bytes) -> None:
        self.socket.sendall(frames)

    def received(self) -> Iterator[Done]:
        """Yield the calls that ended by what has come. Raises TimeoutError where nothing comes."""
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
