"""A server that answers by hand, byte by byte: gRPC on one port, files on the next.

Everything that a device sends is written down. What it asks is answered honestly, or by an attack.
"""

from __future__ import annotations

import re
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from client.conftest import Pair

from askew.errors import AskewError, WireError
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import slate_to_bytes
from askew_client.opening import Device, open_device
from askew_client.profile.document import Liking, ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import Caps, ClientSettings
from askew_client.signals.account import Entry
from askew_client.signals.store import SignalStore
from askew_client.views.answers import Answer
from askew_client.views.problems import problem_of
from askew_server.serving.settings import second_ports

Fields = dict[str, bytes]
OK: Fields = {":status": b"200", "content-type": b"application/grpc"}
DONE: Fields = {"grpc-status": b"0"}
DATA, HEADERS, RESET, SETTINGS, PUSH, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1

PATIENT = ClientSettings(
    mode="ask",
    epsilon_per_rating=Fraction(2),
    rating_monthly_cap=Fraction(8),
    k=4,
    max_ratings_apart=8.0,
    timeout=30.0,
)
ATTACKED = replace(PATIENT, timeout=0.2)
LONGER = replace(PATIENT, timeout=2.0)
RATINGS: dict[str, Liking] = {"Film 3": 5.0, "Film 9": 1.0}
MOST_CPU = 2.0  # seconds of an attack, the attacker's own threads among them
MOST_MEMORY = 64 << 20  # bytes of an attack; the largest reply that a device takes costs it 54 MiB


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack(">I", stream)
        + payload
    )


def _length(n: int) -> bytes:
    """A length in HPACK, of text that is not compressed."""
    if n < 127:
        return bytes([n])
    out, n = b"\x7f", n - 127
    while n >= 128:
        out, n = out + bytes([n % 128 + 128]), n // 128
    return out + bytes([n])


def literal(name: str, value: bytes) -> bytes:
    """A header field in HPACK, kept in no table."""
    return b"\0" + _length(len(name)) + name.encode() + _length(len(value)) + value


def headers(fields: Fields, *, last: bool = False) -> bytes:
    """Header fields, in as many frames as they need."""
    block = b"".join(literal(*field) for field in fields.items())
    parts = [block[at : at + 16_000] for at in range(0, max(len(block), 1), 16_000)]
    flags = [0] * (len(parts) - 1) + [END_HEADERS]
    flags[0] |= END_STREAM if last else 0
    kinds = [HEADERS] + [CONTINUATION] * (len(parts) - 1)
    rows = zip(kinds, parts, flags, strict=True)
    return b"".join(frame(kind, part, flag, 1) for kind, part, flag in rows)


def message(data: bytes, compressed: int = 0, said: int | None = None) -> bytes:
    """A message of gRPC. said: what its prefix says of its length."""
    return bytes([compressed]) + struct.pack(">I", len(data) if said is None else said) + data


def body(data: bytes) -> bytes:
    """Bytes of a reply, in as many frames as they need."""
    return b"".join(
        frame(DATA, data[at : at + 16_000], 0, 1) for at in range(0, max(len(data), 1), 16_000)
    )


def whole(reply: bytes) -> bytes:
    return headers(OK) + body(message(reply)) + headers(DONE, last=True)


@dataclass
class Call:
    world: World
    socket: socket.socket

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.socket.sendall(part)

    def hear(self) -> bytes:
        """The honest reply to what the device asks, which is read first."""
        self.send(frame(SETTINGS))
        self._exactly(24)
        data = b""
        while True:
            head = self._exactly(9)
            payload, kind, flags = self._exactly(int.from_bytes(head[:3])), head[3], head[4]
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, flags=ACK))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, payload, ACK))
            elif kind == DATA:
                data += payload
                if flags & END_STREAM:
                    break
        self.world.asked.append(data[5:])
        return self.world.honest(data[5:])

    def more(self, most: int) -> bytes:
        data = self.socket.recv(most)
        if not data:
            raise ConnectionError
        return data

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def gone(self) -> None:
        with suppress(OSError):
            while self.socket.recv(1 << 16):
                pass

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.more(size - len(data))
        return data


