"""Servers that answer garbage: refused with a clear error, and nothing is drawn or lost by it."""

from __future__ import annotations

import os
import re
import socketserver
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
import static_host

from askew.catalog.catalog_file import HEAD_BYTES, Part, file_of
from askew.catalog.item import Item
from askew.errors import Malformed, NotFound, OtherKind, ParameterError, StaleSpace
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import slate_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.opening import open_device
from askew_client.profile.document import Liking, ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import Caps, ClientSettings
from askew_client.signals.account import Entry
from askew_client.signals.store import SignalStore

if TYPE_CHECKING:
    from client.conftest import Pair

Context = grpc.aio.ServicerContext[bytes, bytes]
RATINGS: dict[str, Liking] = {"Film 3": 5.0, "Film 9": 1.0}
SETTINGS = ClientSettings(
    mode="ask",
    epsilon_per_rating=Fraction(2),
    rating_monthly_cap=Fraction(8),
    k=4,
    max_ratings_apart=8.0,
    timeout=10.0,
)


class Server:
    """The honest server of the small world, each answer of which may be replaced."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self.requests: list[bytes] = []
        self.file = catalog_to_bytes(pair.card, pair.catalog)
        self.spoil: Callable[[bytes], bytes] = lambda answer: answer

    async def _retrieve(self, request: bytes, _: Context) -> bytes:
        self.requests.append(request)
        asked = query_from_bytes(request, self._pair.card)
        slate = self._pair.retrieve(asked)
        return self.spoil(slate_to_bytes(slate, self._pair.card))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Retrieve": grpc.unary_unary_rpc_method_handler(self._retrieve),
        }
        server = grpc.aio.server()
        handler = grpc.method_handlers_generic_handler("askew.wire.v1.Retrieval", methods)
        server.add_generic_rpc_handlers((handler,))
        with static_host.beside(
            server.add_insecure_port, lambda _, part: self.file if part == Part.WHOLE else None
        ) as host:
            await server.start()
            try:
                yield f"127.0.0.1:{host.port - 1}"
            finally:
                await server.stop(None)


@pytest.fixture
def server(pair: Pair) -> Server:
    return Server(pair)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "data" / "signals.sqlite"


def was_made(ledger: Path) -> bool:
    return ledger.exists()


async def ask(server: Server, ledger: Path) -> tuple[str, ...]:
    async with server.running() as address:
        return await ask_once(SETTINGS, address, ledger)


async def ask_once(settings: ClientSettings, address: str, ledger: Path) -> tuple[str, ...]:
    """The titles that one question is answered with."""
    profile = PassingProfile(ProfileDocument(RATINGS))
    opened = open_device(settings, server=address, directory=ledger.parent, profile=profile)
    async with opened as companion:
        answer = await companion.asker.ask(companion.titles)
    assert answer.used == len(RATINGS)
    return tuple(result.title for result in answer.results)


def bodies_held(ledger: Path) -> int:
    return sum(
        re.fullmatch("[0-9a-f]{64}", each.name) is not None for each in ledger.parent.rglob("*")
    )


def charges(ledger: Path) -> tuple[Entry, ...]:
    return SignalStore(ledger, Caps(Fraction(192))).entries()


def spoiled(spoil: Callable[[pb.CatalogFile], None], file: bytes) -> bytes:
    """The file of a spoiled body, with a head that fits it."""
    body = pb.CatalogFile.FromString(file[HEAD_BYTES:])
    spoil(body)
    return file_of(body.SerializeToString())


def spoiled_card(**fields: Any) -> Callable[[bytes], bytes]:
    def spoil(body: pb.CatalogFile) -> None:
        card = body.card
        for name, value in fields.items():
            where = card.space if hasattr(card.space, name) else card
            if isinstance(value, list):
                del getattr(where, name)[:]
                getattr(where, name).extend(value)
            else:
                setattr(where, name, value)

    return partial(spoiled, spoil)


NAN, INFINITY = float("nan"), float("inf")
CARDS: dict[str, Callable[[bytes], bytes]] = {
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
    "a flat scale": spoiled_card(lowest_rating=5.0),
    "a scale of no number": spoiled_card(highest_rating=NAN),
    "likes of no number": spoiled_card(like_from=NAN),
    "a short version": spoiled_card(catalog_version=b"short"),
    "a source that steers the terminal": spoiled_card(source="\x1b[2J"),
    "an endless source": spoiled_card(source="x" * 501),
}


async def test_the_honest_server_answers(server: Server, ledger: Path) -> None:
    """Or the refusals below would mean nothing."""
    assert len(await ask(server, ledger)) == 4
    assert len(charges(ledger)) == len(server.requests) == 1


@pytest.mark.parametrize("case", CARDS)
async def test_a_bad_card_is_refused_before_anything_is_drawn(
    server: Server, ledger: Path, case: str
) -> None:
    server.file = CARDS[case](server.file)
    with pytest.raises(Malformed):
        await ask(server, ledger)
    assert not was_made(ledger)
    assert server.requests == []


def words_of(items: Iterable[Item]) -> bytes:
    rows = [*items]
    words = pb.ItemWords(
        titles="\n".join(each.title for each in rows),
        years=[each.year or 0 for each in rows],
        lists=[pb.Genres(names=["Drama"])],
        genres=[0] * len(rows),
    )
    return zlib.compress(words.SerializeToString())


def spoiled_body(**fields: bytes) -> Callable[[bytes], bytes]:
    def spoil(body: pb.CatalogFile) -> None:
        for name, value in fields.items():
            setattr(body, name, value)

    return partial(spoiled, spoil)


def steer_the_terminal(body: pb.CatalogFile) -> None:
    words = pb.ItemWords.FromString(zlib.decompress(body.words))
    words.titles = words.titles.replace("Film 3", "\x1b]0;mine\x07")
    body.words = zlib.compress(words.SerializeToString())


def fewer_items(body: pb.CatalogFile) -> None:
    body.words = words_of(Item(f"Film {n}", 1960 + n) for n in range(11))
    body.boosts, body.codes = body.boosts[:11], body.codes[:11]


def another_shared_slate(body: pb.CatalogFile) -> None:
    del body.shared_slate[:]
    body.shared_slate.extend(range(6))


def words_for_ever(body: pb.CatalogFile) -> None:
    body.words = zlib.compress(bytes(1 << 26))


FILMS = [Item(f"Film {n}", 1960 + n) for n in range(12)]
CATALOGS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "no file": lambda _: b"<html><body>502 Bad Gateway</body></html>" * 9,
    "half a file": lambda file: file[: len(file) // 2],
    "another body": lambda file: file[:-1] + bytes([file[-1] ^ 1]),
    "no message": lambda _: file_of(b"\xff\xff\xff"),
    "a length beyond any budget": lambda file: file[:8] + b"\xff" * 8 + file[16:],
    "another title": spoiled_body(words=words_of([Item("x"), *FILMS[1:]])),
    "a title that steers the terminal": partial(spoiled, steer_the_terminal),
    "words cut short": spoiled_body(words=words_of(FILMS)[:-1]),
    "other vectors": spoiled_body(codes=bytes(12)),
    "codes too short": spoiled_body(codes=bytes(11)),
    "other boosts": spoiled_body(boosts=b"\xff" * 12),
    "another shared slate": partial(spoiled, another_shared_slate),
    "fewer items": partial(spoiled, fewer_items),
    "words that unpack for ever": partial(spoiled, words_for_ever),
}


@pytest.mark.parametrize("case", CATALOGS)
async def test_a_bad_file_is_refused_before_anything_is_drawn(
    server: Server, ledger: Path, case: str
) -> None:
    """Planted bugs: unpacking without a limit; taking the catalog's version on trust."""
    server.file = CATALOGS[case](server.file)
    with pytest.raises((Malformed, NotFound, OtherKind, ParameterError)):
        await ask(server, ledger)
    assert not was_made(ledger)
    assert server.requests == []


