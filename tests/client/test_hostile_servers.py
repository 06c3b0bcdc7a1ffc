"""Servers that answer garbage: refused with a clear error, and nothing is drawn or lost by it."""

from __future__ import annotations

import socketserver
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest

from askew.errors import AskewError, Malformed, TransportError
from askew.model_card import Catalog, Item
from askew.wire import convert
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.client import open_companion, value_of
from askew_client.ledger.account import Charge
from askew_client.ledger.store import SignalStore
from askew_client.profile.document import Liking, ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.ranges import Caps
from askew_client.settings.settings import ClientSettings

if TYPE_CHECKING:
    from client.conftest import Pair

Context = grpc.aio.ServicerContext[bytes, bytes]
SLOT = "2026-11"
RATINGS: dict[str, Liking] = {"Film 3": 5.0, "Film 9": 1.0}
SETTINGS = ClientSettings(
    way="signal",
    epsilon=Fraction(2),
    k=4,
    max_diameter=8.0,
    max_one_rating=8.0,
    pace=0.001,
    timeout=10.0,
)


class Server:
    """The honest server of the small world, each answer of which may be replaced."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self.requests: list[bytes] = []
        self.card = convert.card_to_bytes(pair.card)
        self.chunks: Iterable[bytes] = tuple(convert.catalog_to_chunks(pair.catalog))
        self.spoil: Callable[[bytes], bytes] = lambda answer: answer

    async def _card(self, _: bytes, __: Context) -> bytes:
        return self.card

    async def _catalog(self, _: bytes, __: Context) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk

    async def _retrieve(self, request: bytes, _: Context) -> bytes:
        self.requests.append(request)
        asked = convert.query_from_bytes(request, self._pair.card)
        return self.spoil(convert.slate_to_bytes(self._pair.retrieve(asked)))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "GetModelCard": grpc.unary_unary_rpc_method_handler(self._card),
            "GetCatalog": grpc.unary_stream_rpc_method_handler(self._catalog),
            "Retrieve": grpc.unary_unary_rpc_method_handler(self._retrieve),
        }
        server = grpc.aio.server()
        handler = grpc.method_handlers_generic_handler("askew.wire.v1.Retrieval", methods)
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            await server.stop(None)


@pytest.fixture
def server(pair: Pair) -> Server:
    return Server(pair)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "data" / "signals.sqlite"


def was_made(ledger: Path) -> bool:
    return ledger.parent.exists()


async def ask(server: Server, ledger: Path) -> tuple[str, ...]:
    async with server.running() as address:
        return await ask_once(SETTINGS, address, ledger)


async def ask_once(settings: ClientSettings, address: str, ledger: Path) -> tuple[str, ...]:
    """The titles that one question is answered with."""
    profile = PassingProfile(ProfileDocument(RATINGS))
    opened = open_companion(settings, server=address, directory=ledger.parent, profile=profile)
    async with opened as companion:
        answer = value_of(await companion.ask())
    assert answer.used == len(RATINGS)
    return tuple(result.title.title for result in answer.results)


def charges(ledger: Path) -> tuple[Charge, ...]:
    return SignalStore(ledger, Caps(Fraction(192))).charges()


async def test_the_honest_server_answers(server: Server, ledger: Path) -> None:
    """Or the refusals below would mean nothing."""
    assert len(await ask(server, ledger)) == 4
    assert len(charges(ledger)) == len(server.requests) == 1


def spoiled_card(**fields: Any) -> Callable[[bytes], bytes]:
    def spoil(data: bytes) -> bytes:
        message = pb.GetModelCardResponse.FromString(data)
        for name, value in fields.items():
            where = message.space if hasattr(message.space, name) else message
            if isinstance(value, list):
                del getattr(where, name)[:]
                getattr(where, name).extend(value)
            else:
                setattr(where, name, value)
        return message.SerializeToString()

    return spoil


NAN, INFINITY = float("nan"), float("inf")
CARDS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "no message": lambda _: b"\xff\xff\xff\xff",
    "a web page": lambda _: b"<html><body>502 Bad Gateway</body></html>",
    "half a card": lambda data: data[: len(data) // 2],
    "no items": spoiled_card(n_items=0),
    "too many items": spoiled_card(n_items=2**32 - 1),
    "no slate": spoiled_card(max_slate_size=0),
    "a slate larger than the catalog": spoiled_card(max_slate_size=13),
    "no dimension": spoiled_card(knots=[]),
    "a thousand dimensions": spoiled_card(knots=list(range(33)) * 1000, directions=bytes(8000)),
    "half a dimension": spoiled_card(knots=[-1.0]),
    "knots of no number": spoiled_card(knots=[NAN] * 66),
    "endless knots": spoiled_card(knots=[INFINITY] * 66),
    "knots upside down": spoiled_card(knots=[-float(n) for n in range(66)]),
    "no directions": spoiled_card(directions=b""),
    "directions of no number": spoiled_card(directions=b"\xff" * 16),
    "another origin": spoiled_card(origin=bytes(12)),
    "no clip": spoiled_card(clip=0.0),
    "endless clip": spoiled_card(clip=INFINITY),
    "clip of no number": spoiled_card(clip=NAN),
    "no least likes": spoiled_card(least_likes=0),
    "no unit": spoiled_card(unit=0.0),
    "an endless unit": spoiled_card(unit=INFINITY),
    "half the buckets": spoiled_card(bucket_biases=b""),
    "a flat scale": spoiled_card(lowest_rating=5.0),
    "a scale of no number": spoiled_card(highest_rating=NAN),
    "likes of no number": spoiled_card(like_from=NAN),
    "a short version": spoiled_card(catalog_version=b"short"),
    "a source that steers the terminal": spoiled_card(source="\x1b[2J"),
    "an endless source": spoiled_card(source="x" * 501),
}


@pytest.mark.parametrize("case", CARDS)
async def test_a_bad_card_is_refused_before_anything_is_drawn(
    server: Server, ledger: Path, case: str
) -> None:
    server.card = CARDS[case](server.card)
    with pytest.raises(Malformed):
        await ask(server, ledger)
    assert not was_made(ledger)
    assert server.requests == []


def spoiled_chunk(spoil: Callable[[pb.GetCatalogResponse], None], catalog: Catalog) -> list[bytes]:
    chunk = pb.GetCatalogResponse.FromString(next(convert.catalog_to_chunks(catalog)))
    spoil(chunk)
    return [chunk.SerializeToString()]


def steer_the_terminal(chunk: pb.GetCatalogResponse) -> None:
    chunk.items[0].title = "\x1b]0;mine\x07"


def lose_the_numbers(chunk: pb.GetCatalogResponse) -> None:
    chunk.vectors = b"\xff" * len(chunk.vectors)


def changed(catalog: Catalog, **fields: Any) -> Iterable[bytes]:
    return convert.catalog_to_chunks(replace(catalog, **fields))


ONE_MORE = pb.GetCatalogResponse(
    items=[pb.Item(title="More")], vectors=bytes(8), boosts=b"\0\0\x80\x3f"
)
CATALOGS: dict[str, Callable[[Catalog], Iterable[bytes]]] = {
    "nothing": lambda _: [],
    "no message": lambda _: [b"\xff\xff\xff"],
    "another title": lambda catalog: changed(catalog, items=(Item("x"), *catalog.items[1:])),
    "other vectors": lambda catalog: changed(catalog, vectors=-catalog.vectors),
    "other boosts": lambda catalog: changed(catalog, boosts=2 * catalog.boosts),
    "another shared slate": lambda catalog: changed(catalog, shared_slate=(0, 1)),
    "fewer items": lambda catalog: changed(
        catalog,
        items=catalog.items[:11],
        vectors=catalog.vectors[:11],
        boosts=catalog.boosts[:11],
        shared_slate=(),
    ),
    "every item twice": lambda catalog: [*convert.catalog_to_chunks(catalog)] * 2,
    "endless items": lambda _: repeat(ONE_MORE.SerializeToString()),
    "endless nothing": lambda _: repeat(b""),
    "a title that steers the terminal": partial(spoiled_chunk, steer_the_terminal),
    "vectors of no number": partial(spoiled_chunk, lose_the_numbers),
}


@pytest.mark.parametrize("case", CATALOGS)
async def test_a_bad_catalog_is_refused_before_anything_is_drawn(
    pair: Pair, server: Server, ledger: Path, case: str
) -> None:
    """Planted bugs: collecting an endless stream; taking the catalog's version on trust."""
    server.chunks = CATALOGS[case](pair.catalog)
    with pytest.raises(Malformed):
        await ask(server, ledger)
    assert not was_made(ledger)
    assert server.requests == []


