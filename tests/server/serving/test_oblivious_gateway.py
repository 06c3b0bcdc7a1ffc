"""The gateway of oblivious HTTP: behind the seal a request is what it is without one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from relaying import GATEWAY, asked, key_file, new_key
from server.serving.test_http import FILE, HERE, MONDAY, PATIENCE, SECRET, Served, Services, serving

from askew.errors import AccessError
from askew.noise.randomness import SystemBits
from askew.wire.oblivious import Fields, KeyConfiguration, PlainReply, PlainRequest
from askew_server.serving.oblivious import gateway_keys
from askew_server.serving.settings import Http, Limits

SEALED, OPENED = "message/ohttp-req", "message/ohttp-res"
PROTO: Fields = ((b"content-type", b"application/proto"),)
BITS = SystemBits()


class Opened:
    """A gateway, and the key that it tells."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.key = KeyConfiguration(0, bytes(32))

    async def said(
        self, method: str, body: bytes = b"", kind: str = SEALED
    ) -> tuple[int, str, Any]:
        return await asyncio.to_thread(asked, self.served.port, method, body, kind)

    async def sealed(self, request: PlainRequest) -> PlainReply:
        """The reply to a request, by the gateway."""
        sealed = self.key.sealed(request, BITS)
        status, kind, reply = await self.said("POST", sealed.data)
        assert (status, kind) == (200, OPENED)
        return sealed.opened(reply)

    async def called(
        self, method: str, message: bytes = b"", *fields: tuple[bytes, bytes]
    ) -> PlainReply:
        path = f"/{Services.name}/{method}".encode()
        return await self.sealed(PlainRequest(b"POST", path, b"x", (*PROTO, *fields), message))


@asynccontextmanager
async def opening(path: Path, **settings: Any) -> AsyncIterator[Opened]:
    key_file(path, new_key())
    async with serving(http=Http(ohttp_key=path), **settings) as served:
        found = Opened(served)
        found.key = KeyConfiguration.first_of((await found.said("GET"))[2])
        yield found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.pem"


async def test_a_sealed_call_ends_as_a_direct_one(path: Path) -> None:
    """Planted bug: errors of a sealed call in the open, where the relay reads them."""
    async with opening(path) as gateway:
        for method in sorted(Services().methods.keys() - {"Large"}):
            status, headers, body = await gateway.served.called(method, b"message")
            reply = await gateway.called(method, b"message")
            assert (reply.status, reply.body) == (status, body)
            assert dict(reply.fields) == {b"content-type": headers["content-type"].encode()}
            assert SECRET not in reply.body.decode() + gateway.served.told.getvalue()
            (counts,) = [each for each in gateway.served.observer.methods if each.method == method]
            assert sum(counts.statuses) == 2
        token = await gateway.called("Token", b"", (b"authorization", b"Bearer x"))
        assert token.body == b"['Bearer x']"
        for unchecked in ((b"content-length", b"x"), (b"origin", b"https://other.example.org")):
            assert (await gateway.called("Echo", b"", unchecked)).status == 200


async def test_files_come_sealed_in_ranges_and_not_whole_where_they_are_large(path: Path) -> None:
    async with opening(path) as gateway:
        name = f"/catalog/{MONDAY}.whole".encode()
        for wanted in (b"bytes=0-47", b"bytes=100000-"):
            status, headers, body = await gateway.served.asked(
                "GET", name.decode(), range=wanted.decode()
            )
            reply = await gateway.sealed(PlainRequest(b"GET", name, b"", ((b"range", wanted),)))
            assert (reply.status, reply.body) == (status, body)
            assert dict(reply.fields)[b"content-range"] == headers["content-range"].encode()
        assert (await gateway.sealed(PlainRequest(b"GET", name))).body == FILE
        assert (await gateway.sealed(PlainRequest(b"GET", GATEWAY.encode()))).status == 404
        assert (await gateway.sealed(PlainRequest(b"DELETE", name))).status == 405
        assert (await gateway.called("Large")).status == 413


async def test_a_file_that_nobody_reads_takes_of_the_room_for_unread_replies(path: Path) -> None:
    """A sealed file is made for one caller. Planted bug: a file that holds no room."""
    async with opening(path, limits=Limits(unread_bytes=200_000)) as gateway:
        name = f"/catalog/{MONDAY}.whole".encode()
        whole = await gateway.sealed(PlainRequest(b"GET", name))
        assert (whole.status, whole.body) == (503, b"")
        part = PlainRequest(b"GET", name, b"", ((b"range", b"bytes=0-99999"),))
        for _ in range(5):  # the room is given back
            assert len((await gateway.sealed(part)).body) == 100_000


