"""Servers that attack the transport, against the production device over real sockets.

Whatever comes back, the device sent the question that it had paid for, byte for byte, as often as a
retry repeats it, and nothing else. It ends by an answer or an error with words, within bounds of
memory and work. The next honest server gets the same bytes and is paid nothing more.
"""

from __future__ import annotations

import datetime
import os
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import grpc
import pytest
from client.conftest import Pair
from client.hostile_world import (
    ATTACKED,
    CONTINUATION,
    DONE,
    GOAWAY,
    HEADERS,
    LONGER,
    OK,
    PATIENT,
    PUSH,
    RESET,
    SETTINGS,
    Call,
    Fetch,
    World,
    ask,
    body,
    charges,
    device_at,
    frame,
    headers,
    hold,
    honest_after,
    is_clear,
    literal,
    measured,
    message,
    outcome_of,
    whole,
)

from askew.catalog.catalog_file import HEAD_BYTES, Part, catalog_date_of
from askew_client.catalog.cache import date_of
from askew_client.transport import grpc as grpc_transport
from askew_client.views.answers import Answer

PATIENCE = 0.1  # seconds, of retries
MOST_QUESTIONS = 12  # of one attack: the question, and its retries within the patience
ESCAPE = b"\x1b]0;mine\x07\x1b[2J"
TAKEN, BOMB = 1 << 24, 1 << 27  # bytes of zeros: nearly as many as a device takes, and more


