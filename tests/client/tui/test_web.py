"""The browser's page loads nothing from elsewhere, and opens for nobody without the key."""

from __future__ import annotations

import re

import pytest
from aiohttp.test_utils import TestClient, TestServer

from askew.noise.randomness import ReplayBits
from askew_client.tui.web import HOST, BrowserServer


@pytest.fixture
def server() -> BrowserServer:
    return BrowserServer(["tui", "--demo"], 8571, ReplayBits(bytes(range(16))))


def path(server: BrowserServer) -> str:
    return server.address.removeprefix(server.public_url)


def test_it_listens_on_this_machine_alone(server: BrowserServer) -> None:
    assert server.host == HOST == "127.0.0.1"
    assert server.address == "http://127.0.0.1:8571/000102030405060708090a0b0c0d0e0f/"


async def test_the_page_needs_nothing_from_anywhere_else(server: BrowserServer) -> None:
    """The library's own page loads fonts.googleapis.com."""
    async with TestClient(TestServer(await server._make_app())) as client:
        page = await (await client.get(path(server))).text()
        addresses = set(re.findall(r"(?:https?:|wss?:)?//[^\"' ;)]+", page))
        assert addresses
        assert all(each.split("//")[1].startswith("127.0.0.1:8571/") for each in addresses)
        assert "default-src 'none'" in page
        for name in re.findall(r"127\.0\.0\.1:8571(/static/[^\"')]+)", page):
            assert (await client.get(name)).status == 200


async def test_the_keys_go_to_the_app_at_once_and_a_narrow_page_has_smaller_letters(
    server: BrowserServer,
) -> None:
    """The script is our own and stands behind the key; what it does was seen in a browser."""
    async with TestClient(TestServer(await server._make_app())) as client:
        page = await (await client.get(path(server))).text()
        assert 'name="viewport" content="width=device-width' in page
        (name,) = re.findall(r'<script src="(page[^"]*)"', page)
        reply = await client.get(path(server) + name)
        assert reply.status == 200
        assert reply.content_type in {"text/javascript", "application/javascript"}
        script = await reply.text()
        assert 'querySelector(".xterm-helper-textarea")?.focus()' in script
        assert 'dataset.fontSize = "12"' in script
        assert (await client.get(f"/{name}")).status == 404


@pytest.mark.parametrize("guess", ["/", "/ws", "/" + "0" * 32 + "/", "/" + "0" * 32 + "/ws"])
async def test_without_the_key_there_is_nothing(server: BrowserServer, guess: str) -> None:
    """Planted bug: a fixed address, which any page in the browser could open a socket to."""
    async with TestClient(TestServer(await server._make_app())) as client:
        assert (await client.get(guess)).status == 404


def test_every_start_has_a_key_of_its_own() -> None:
    keys = {BrowserServer([], 1, ReplayBits(bytes([n] * 16))).address for n in range(3)}
    assert len(keys) == 3