async def test_what_is_no_sealed_request_is_refused_in_the_open(path: Path) -> None:
    async with opening(path, limits=Limits(message=0.2)) as gateway:
        sealed = gateway.key.sealed(PlainRequest(b"POST", b"/"), BITS).data
        other = bytes([sealed[0] ^ 1]) + sealed[1:]
        status, kind, body = await gateway.said("POST", other)
        assert (status, kind) == (400, "application/problem+json")
        assert json.loads(body)["type"].endswith("#ohttp-key")
        assert (await gateway.said("POST", sealed[:-1]))[0] == 400
        assert (await gateway.said("POST", b""))[0] == 400
        assert (await gateway.said("POST", sealed, "text/plain"))[0] == 415
        assert (await gateway.said("POST", bytes(20_000)))[0] == 413
        assert (await gateway.said("PUT"))[0] == 405
        no_message = gateway.key.sealed_bytes(b"\2", BITS.read(32)).data
        assert (await gateway.said("POST", no_message))[0] == 400
        head = f"POST {GATEWAY} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n".encode()
        reader, _ = await gateway.served.spoken(head)
        async with asyncio.timeout(PATIENCE):
            assert b" 408 " in await reader.readline()


async def test_a_relay_whose_address_is_named_may_bring_many_calls_at_once(path: Path) -> None:
    """The rule for proxies: without it one connection's limit holds for a relay, too."""
    for proxies, expected in (((), 429), ((HERE,), 200)):
        async with opening(path, limits=Limits(calls=0), proxies=proxies) as gateway:
            assert (await gateway.called("Echo")).status == expected


async def test_keys_are_rotated_while_the_gateway_answers(path: Path) -> None:
    """Planted bugs: keys that are read once; a broken file that takes the keys away."""
    old, new = new_key(), new_key()
    while new_identifier(path, old) == new_identifier(path, new):
        new = new_key()
    async with opening(path) as gateway:
        key_file(path, old)
        gateway.key = before = KeyConfiguration.first_of((await gateway.said("GET"))[2])
        assert (await gateway.called("Echo")).status == 200
        key_file(path, new, old)
        after = KeyConfiguration.first_of((await gateway.said("GET"))[2])
        assert after != before
        for each in (before, after):  # while the keys change, both answer
            gateway.key = each
            assert (await gateway.called("Echo")).status == 200
        key_file(path, b"half a file")
        assert (await gateway.called("Echo")).status == 200
        assert "certificates_refused" in gateway.served.told.getvalue()
        key_file(path, new)
        assert (await gateway.called("Echo")).status == 200
        status, kind, _ = await gateway.said("POST", before.sealed(asking(), BITS).data)
        assert (status, kind) == (400, "application/problem+json")


def new_identifier(path: Path, key: bytes) -> int:
    return KeyConfiguration.first_of(gateway_keys(key_file(path, key)).configurations).identifier


def asking() -> PlainRequest:
    return PlainRequest(b"POST", f"/{Services.name}/Echo".encode(), b"x", PROTO)


def test_keys_are_rotated_by_their_file_which_nobody_else_reads(path: Path) -> None:
    old, new = new_key(), new_key()
    while (
        gateway_keys(key_file(path, new)).configurations[2:3]
        == (gateway_keys(key_file(path, old)).configurations[2:3])
    ):
        new = new_key()
    first = KeyConfiguration.first_of(gateway_keys(key_file(path, old)).configurations)
    keys = gateway_keys(key_file(path, new, old))
    assert KeyConfiguration.first_of(keys.configurations) != first
    assert keys.opened(first.sealed(PlainRequest(b"GET", b"/"), BITS).data).request.path == b"/"
    path.chmod(0o644)
    with pytest.raises(AccessError, match="mode 0600"):
        gateway_keys(path)
    path.chmod(0o600)
    for words in (b"", b"-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"):
        with pytest.raises(AccessError, match=r"keys\.pem"):
            gateway_keys(key_file(path, words))
    with pytest.raises(AccessError, match="two identifiers"):
        gateway_keys(key_file(path, old, old))


async def test_without_a_key_there_is_no_gateway() -> None:
    async with serving() as served:
        assert (await asyncio.to_thread(asked, served.port, "GET"))[0] == 404