async def test_an_endless_trickle_ends_at_the_deadline(server: Server, ledger: Path) -> None:
    """A card that says two million items lets empty chunks through until time is up."""
    server.card = spoiled_card(n_items=2_000_000)(server.card)
    server.chunks = repeat(b"")
    async with server.running() as address:
        hasty = replace(SETTINGS, timeout=0.5)
        with pytest.raises(AskewError):
            await ask_once(hasty, address, ledger)
    assert not was_made(ledger)


def spoiled_answer(**fields: Any) -> Callable[[bytes], bytes]:
    def spoil(data: bytes) -> bytes:
        message = pb.RetrieveResponse.FromString(data)
        for name, value in fields.items():
            if isinstance(value, list):
                del message.item_ids[:]
                message.item_ids.extend(value)
            else:
                setattr(message, name, value)
        return message.SerializeToString()

    return spoil


ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "no message": lambda _: b"\xff\xff\xff\xff",
    "too few items": spoiled_answer(item_ids=[1, 2, 3]),
    "too many items": spoiled_answer(item_ids=[1, 2, 3, 4, 5]),
    "one item twice": spoiled_answer(item_ids=[1, 2, 2, 3]),
    "items out of order": spoiled_answer(item_ids=[4, 3, 2, 1]),
    "an item beyond the catalog": spoiled_answer(item_ids=[1, 2, 3, 12]),
    "another catalog": spoiled_answer(catalog_version=b"x" * 16),
    "codes too short": spoiled_answer(codes=bytes(3)),
    "scales too short": spoiled_answer(scales=bytes(7)),
    "scales of no number": spoiled_answer(scales=b"\xff" * 8),
    "items scored in another way": spoiled_answer(codes=bytes(4)),
    "items that score nothing": spoiled_answer(scales=bytes(8)),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_a_bad_answer_is_refused_and_the_store_stays_as_it_was(
    server: Server, ledger: Path, case: str
) -> None:
    """Planted bug: drawing again, or forgetting the signal, because the answer was no good."""
    before = await ask(server, ledger), charges(ledger)
    server.spoil = ANSWERS[case]
    with pytest.raises(Malformed):
        await ask(server, ledger)
    server.spoil = lambda answer: answer
    assert (await ask(server, ledger), charges(ledger)) == before
    assert server.requests == [server.requests[0]] * 3


