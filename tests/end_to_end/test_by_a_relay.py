"""A device whose setting names a relay: all that it says goes there, sealed and padded."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from end_to_end.server_process import running
from relaying import Relay, key_file, new_key, relaying

from askew.catalog.catalog_file import Part
from askew.errors import (
    AskewError,
    Malformed,
    OtherKind,
    Overloaded,
    ParameterError,
    ServerFailed,
    StaleSpace,
)
from askew.noise.randomness import SystemBits
from askew.spaces.map import Position
from askew.wire.oblivious import GatewayKeys, PlainReply
from askew_client.client import AskewClient
from askew_client.settings.settings import ClientSettings
from askew_client.transport.calls import METRIC_CARD
from askew_client.transport.relay import RelayTransport

NOBODY = "askew.invalid:443"  # a server that no device can connect to by itself
PATIENCE = 20.0
EVERYWHERE = {"host", "accept-encoding", "content-length", "content-type", "user-agent"}


@pytest.fixture(params=["films", "places"])
async def demo(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[str, Relay]]:
    keys = key_file(tmp_path / "keys.pem", new_key())
    async with running("--demo", request.param, "--port", 0, "--ohttp-key", keys) as server:
        assert server.http is not None
        with relaying(server.http) as relay:
            yield request.param, relay


async def test_a_device_asks_and_looks_by_the_relay_alone(
    demo: tuple[str, Relay], tmp_path: Path
) -> None:
    """The server's name leads nowhere. Planted bugs: files that are fetched directly; one ephemeral
    key for two requests, so that one keystream seals both.
    """
    kind, relay = demo
    setting = await asyncio.to_thread(relay.setting)
    settings = ClientSettings(
        relay=setting,
        region="DE",
        mode="query" if kind == "films" else "auto",
        interval=0.1,
        timeout=PATIENCE,
    )
    async with AskewClient(settings, server=NOBODY, directory=tmp_path / "device") as client:
        if kind == "films":
            await client.refresh()
            assert [size for size, _ in relay.sizes] == [224, 224]
            assert (await client.ask()).results
        else:
            client.places.add("home", Position(52.52, 13.4))
            assert all(each.results for each in await client.near_all())
    assert {size for size, _ in relay.sizes} <= {224, 448}
    assert len(set(relay.keys)) == len(relay.keys) > 1
    assert {size for _, size in relay.sizes} <= {2048, 8192, *range(32_768, 1 << 20, 32_768)}
    assert {frozenset(each) for each in relay.headers} == {frozenset(EVERYWHERE)}
    assert {each["user-agent"] for each in relay.headers} == {"askew"}


@pytest.mark.parametrize("demo", ["places"], indirect=True)
async def test_what_a_relay_does_wrong_is_an_error_and_no_key_is_fetched(
    demo: tuple[str, Relay],
) -> None:
    """Planted bugs: a device that takes a new key from the server; an answer that is not sealed."""
    _, relay = demo
    setting = await asyncio.to_thread(relay.setting)

    async def error(setting: str = setting) -> AskewError:
        with pytest.raises(AskewError) as found:
            await RelayTransport(setting, NOBODY, PATIENCE, SystemBits()).call(
                "GetModelCard", METRIC_CARD
            )
        return found.value

    network = RelayTransport(setting, NOBODY, PATIENCE, SystemBits())
    async with network:  # what failed is not the end of others
        assert await network.call("GetModelCard", METRIC_CARD)
        relay.instead = (500, "text/plain", b"")
        with pytest.raises(ServerFailed):
            await network.call("GetModelCard", METRIC_CARD)
        relay.instead = None
        assert await network.call("GetModelCard", METRIC_CARD)
    relay.mangled = True
    assert isinstance(await error(), Malformed)
    relay.mangled = False
    address, _, keys = setting.partition("#")
    listed = bytearray(base64.urlsafe_b64decode(keys))
    listed[2] ^= 1
    old = f"{address}#{base64.urlsafe_b64encode(listed).decode()}"
    before = len(relay.sizes)
    assert "get a new setting" in str(await error(old))
    assert len(relay.sizes) == before + 1
    for instead, kind in (
        ((200, "application/proto", b"card"), Malformed),
        ((200, "message/ohttp-res", b""), Malformed),
        ((302, "text/plain", b""), Malformed),
        ((429, "text/plain", b""), Overloaded),
        ((500, "text/plain", b""), ServerFailed),
        ((200, "message/ohttp-res", bytes((1 << 21) + 1)), Malformed),
    ):
        relay.instead = instead
        assert type(await error()) is kind
    relay.instead = None
    with pytest.raises(Malformed, match="did not understand"):
        await network.call("Retrieve", b"\x32\x0f" + bytes(15))


@pytest.mark.parametrize(
    "relay",
    [
        "http://relay.example/#AAAA",
        "https://relay.example/",
        "https://relay.example/#",
        "https://relay.example/#!!!!",
        "https://relay.example/?x#AAAA",
    ],
)
def test_a_relay_is_named_by_an_address_and_a_key(relay: str) -> None:
    with pytest.raises(ParameterError, match="relay"):
        ClientSettings(relay=relay)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (PlainReply(206, ((b"content-range", b"bytes 5-52/99"),), bytes(48)), Malformed),
        (PlainReply(206, ((b"content-range", b"bytes 0-48/99"),), bytes(49)), Malformed),
        (PlainReply(206, (), bytes(48)), Malformed),
        (PlainReply(200, (), bytes(48)), Malformed),
        (PlainReply(404), OtherKind),
        (PlainReply(409), StaleSpace),
        (PlainReply(503), Overloaded),
    ],
)
async def test_a_server_behind_a_relay_sends_the_part_that_was_asked_for(
    reply: PlainReply, error: type[AskewError]
) -> None:
    """Planted bug: any part of a file, as if it were the one asked for."""
    with sealing(reply) as setting, pytest.raises(error) as found:
        await RelayTransport(setting, NOBODY, PATIENCE, SystemBits()).read(
            20_780, Part.WHOLE, 0, 48
        )
    assert type(found.value) is error


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"\xff", b"[" * 9_000, b'{"code": 5}', b'{"code": "x"}']
)
async def test_an_error_of_a_server_behind_a_relay_may_be_anything(body: bytes) -> None:
    with sealing(PlainReply(500, (), body)) as setting, pytest.raises(ServerFailed):
        await RelayTransport(setting, NOBODY, PATIENCE, SystemBits()).call("GetModelCard", b"")


@contextmanager
def sealing(reply: PlainReply) -> Iterator[str]:
    """A relay before a server that replies this to everything; the setting of its devices."""
    bits = SystemBits()
    keys = GatewayKeys([bits.read(32)])

    class Hostile(Relay):
        def passed_on(self, headers: dict[str, str], sealed: bytes) -> tuple[int, str, bytes]:
            return 200, headers["content-type"], keys.opened(sealed).sealed(reply, bits)

    with relaying(0, Hostile) as relay:
        key = base64.b64encode(keys.configurations).decode()
        yield f"http://127.0.0.1:{relay.port}#{key}"
