"""A proxy between a device and both doors of a server, and all that can be seen of a device.

gRPC's port and the one after it, for files by HTTP, are forwarded. Every byte that the device sends
is kept, connection by connection in the order in which they began. Two things are left out, which
gRPC's library makes by its own coins and clock: the eight random bytes of a PING, and how long a
call still waits. How many PINGs there are depends on the moments of the server's frames.
"""

from __future__ import annotations

import hashlib
import logging
import re
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.serving.settings import second_ports

PATIENCE = 30.0  # seconds for a device's last connection to end
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# What is closed leaves no port behind that waits for a minute: there are 28,000.
RESETS = struct.pack("ii", 1, 0)
HEAD = 9  # bytes before each frame of HTTP/2
MESSAGE_HEAD = 5  # bytes before each message of gRPC
DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
ACKNOWLEDGES = 1
DEADLINE = re.compile(rb"(grpc-timeout)(.)\d+[HMSmun]", re.DOTALL)
PRIVATE = re.compile(r"(profile|signals)[.]sqlite(-\w+)?|signals[.]json")
CLOCKS = {"record.json"}  # when a device looks again: drawn, from the kernel


@dataclass
class Sent:
    """What a device sent by one connection. door: "grpc" or "http"."""

    door: str
    data: bytearray = field(default_factory=bytearray)
    ended: threading.Event = field(default_factory=threading.Event)

    def said(self) -> tuple[object, ...]:
        """All of it that is the device's."""
        if self.door == "http":
            return (self.door, bytes(self.data))
        return (self.door, *(each for each in frames(bytes(self.data)) if each is not None))


def frames(data: bytes) -> Iterator[tuple[int, int, int, bytes] | None]:
    """Kind, flags, stream and payload of each frame; None for one that answers the server's."""
    assert data.startswith(PREFACE), data
    at = len(PREFACE)
    while at < len(data):
        size = int.from_bytes(data[at : at + 3])
        kind, flags = data[at + 3], data[at + 4]
        stream = int.from_bytes(data[at + 5 : at + HEAD])
        payload = data[at + HEAD : at + HEAD + size]
        at += HEAD + size
        if kind in {DATA, HEADERS}:
            yield kind, flags, stream, DEADLINE.sub(rb"\1", payload)
        elif kind == SETTINGS and not flags & ACKNOWLEDGES:
            yield kind, flags, stream, payload
        else:
            yield None


class Recording:
    """What passed since it was last taken. address: where the device is to connect."""

    def __init__(self) -> None:
        self.address = ""
        self._sent: list[Sent] = []

    def begun(self, door: str) -> Sent:
        """A connection that a device opened."""
        self._sent.append(Sent(door))
        return self._sent[-1]

    def take(self) -> list[Sent]:
        """All connections, once each has ended."""
        sent, self._sent = self._sent, []
        for each in sent:
            assert each.ended.wait(PATIENCE), "a device left a connection open"
        return sent


@contextmanager
def recorded(address: str) -> Iterator[Recording]:
    """Two ports that lead to a server's two."""
    port = int(address.rpartition(":")[2])
    recording = Recording()
    with ExitStack() as left:
        listeners = _two_ports(left)
        for door, listener, beside in zip(("grpc", "http"), listeners, (0, 1), strict=True):
            left.callback(listener.shutdown, socket.SHUT_RDWR)
            arguments = (listener, port + beside, door, recording)
            threading.Thread(target=_forward, args=arguments, daemon=True).start()
        recording.address = f"127.0.0.1:{listeners[0].getsockname()[1]}"
        yield recording


def _forward(listener: socket.socket, port: int, door: str, recording: Recording) -> None:
    with suppress(OSError):  # the listener is closed: all is over
        while True:
            device, _ = listener.accept()
            sent = recording.begun(door)
            server = socket.create_connection(("127.0.0.1", port))
            for each in (device, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)
            threading.Thread(target=_carry_back, args=(server, device), daemon=True).start()
            threading.Thread(target=_carry, args=(device, server, sent), daemon=True).start()


def _carry(device: socket.socket, server: socket.socket, sent: Sent) -> None:
    with suppress(OSError):
        while data := device.recv(1 << 16):
            sent.data += data
            server.sendall(data)
    with suppress(OSError):  # the other thread waits for the server's end of it
        server.shutdown(socket.SHUT_RD)
    for each in (server, device):
        each.close()
    sent.ended.set()


def _carry_back(server: socket.socket, device: socket.socket) -> None:
    with suppress(OSError):
        while data := server.recv(1 << 16):
            device.sendall(data)
        device.shutdown(socket.SHUT_WR)


def _two_ports(left: ExitStack) -> tuple[socket.socket, socket.socket]:
    for number in second_ports(0):
        with ExitStack() as tried, suppress(OSError):
            second = tried.enter_context(socket.create_server(("127.0.0.1", number), backlog=64))
            before = "127.0.0.1", second.getsockname()[1] - 1
            first = tried.enter_context(socket.create_server(before, backlog=64))
            left.enter_context(tried.pop_all())
            return first, second
    raise AssertionError("no two ports that follow each other are free")


# Whether the garbage of an earlier channel is gone yet: gRPC starts its engine anew, and says so.
OF_THE_COLLECTOR = "grpc._cython.cygrpc"


class Log(logging.Handler):
    """Every line that is logged, of every level and of every logger but gRPC's engine."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line down."""
        if record.name == OF_THE_COLLECTOR:
            return
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")

    def take(self) -> tuple[str, ...]:
        """The lines since the last time."""
        lines, self.lines = self.lines, []
        return tuple(lines)


@contextmanager
def logged() -> Iterator[Log]:
    """All that is logged meanwhile."""
    log, root = Log(), logging.getLogger()
    level = root.level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    try:
        yield log
    finally:
        root.removeHandler(log)
        root.setLevel(level)


def files_outside_the_private_store(directory: Path) -> tuple[tuple[str, str], ...]:
    """Their names, and what they say; of what holds a clock, its size."""
    found = []
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not PRIVATE.fullmatch(path.name):
            data = path.read_bytes()
            says = str(len(data)) if path.name in CLOCKS else hashlib.sha256(data).hexdigest()
            found.append((str(path.relative_to(directory)), says))
    return tuple(found)


@contextmanager
def frozen() -> Iterator[None]:
    """Every mechanism of the device gives the same output, whatever its input."""

    def of_a_point(_: LatticeLaplace, point: Iterable[float | Fraction], *__: object) -> object:
        return tuple(300 * n - 1200 for n, _ in enumerate(point))

    with (
        patch.object(LatticeLaplace, "perturb", of_a_point),
        patch.object(HexagonalLattice, "perturb", lambda *_: (640, -1280)),
    ):
        yield


def questions_of(sent: Iterable[Sent]) -> list[pb.RetrieveRequest]:
    """The messages of questions, as they crossed."""
    data = [
        frame[3]
        for each in sent
        if each.door == "grpc"
        for frame in frames(bytes(each.data))
        if frame is not None and frame[0] == DATA
    ]
    return [pb.RetrieveRequest.FromString(each[MESSAGE_HEAD:]) for each in data]
