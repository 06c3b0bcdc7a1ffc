"""A client of gRPC made of bare HTTP/2 frames: as fast as Python allows, and free to misbehave.

Nothing has to be remembered between frames: a status is found by looking for its name.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.serving.frames import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    LARGEST,
    PING,
    RST_STREAM,
    SETTINGS,
    frame,
    opening,
)

NO_ANSWER = -1  # instead of a status: the stream was reset, or the connection closed
_STATUS = re.compile(rb"grpc-status[\x01\x02](\d\d?)")


@dataclass(frozen=True)
class Done:
    """The end of a call: its stream and its status."""

    stream: int
    status: int


class RawConnection:
    """One connection. window: bytes that a reply may bring before its reader takes any."""

    def __init__(self, port: int, *, window: int = LARGEST, tls: ssl.SSLContext | None = None):
        plain = socket.create_connection(("127.0.0.1", port), timeout=20)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = tls.wrap_socket(plain, server_hostname="localhost") if tls else plain
        self.socket.sendall(opening(window))
        self.next_stream = 1
        self.closed = False
        self._held = b""

    def call(self, head: bytes, data: bytes | None) -> bytes:
        """The frames of a new call; without data it stays half-sent."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        start = frame(HEADERS, END_HEADERS, stream, head)
        return start if data is None else start + frame(DATA, END_STREAM, stream, data)

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
