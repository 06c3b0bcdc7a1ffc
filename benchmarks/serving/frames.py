"""Frames of HTTP/2 (RFC 9113) and messages of gRPC, as bytes."""

from __future__ import annotations

import struct

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
