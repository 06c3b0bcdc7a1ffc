"""All that can be seen of a device: what passes on the network, its log, its files.

`recorder.py` keeps every byte that the device sends. Two things are left out, which gRPC's library
makes by its own coins and clock: the eight random bytes of a PING, and how long a call still waits.
How many PINGs there are depends on the moments of the server's frames.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.wire.v1 import retrieval_pb2 as pb

RECORDER = Path(__file__).with_name("recorder.py")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = 9  # bytes before each frame of HTTP/2
MESSAGE_HEAD = 5  # bytes before each message of gRPC
DATA, HEADERS, SETTINGS = 0, 1, 4
ACKNOWLEDGES = 1
DEADLINE = re.compile(rb"(grpc-timeout)(.)\d+[HMSmun]", re.DOTALL)
PRIVATE = re.compile(r"(profile|signals)[.]sqlite(-\w+)?|signals[.]json")
CLOCKS = {"record.json"}  # when a device looks again: drawn, from the kernel


@dataclass(frozen=True)
class Connection:
    """One that a device opened. door: "grpc" or "http". sends, gets: the moments in seconds of what
    it sent, with the bytes in hexadecimal, and of what it got. how: it "ends" or "resets" it.
    """

    door: str
    began: float
    sends: list[tuple[float, str]]
    gets: list[float]
    ended: float
    how: str

    @property
    def data(self) -> bytes:
        return bytes.fromhex("".join(data for _, data in self.sends))

    @property
    def spoke(self) -> float:
        return self.sends[0][0]

    @property
    def replied(self) -> float:
        """What a server says after the end, such as its own good-bye, is not a reply any more."""
        return max(at for at in self.gets if at <= self.ended)

    def said(self) -> tuple[object, ...]:
        """All of it that is the device's."""
        if self.door == "http":
            return (self.door, self.data)
        return (self.door, *(frame for frame in frames(self.data) if frame is not None))


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

    def __init__(self, recorder: subprocess.Popen[str]) -> None:
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        self._ask, self._told = recorder.stdin, recorder.stdout
        self.address = f"127.0.0.1:{self._told.readline().strip()}"

    def take(self) -> list[Connection]:
        self._ask.write("\n")
        self._ask.flush()
        return [Connection(**fields) for fields in json.loads(self._told.readline())]


@contextmanager
def recorded(address: str) -> Iterator[Recording]:
    command = [sys.executable, str(RECORDER), address.rpartition(":")[2]]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as recorder:
        yield Recording(recorder)


# Whether the garbage of an earlier channel is gone yet: gRPC starts its engine anew, and says so.
OF_THE_COLLECTOR = "grpc._cython.cygrpc"


class Log(logging.Handler):
    """Every line that is logged, of every level and of every logger but gRPC's engine."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == OF_THE_COLLECTOR:
            return
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")

    def take(self) -> tuple[str, ...]:
        lines, self.lines = self.lines, []
        return tuple(lines)


@contextmanager
def logged() -> Iterator[Log]:
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


def questions_of(sent: Iterable[Connection]) -> list[pb.RetrieveRequest]:
    data = [
        frame[3]
        for each in sent
        if each.door == "grpc"
        for frame in frames(each.data)
        if frame is not None and frame[0] == DATA
    ]
    return [pb.RetrieveRequest.FromString(each[MESSAGE_HEAD:]) for each in data]