@pytest.fixture
def world(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(grpc_transport, "PATIENCE", PATIENCE)
    monkeypatch.setattr(grpc_transport, "NOBODY", PATIENCE)
    return World(pair)


def sends(make: Callable[[bytes], bytes]) -> Callable[[Call], None]:
    """Sends what is made of the honest reply, and waits until the device hangs up."""

    def act(call: Call) -> None:
        call.send(make(call.hear()))
        call.gone()

    return act


def replies(fields: dict[str, bytes], data: bytes = b"", last: dict[str, bytes] = DONE) -> bytes:
    return headers(fields) + body(data) + headers(last, last=True)


def fails(code: grpc.StatusCode, text: bytes = ESCAPE) -> Callable[[Call], None]:
    fields = OK | {"grpc-status": str(code.value[0]).encode(), "grpc-message": text}
    return sends(lambda _: headers(fields, last=True))


def at_once(data: bytes) -> Callable[[Call], None]:
    def act(call: Call) -> None:
        call.send(data)
        call.gone()

    return act


def dripping(call: Call) -> None:
    """A byte every 10 ms."""
    for each in whole(call.hear()):
        call.send(bytes([each]))
        time.sleep(0.01)  # an attack


def flooding(unit: bytes) -> Callable[[Call], None]:
    """The same frames over and over, as long as the device takes them."""

    def act(call: Call) -> None:
        call.hear()
        for _ in range((1 << 22) // len(unit)):
            call.send(unit)
        call.gone()

    return act


@cache
def packed(size: int, wbits: int = 31) -> bytes:
    """So many zeros in a thousandth of their bytes, by gzip (31) or zlib (15).

    A MiB at a time: what an attack makes is measured with what it does to the device.
    """
    pack = zlib.compressobj(1, wbits=wbits)
    parts = [pack.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join(parts) + pack.flush()


def bomb(size: int) -> Callable[[Call], None]:
    fields = OK | {"grpc-encoding": b"gzip"}
    return sends(lambda _: replies(fields, message(packed(size), 1)))


def more_than_is_taken(call: Call) -> None:
    call.hear()
    call.send(headers(OK), body(message(b"", said=1 << 26)))
    for _ in range(1 << 10):
        call.send(body(bytes(1 << 16)))


GOODBYE = frame(GOAWAY, bytes(4) + (2).to_bytes(4) + ESCAPE)
CODES = (  # each that the device tells apart, and one more
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.CANCELLED,
)
CALLS: dict[str, Callable[[Call], None]] = {
    "closes before anything": lambda _: None,
    "resets before anything": lambda call: call.reset(),
    "hears and says nothing": sends(lambda _: b""),
    "drips its reply": dripping,
    "answers in HTTP/1.1": at_once(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "says goodbye at once": at_once(frame(SETTINGS) + GOODBYE),
    "resets the stream": sends(lambda _: frame(RESET, (7).to_bytes(4), 0, 1)),
    "floods with settings": flooding(frame(SETTINGS, b"\0\4\0\0\xff\xff") * 64),
    "floods with headers that do not end": flooding(
        frame(HEADERS, literal("x", b"y"), 0, 1) + frame(CONTINUATION, literal("x", b"y"), 0, 1)
    ),
    "pushes what nobody asked for": sends(
        lambda reply: frame(PUSH, (2).to_bytes(4) + literal(":path", b"/x"), 4, 1) + whole(reply)
    ),
    "sends a frame of 16 MiB": sends(lambda _: b"\xff\xff\xff\0\0\0\0\0\1"),
    "replies with two messages": sends(lambda r: replies(OK, message(r) * 2)),
    "replies with no message": sends(lambda _: replies(OK)),
    "says 4 GiB": sends(lambda r: replies(OK, message(r, said=2**32 - 1))),
    "sends more than is taken": more_than_is_taken,
    "says that it is compressed and it is not": sends(lambda r: replies(OK, message(r, 1))),
    "compresses a bomb": bomb(BOMB),
    "compresses as much as is taken": bomb(TAKEN),
    "sends devices elsewhere": sends(
        lambda r: replies(OK | {":status": b"307", "location": b"http://127.0.0.1:9/x"}, message(r))
    ),
    "has headers of a megabyte": sends(lambda r: replies(OK | {"x": b"y" * (1 << 20)}, message(r))),
    "sets a cookie": sends(lambda r: replies(OK | {"set-cookie": b"device=7"}, message(r))),
    "names a pause for a retry": sends(
        lambda _: headers(OK | {"grpc-status": b"14", "grpc-retry-pushback-ms": b"0"}, last=True)
    ),
    **{f"fails with {code.name}": fails(code) for code in CODES},
}


def host(make: Callable[[Fetch, bytes], bytes]) -> Callable[[Fetch], None]:
    def act(fetch: Fetch) -> None:
        fetch.send(make(fetch, fetch.hear()))

    return act


def status(line: str, *more: str, data: bytes = b"") -> Callable[[Fetch], None]:
    lines = [f"HTTP/1.1 {line}", *more, f"Content-Length: {len(data)}"]
    return host(lambda _, piece: ("\r\n".join(lines) + "\r\n\r\n").encode() + data)


def with_field(*fields: str) -> Callable[[Fetch], None]:
    return host(lambda fetch, piece: fetch.honest(piece, *fields) + piece)


def endless(unit: bytes, start: bytes = b"", most: int = 1 << 22) -> Callable[[Fetch], None]:
    """The same bytes over and over, as long as the device takes them."""

    def act(fetch: Fetch) -> None:
        fetch.hear()
        fetch.send(start)
        for _ in range(most // len(unit)):
            fetch.send(unit)

    return act


def dripping_file(fetch: Fetch) -> None:
    piece = fetch.hear()
    for each in fetch.honest(piece) + piece:
        fetch.send(bytes([each]))
        time.sleep(0.005)  # an attack


def reset_file(fetch: Fetch) -> None:
    piece = fetch.hear()
    fetch.send((fetch.honest(piece) + piece)[:200])
    fetch.reset()


def silent_file(fetch: Fetch) -> None:
    fetch.hear()
    fetch.gone()


def bomb_of_a_file(fetch: Fetch) -> None:
    status("206 x", "Content-Range: bytes 0-47/48", data=packed(TAKEN, 15))(fetch)


FILES: dict[str, Callable[[Fetch], None]] = {
    "the host says nothing": silent_file,
    "the host resets in the middle": reset_file,
    "the host drips": dripping_file,
    "the host speaks no HTTP": host(lambda *_: b"\x15\x03\x03\x00\x02\x02\x28"),
    "the host speaks HTTP/0.9": host(lambda _, piece: piece),
    "the host says one line for ever": endless(b"x" * 4096),
    "the host says headers for ever": endless(b"X: y\r\n" * 512, b"HTTP/1.1 200 OK\r\n"),
    "the host says go on for ever": endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 64),
    "the host sends chunks for ever": endless(
        b"1000\r\n" + bytes(4096) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ),
    "the host sends data for ever": endless(bytes(1 << 16), b"HTTP/1.1 200 OK\r\n\r\n", 1 << 26),
    "the host upgrades": status("101 Switching Protocols", "Upgrade: h2c"),
    "the host fails": status("500 \x1b[2J", data=ESCAPE),
    "the host has a status that is none": status("99999 x"),
    "the host sends several parts": status(
        "206 x", "Content-Type: multipart/byteranges; boundary=x", data=b"--x\r\n\r\nz\r\n--x--"
    ),
    "the host steers the terminal": with_field("X: \x1b[2J", "Server: \x1b]0;mine\x07"),
    "the host says a negative length": host(
        lambda fetch, piece: fetch.honest(piece).replace(b"Length: ", b"Length: -") + piece
    ),
    "the host says a length and chunks": with_field("Transfer-Encoding: chunked"),
    "the host sends a bomb": bomb_of_a_file,
}


# Those that time alone must not end.
LARGE = {
    "sends more than is taken",
    "compresses a bomb",
    "compresses as much as is taken",
    "says 4 GiB",
}


@pytest.mark.parametrize("attack", CALLS)
async def test_no_answer_changes_what_is_sent_or_spent(
    world: World, tmp_path: Path, attack: str
) -> None:
    """Planted bugs: a signal drawn again for a retry; a server's words in an error."""
    world.call = CALLS[attack]
    with world.running():
        await hold(world, tmp_path)
        with measured() as spent:
            settings = PATIENT if attack in LARGE else ATTACKED
            if attack == "says goodbye at once":
                # A call that gRPC tries again by itself takes memory for as long as it may last.
                settings = LONGER
            outcome = await ask(world, tmp_path, settings)
        assert is_clear(outcome), outcome
        assert len(charges(tmp_path)) == 1
        assert len(set(world.asked)) <= 1
        assert len(world.asked) <= MOST_QUESTIONS
        assert len(world.fetched) == 2
        spent.check()
        await honest_after(world, tmp_path)


@pytest.mark.thin
@pytest.mark.parametrize("attack", FILES)
async def test_no_host_of_files_makes_a_device_send_or_spend(
    world: World, tmp_path: Path, attack: str
) -> None:
    """Or ask for anything but the file of this week, from its beginning, in the same words.

    Other answers in HTTP are in tests/client/catalog. Planted bug: waiting for a host that says
    nothing.
    """
    world.fetch = FILES[attack]
    with world.running():
        with measured() as spent:
            outcome = await ask(world, tmp_path, ATTACKED)
        assert is_clear(outcome), outcome
        spent.check()
        answered = isinstance(outcome, Answer)
        assert len(charges(tmp_path)) == len(world.asked) == answered
        assert len(world.fetched) <= 2
        assert set(world.fetched) <= agreed_requests(world)
        await honest_after(world, tmp_path)


def agreed_requests(world: World) -> set[bytes]:
    """The head or the rest of this week's file, of all items or, where there is none, the default
    ones.
    """
    monday = catalog_date_of((datetime.date.today() - date_of(0)).days)
    host = world.address.partition(":")[0] + f":{int(world.address.rpartition(':')[2]) + 1}"
    return {
        f"GET /catalog/{date_of(monday)}.{part} HTTP/1.1\r\nHost: {host}\r\n"
        f"Accept-Encoding: identity\r\nRange: bytes={part_of_it}\r\n"
        "User-Agent: askew\r\n\r\n".encode()
        for part in Part
        for part_of_it in (f"0-{HEAD_BYTES - 1}", f"{HEAD_BYTES}-")
    }


def cut(at: int, end: str) -> Callable[[Call], None]:
    """So many bytes of an honest reply, and an end."""

    def act(call: Call) -> None:
        call.send(whole(call.hear())[:at])
        if end == "reset":
            call.reset()
        elif end == "goodbye":
            call.send(GOODBYE)
        elif end == "half-close":
            call.socket.shutdown(socket.SHUT_WR)
            call.gone()

    return act


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.audit), 41])
@pytest.mark.parametrize("end", ["close", "reset", "goodbye", "half-close"])
async def test_a_reply_may_break_off_at_every_byte(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, step: int
) -> None:
    """One device asks again and again, and every question is the same, for one charge."""
    monkeypatch.setattr(grpc_transport, "PATIENCE", 0.0)
    with world.running():
        await hold(world, tmp_path)
        async with device_at(world, tmp_path, ATTACKED) as device:
            for at in range(0, 230, step):
                world.call = cut(at, end)
                assert is_clear(await outcome_of(device)), at
        assert len(set(world.asked)) == 1
        assert len(charges(tmp_path)) == 1
        await honest_after(world, tmp_path)


def test_a_server_cannot_write_to_the_terminal(world: World) -> None:
    """Planted bug: leaving gRPC's own log on, which repeats the reason as it came."""
    world.call = at_once(frame(SETTINGS) + GOODBYE)
    with world.running():
        command = [sys.executable, "-m", "askew_client", "near", "--server", world.address]
        env = os.environ | {"ASKEW_TIMEOUT": "1"}
        ran = subprocess.run(command, capture_output=True, check=False, timeout=60, env=env)
    assert b"\x1b" not in ran.stdout + ran.stderr
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (4, b"", 1)
