"""A call that fails for a while is sent again: until when, how often, and with which bytes."""

from __future__ import annotations

import asyncio
from hashlib import shake_256

import grpc
import grpc.aio
import pytest
from virtual_time import VirtualSelector, in_virtual_time

from askew.noise.randomness import RandomBits, ReplayBits, SystemBits
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import PATIENCE, drawn_pauses, persistent

LONG = 60.0


class Stopped:
    """A server that stops, and answers again after some seconds. Fails at once, or slowly."""

    def __init__(
        self, for_: float, code: grpc.StatusCode, slowly: float = 0.0, details: str | None = None
    ) -> None:
        self._until, self._code, self._slowly, self._details = for_, code, slowly, details
        self.came: list[float] = []
        self.left: list[float] = []

    async def send(self, seconds: float) -> str:
        self.left.append(seconds)
        self.came.append(asyncio.get_running_loop().time())
        await asyncio.sleep(min(self._slowly, seconds))
        if self.came[-1] < self._until:
            empty = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(self._code, empty, empty, self._details)
        return "a reply"


def asked(server: Stopped, bits: RandomBits) -> str:
    outcome = []

    async def play() -> None:
        try:
            outcome.append(await persistent(server.send, LONG, drawn_pauses(bits)))
        except grpc.aio.AioRpcError as error:
            outcome.append(error.code().name)

    in_virtual_time(play)
    return outcome[0]


class Always(RandomBits):
    def __init__(self, byte: bytes) -> None:
        self._byte = byte

    def read(self, count: int) -> bytes:
        return self._byte * count


@pytest.fixture(params=[b"\x00", b"\x80", b"\xff"], ids=["early", "on time", "late"])
def bits(request: pytest.FixtureRequest) -> RandomBits:
    """The ends of what is drawn, and its middle."""
    return Always(request.param)


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
@pytest.mark.parametrize("down", [0.05, PATIENCE])
def test_a_server_that_is_back_within_five_seconds_answers(
    code: grpc.StatusCode, down: float, bits: RandomBits
) -> None:
    """Planted bug: four tries within .7 s."""
    assert asked(Stopped(down, code), bits) == "a reply"


def test_one_that_stays_away_is_told_after_little_more_than_that(bits: RandomBits) -> None:
    server = Stopped(LONG, grpc.StatusCode.UNAVAILABLE)
    assert asked(server, bits) == "UNAVAILABLE"
    assert PATIENCE <= server.came[-1] <= PATIENCE + 1.25
    assert 8 <= len(server.came) <= 11


NOBODY = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect "
    "to remote host: Connection refused"
)


def test_a_port_that_nobody_listens_on_is_told_within_a_second(bits: RandomBits) -> None:
    """And a server that starts again within half of one still answers. Before: 5.7 s."""
    nobody = Stopped(LONG, grpc.StatusCode.UNAVAILABLE, details=NOBODY)
    assert asked(nobody, bits) == "UNAVAILABLE"
    assert 0.4 < nobody.came[-1] < 1
    again = Stopped(0.2, grpc.StatusCode.UNAVAILABLE, details=NOBODY)
    assert asked(again, bits) == "a reply"


@pytest.mark.parametrize(
    "said", ["CERTIFICATE_VERIFY_FAILED", "Hostname Verification Check failed", "parsing HTTP/2"]
)
def test_a_handshake_that_cannot_succeed_is_tried_once(bits: RandomBits, said: str) -> None:
    """Planted bug: the patience of a server that starts again."""
    details = f"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: {said}"
    false = Stopped(LONG, grpc.StatusCode.UNAVAILABLE, details=details)
    assert asked(false, bits) == "UNAVAILABLE"
    assert false.came == [0.0]
    told_by_a_server = Stopped(LONG, grpc.StatusCode.UNAVAILABLE, details=said)
    assert asked(told_by_a_server, bits) == "UNAVAILABLE"
    assert len(told_by_a_server.came) > 1


def test_what_does_not_pass_is_told_at_once() -> None:
    """Too many calls are refused to be fewer: sent again at once, they would be more."""
    for code in {*grpc.StatusCode} - {*grpc_transport._PASSING, grpc.StatusCode.OK}:
        server = Stopped(LONG, code)
        assert asked(server, SystemBits()) == code.name
        assert server.came == [0.0]


@pytest.mark.parametrize("slowly", [0.0, 0.4], ids=["at once", "slowly"])
@pytest.mark.parametrize("timeout", [0.05, 2.0])
def test_the_deadline_of_the_call_holds_for_all_tries(
    timeout: float, slowly: float, bits: RandomBits
) -> None:
    """Planted bug: a whole timeout for each try."""
    server, clock = Stopped(LONG, grpc.StatusCode.UNAVAILABLE, slowly), VirtualSelector()

    async def play() -> None:
        with pytest.raises(grpc.aio.AioRpcError):
            await persistent(server.send, timeout, drawn_pauses(bits))

    in_virtual_time(play, clock)
    assert clock.now <= timeout + 1e-9
    assert [came + left for came, left in zip(server.came, server.left, strict=True)] == (
        pytest.approx([timeout] * len(server.came))
    )


def test_the_pauses_grow_and_differ_from_device_to_device() -> None:
    """Planted bug: no jitter, so that all devices come back at the same moment."""
    pauses = []
    for device in range(50):
        server = Stopped(LONG, grpc.StatusCode.UNAVAILABLE)
        asked(server, ReplayBits(shake_256(bytes([device])).digest(64)))
        pauses.append([b - a for a, b in zip(server.came, server.came[1:], strict=False)])
    for place, middle in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0]):
        here = [each[place] for each in pauses]
        assert 0.75 * middle <= min(here) < 0.8 * middle
        assert 1.2 * middle < max(here) <= 1.25 * middle


def test_cancelling_the_call_ends_it() -> None:
    """A person who goes away is no server that drains."""
    server = Stopped(LONG, grpc.StatusCode.UNAVAILABLE)

    async def play() -> None:
        task = asyncio.create_task(persistent(server.send, LONG, drawn_pauses(SystemBits())))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    in_virtual_time(play)
    assert len(server.came) == 1