async def test_a_server_that_is_gone_costs_nothing_more(server: Server, ledger: Path) -> None:
    await ask(server, ledger)
    before = charges(ledger)
    with pytest.raises(TransportError):
        await ask_once(SETTINGS, "127.0.0.1:1", ledger)
    assert charges(ledger) == before


def frame(kind: int, payload: bytes) -> bytes:
    """A frame of HTTP/2 on stream 0."""
    return len(payload).to_bytes(3) + bytes([kind, 0]) + bytes(4) + payload


GOODBYE = frame(4, b"") + frame(7, bytes(4) + (2).to_bytes(4) + b"\x1b]0;mine\x07\x1b[2J")


class SaysGoodbye(socketserver.BaseRequestHandler):
    """Ends every connection with a reason that steers the terminal."""

    def handle(self) -> None:
        self.request.sendall(GOODBYE)
        self.request.recv(1 << 16)


def test_a_server_cannot_write_to_the_terminal() -> None:
    """Planted bug: leaving gRPC's own log on, which repeats the reason as it came."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), SaysGoodbye) as server:
        threading.Thread(target=server.serve_forever).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        command = [sys.executable, "-m", "askew_client", "catalog", "--server", address]
        ran = subprocess.run(command, capture_output=True, check=False, timeout=60)
        server.shutdown()
    assert b"\x1b" not in ran.stdout + ran.stderr
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (4, b"", 1)