@dataclass
class Fetch(Call):
    """One connection of a device to the door of files. path, first, last: what it asks for."""

    path: str = ""
    first: int = 0
    last: int | None = None

    def hear(self) -> bytes:
        """The bytes that an honest host would send of the file, or none."""
        request = b""
        while b"\r\n\r\n" not in request:
            request += self.more(1 << 16)
        self.world.fetched.append(request)
        found = re.match(rb"GET (\S+) HTTP.*\r\nRange: bytes=(\d+)-(\d*)\r\n", request, re.DOTALL)
        assert found
        self.path, self.first = found[1].decode(), int(found[2])
        self.last = int(found[3]) if found[3] else None
        file = self.world.file if self.path.endswith(".whole") else b""
        return file[self.first : None if self.last is None else self.last + 1]

    def honest(self, piece: bytes, *more: str) -> bytes:
        end = self.first + len(piece) - 1
        lines = [
            "HTTP/1.1 206 Partial Content",
            f"Content-Range: bytes {self.first}-{end}/{len(self.world.file)}",
            f"Content-Length: {len(piece)}",
            *more,
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def honest_call(call: Call) -> None:
    call.send(whole(call.hear()))
    call.gone()


def honest_fetch(fetch: Fetch) -> None:
    piece = fetch.hear()
    if piece or fetch.path.endswith(".whole"):
        fetch.send(fetch.honest(piece), piece)
    else:
        fetch.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


@dataclass
class World:
    """Both doors, honest until told otherwise. asked: each question's message. fetched: each
    request for a file.
    """

    pair: Pair
    call: Callable[[Call], None] = honest_call
    fetch: Callable[[Fetch], None] = honest_fetch
    asked: list[bytes] = field(default_factory=list)
    fetched: list[bytes] = field(default_factory=list)
    file: bytes = b""
    spoil: Callable[[bytes], bytes] = lambda reply: reply
    address: str = ""
    connections: int = 0  # to the door of gRPC

    def __post_init__(self) -> None:
        self.file = catalog_to_bytes(self.pair.card, self.pair.catalog)

    def honest(self, request: bytes) -> bytes:
        try:
            asked = query_from_bytes(request, self.pair.card)
        except WireError:
            return b""
        return self.spoil(slate_to_bytes(self.pair.retrieve(asked), self.pair.card))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Listens on two ports that follow each other."""
        for number in second_ports(0):
            with ExitStack() as tried:
                try:
                    files = tried.enter_context(socket.create_server(("127.0.0.1", number)))
                    port = files.getsockname()[1] - 1
                    calls = tried.enter_context(socket.create_server(("127.0.0.1", port)))
                except OSError:
                    continue
                for door, kind in ((calls, Call), (files, Fetch)):
                    threading.Thread(target=self._serve, args=(door, kind), daemon=True).start()
                    tried.callback(door.shutdown, socket.SHUT_RDWR)
                self.address = f"127.0.0.1:{port}"
                yield
                return
        raise AssertionError("no two ports that follow each other are free")

    def _serve(self, door: socket.socket, kind: type[Call]) -> None:
        with suppress(OSError):
            while True:
                connection, _ = door.accept()
                connection.settimeout(5)
                self.connections += kind is Call
                act = threading.Thread(target=self._act, args=(kind(self, connection),))
                act.daemon = True
                act.start()

    def _act(self, wire: Call) -> None:
        with suppress(OSError), wire.socket:
            if isinstance(wire, Fetch):
                self.fetch(wire)
            else:
                self.call(wire)


@dataclass
class Spent:
    """What something took of this process, in seconds of processors and bytes."""

    cpu: float = 0.0
    memory: int = 0

    def check(self) -> None:
        assert self.cpu < MOST_CPU, self
        assert self.memory < MOST_MEMORY, self


@contextmanager
def measured() -> Iterator[Spent]:
    """Of all threads; the memory is the highest of the meantime above that of the beginning."""
    spent, began = Spent(), time.process_time()
    before = _peak(reset=True)
    yield spent
    spent.cpu, spent.memory = time.process_time() - began, _peak() - before


def _peak(*, reset: bool = False) -> int:
    """The highest memory of this process so far, or since it was reset, where Linux can do that."""
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if reset:
        with suppress(OSError):
            clear.write_text("5", encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
    assert found
    return int(found[1]) << 10


def device_at(
    world: World,
    folder: Path,
    settings: ClientSettings = PATIENT,
    ratings: dict[str, Liking] = RATINGS,
) -> AbstractAsyncContextManager[Device]:
    profile = PassingProfile(ProfileDocument(ratings))
    return open_device(settings, server=world.address, directory=folder, profile=profile)


async def ask(
    world: World, folder: Path, settings: ClientSettings = PATIENT
) -> Answer | AskewError:
    async with device_at(world, folder, settings) as device:
        return await outcome_of(device)


async def hold(world: World, folder: Path) -> None:
    """Fetch what a device holds, and ask nothing."""
    async with device_at(world, folder) as device:
        await device.titles.connect()


async def outcome_of(device: Device) -> Answer | AskewError:
    """The answer to one question, or why there is none."""
    try:
        return await device.asker.ask(device.titles)
    except AskewError as error:
        return error


def charges(folder: Path) -> tuple[Entry, ...]:
    path = folder / "signals.sqlite"
    return SignalStore(path, Caps(Fraction(192))).entries() if path.exists() else ()


def is_clear(outcome: Answer | AskewError) -> bool:
    """Four results, or an error with a few plain words and a hint, none of them the server's."""
    if isinstance(outcome, Answer):
        return len(outcome.results) == 4
    text = str(outcome)
    return 10 < len(text) < 400 and text.isprintable() and bool(problem_of(outcome).hint)


async def honest_after(world: World, folder: Path) -> None:
    """An honest server after the attack gets the question that was paid for, for nothing more."""
    paid = charges(folder)
    world.call, world.fetch, world.spoil = honest_call, honest_fetch, lambda reply: reply
    answer = await ask(world, folder)
    assert isinstance(answer, Answer), answer
    assert len(answer.results) == 4
    assert len(set(world.asked)) == 1
    assert len(charges(folder)) == 1
    assert paid in ((), charges(folder))