def spoiled_answer(**fields: Any) -> Callable[[bytes], bytes]:
    def spoil(data: bytes) -> bytes:
        message = pb.RetrieveResponse.FromString(data)
        for name, value in fields.items():
            if isinstance(value, list):
                message.ClearField(name)  # type: ignore[arg-type]  # names are of this test
                getattr(message, name).extend(value)
            else:
                setattr(message, name, value)
        return message.SerializeToString()

    return spoil


ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "an answer of nothing": lambda _: b"",
    "an answer that is no message": lambda _: b"\xff\xff\xff\xff",
    "one item too few": spoiled_answer(item_ids=[1, 2, 3]),
    "one item too many": spoiled_answer(item_ids=[1, 2, 3, 4, 5]),
    "one item twice": spoiled_answer(item_ids=[1, 2, 2, 3]),
    "items out of order": spoiled_answer(item_ids=[4, 3, 2, 1]),
    "an item beyond the catalog": spoiled_answer(item_ids=[1, 2, 3, 12]),
    "codes of an answer too short": spoiled_answer(codes=bytes(3)),
    "boosts too few": spoiled_answer(boosts=b"\xc0" * 3),
    "items scored in another way": spoiled_answer(codes=bytes(4)),
    "items lifted above all others": spoiled_answer(boosts=b"\xff" * 4),
    "no words": spoiled_answer(items=[]),
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


async def test_an_answer_of_another_catalog_costs_nothing_more_and_what_is_held_is_forgotten(
    server: Server, ledger: Path
) -> None:
    """An honest server may be another one by now, so the next question is a first contact."""
    async with server.running() as address:
        before = await ask_once(SETTINGS, address, ledger), charges(ledger)
        assert bodies_held(ledger) == 1
        server.spoil = spoiled_answer(catalog_version=b"x" * 16)
        with pytest.raises(StaleSpace):
            await ask_once(SETTINGS, address, ledger)
        assert bodies_held(ledger) == 0
        server.spoil = lambda answer: answer
        assert (await ask_once(SETTINGS, address, ledger), charges(ledger)) == before
    assert server.requests == [server.requests[0]] * 3


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
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        command = [sys.executable, "-m", "askew_client", "catalog", "--server", address]
        env = os.environ | {"ASKEW_TIMEOUT": "1"}
        ran = subprocess.run(command, capture_output=True, check=False, timeout=60, env=env)
        server.shutdown()
    assert b"\x1b" not in ran.stdout + ran.stderr
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (4, b"", 1)
