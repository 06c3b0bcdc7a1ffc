"""Servers whose models, files and replies are legal or nearly so, and made to learn something.

Three people meet each: one rated titles of the catalog, one rated others, one rated nothing. All
make the same calls, of the same sizes, for the same charge, which is the one that they were shown.
What the server says of epsilon, of k or of a scale is not what they ask with.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from client.conftest import SHARED_SLATE, VECTORS, Pair, made_retriever, space_of_width
from client.hostile_world import (
    PATIENT,
    RATINGS,
    World,
    ask,
    charges,
    device_at,
    honest_after,
    is_clear,
    measured,
)
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from small_world import made_card, made_catalog

from askew.catalog.catalog_file import HEAD_BYTES, file_of
from askew.catalog.item import Item
from askew.errors import (
    AskewError,
    Malformed,
    NotFound,
    NotShown,
    OtherKind,
    ParameterError,
    StaleSpace,
)
from askew.spaces.vectors import FeatureSpace
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.profile.document import Liking
from askew_client.views.answers import Answer
from askew_server.retrieval.snapshot import Retriever

Attack = Callable[[World], None]
UNKNOWN: dict[str, Liking] = {"Film 77": 5.0, "Film 99": 1.0}
PEOPLE: tuple[dict[str, Liking], ...] = (RATINGS, UNKNOWN, {})


Spoil = Callable[[bytes], bytes]


def put_in(message: Message, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, list):
            del getattr(message, name)[:]
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)


def in_file(change: Callable[[pb.CatalogFile], object]) -> Spoil:
    def spoil(file: bytes) -> bytes:
        body = pb.CatalogFile.FromString(file[HEAD_BYTES:])
        change(body)
        return file_of(body.SerializeToString())

    return spoil


def in_words(change: Callable[[pb.ItemWords], object]) -> Spoil:
    def spoil(body: pb.CatalogFile) -> None:
        words = pb.ItemWords.FromString(zlib.decompress(body.words))
        change(words)
        body.words = zlib.compress(words.SerializeToString())

    return in_file(spoil)


def in_reply(change: Callable[[pb.RetrieveResponse], object]) -> Spoil:
    def spoil(reply: bytes) -> bytes:
        message = pb.RetrieveResponse.FromString(reply)
        change(message)
        return message.SerializeToString()

    return spoil


def answers(**fields: Any) -> Spoil:
    return in_reply(lambda message: put_in(message, fields))


def space(**fields: Any) -> Spoil:
    return in_file(lambda body: put_in(body.card.space, fields))


def titled(*named: str) -> Spoil:
    """A file whose first films have these titles, which no honest server can make."""

    def change(words: pb.ItemWords) -> None:
        words.titles = "\n".join([*named, *words.titles.split("\n")[len(named) :]])

    return in_words(change)


def file(make: Spoil) -> Attack:
    def act(world: World) -> None:
        world.file = make(world.file)

    return act


def reply(make: Spoil) -> Attack:
    def act(world: World) -> None:
        world.spoil = make

    return act


def whole(pair: Callable[[], Pair]) -> Attack:
    """A model of the server's choosing, with replies that fit."""

    def act(world: World) -> None:
        world.pair = pair()
        world.__post_init__()

    return act


def model(of: Callable[[], FeatureSpace], rows: list[tuple[float, ...]] = VECTORS) -> Attack:
    return whole(lambda: Pair(made_retriever(of(), rows)))


def scaled(lowest: float, highest: float, like_from: float) -> Attack:
    return file(space(lowest_rating=lowest, highest_rating=highest, like_from=like_from))


def titles(*named: str) -> Attack:
    """A catalog in order, whose first films have these titles."""

    def pair() -> Pair:
        films = made_catalog(VECTORS, SHARED_SLATE)
        items = tuple(Item(title, 1960 + n) for n, title in enumerate(named))
        catalog = replace(films, items=(*items, *films.items[len(named) :]))
        return Pair(Retriever(made_card(space_of_width(), catalog, 6), catalog))

    return whole(pair)


def unknown_field(data: bytes) -> bytes:
    """Fields that no edition of the protocol has: number 1000 is 100, number 1001 is 64."""
    return data + b"\xc0\x3e\x64\xc8\x3e\x40"


def with_unknown_fields(body: pb.CatalogFile) -> None:
    for message in (body, body.card, body.card.space):
        message.MergeFromString(unknown_field(b""))


def repeated(of: Descriptor, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The ways to every repeated field of a message, and within."""
    for each in of.fields:
        if each.is_repeated:
            yield (each.name,)
        inner = each.message_type
        if inner is not None and inner.full_name not in seen:
            for way in repeated(inner, (*seen, of.full_name, inner.full_name)):
                yield (each.name, *way)


def bomb(message: Message, way: tuple[str, ...], count: int = 1 << 17) -> None:
    """The message with so many elements in a repeated field."""
    *parents, name = way
    target: Any = message
    for step in parents:
        field: FieldDescriptor = target.DESCRIPTOR.fields_by_name[step]
        value = getattr(target, step)
        target = (value[0] if value else value.add()) if field.is_repeated else value
    field = target.DESCRIPTOR.fields_by_name[name]
    values = getattr(target, name)
    if field.message_type is not None:
        values.extend([values.add()] * count)
    else:
        one = {FieldDescriptor.TYPE_STRING: "x", FieldDescriptor.TYPE_BYTES: b"x"}
        values.extend([one.get(field.type, 1)] * count)


def nested(data: bytes) -> bytes:
    """Replies within replies, deeper than a parser may follow."""
    message = pb.RetrieveResponse.FromString(data).SerializeToString()
    for _ in range(2_000):
        head, n = b"\x42", len(message)
        while n >= 128:
            head, n = head + bytes([n % 128 + 128]), n // 128
        message = head + bytes([n]) + message
    return message


MODELS: dict[str, Attack] = {
    # What a server decides of the space
    "a space of great width": model(partial(space_of_width, 64.0)),
    "a space of no width": file(space(unit=2.0**-40)),
    "one rating that moves everything": file(space(clip=1e6)),
    "one rating that moves nothing": model(lambda: space_of_width(clip=2.0**-60)),
    "likes that are divided by a billion": file(space(least_likes=10**9)),
    "a unit that makes everything far": file(space(unit=1e300)),
    "a clip that is minus zero": file(space(clip=-0.0)),
    "an origin of minus zeros": file(space(origin=b"\0\0\0\x80" * 2)),
    "scales of no numbers": file(space(scales=b"\0\0\xc0\x7f" * 2)),
    # Probes of what somebody rated
    "a catalog of one film": model(space_of_width, VECTORS[:1]),
    "a catalog of titles that nobody rated": titles(*(f"Nobody's {n}" for n in range(12))),
    "a scale above all ratings": scaled(6.0, 10.0, 8.0),
    "a scale between two ratings": scaled(1.25, 1.5, 1.375),
    "a scale where all is liked": scaled(1.0, 5.0, 1.0),
    "a scale beyond all numbers": scaled(1.0, 1e308, 4.0),
    # What a server says that a device decides
    "a largest k below what is asked": file(
        in_file(lambda body: put_in(body.card, {"max_slate_size": 3}))
    ),
    "an epsilon in a field that is none": file(in_file(with_unknown_fields)),
    "an epsilon in a reply": reply(unknown_field),
    # Texts
    "a title of a megabyte": file(titled("x" * 2**20)),
    "titles of markup, a link and a format": titles(
        "[@click=app.quit]Alien[/]", "<a href='http://x/'>x</a>", "{0.__class__}%s%n"
    ),
    "a title of marks": file(titled("a" + "\u0301" * 480)),
    "a title twice": file(titled("Film 5")),
    "a title of a homograph": titles("F\u0456lm 3"),
    # Bombs
    **{
        f"a bomb in {'.'.join(way)} of a file": file(in_file(partial(bomb, way=way)))
        for way in repeated(pb.CatalogFile.DESCRIPTOR)
    },
    **{
        f"a bomb in {'.'.join(way)} of the words": file(
            in_words(partial(bomb, way=way, count=1 << 21))
        )
        for way in repeated(pb.ItemWords.DESCRIPTOR)
    },
    **{
        f"a bomb in {'.'.join(way)} of a reply": reply(in_reply(partial(bomb, way=way)))
        for way in repeated(pb.RetrieveResponse.DESCRIPTOR)
    },
    "replies within replies": reply(nested),
    # Replies of others
    "another server's reply": reply(answers(catalog_version=bytes(16))),
    "another server's films under this one's name": reply(answers(boosts=bytes([191] * 4))),
    "a reply to somebody else": reply(answers(item_ids=[1, 5, 7, 11])),
    "a reply to another k": reply(answers(item_ids=[1, 5, 7])),
}


# What a reader refuses of a card, a catalog and an answer, tests/wire says; here are a few of each.
FILES: dict[str, Spoil] = {
    "a card of no items": in_file(lambda body: put_in(body.card, {"n_items": 0})),
    "a card with an endless clip": space(clip=float("inf")),
    "nothing": lambda _: b"",
    "another body": lambda file: file[:-1] + bytes([file[-1] ^ 1]),
    "no message": lambda _: file_of(b"\xff\xff\xff"),
    "a length beyond any budget": lambda file: file[:8] + b"\xff" * 8 + file[16:],
    "a title that steers the terminal": titled("\x1b]0;mine\x07"),
    "other vectors": in_file(lambda body: put_in(body, {"codes": bytes(12)})),
    "words that unpack for ever": in_file(
        lambda body: put_in(body, {"words": zlib.compress(bytes(1 << 26))})
    ),
}


ANSWERS: dict[str, Spoil] = {
    "an answer of nothing": lambda _: b"",
    "an answer that is no message": lambda _: b"\xff\xff\xff\xff",
    "one item too few": answers(item_ids=[1, 2, 3]),
    "items scored in another way": answers(codes=bytes(4)),
}


@pytest.mark.parametrize("case", FILES)
async def test_a_bad_file_is_refused_before_anything_is_drawn(
    pair: Pair, tmp_path: Path, case: str
) -> None:
    """Planted bugs: unpacking without a limit; taking the catalog's version on trust."""
    world = World(pair)
    world.file = FILES[case](world.file)
    with world.running():
        outcome = await ask(world, tmp_path)
    assert isinstance(outcome, Malformed | NotFound | OtherKind | ParameterError)
    assert world.asked == []
    assert not (tmp_path / "signals.sqlite").exists()


@pytest.mark.parametrize("case", ANSWERS)
async def test_a_bad_answer_is_refused_and_the_store_stays_as_it_was(
    pair: Pair, tmp_path: Path, case: str
) -> None:
    """Planted bug: drawing again, or forgetting the signal, because the answer was no good."""
    world = World(pair)
    with world.running():
        await ask(world, tmp_path)
        world.spoil = ANSWERS[case]
        assert isinstance(await ask(world, tmp_path), Malformed)
        await honest_after(world, tmp_path)
    assert len(world.asked) == 3


@dataclass(frozen=True)
class Seen:
    """What a server sees of a person, by sizes, and what they were shown and paid."""

    fetched: tuple[int, ...]
    asked: tuple[int, ...]
    ended: type
    shown: Any
    paid: tuple[Any, ...]


async def question(world: World, folder: Path, ratings: dict[str, Liking]) -> tuple[Seen, Any]:
    """A cost, and the question of who agrees to it, but for a second fresh signal of a month."""
    world.asked.clear()
    world.fetched.clear()
    shown = None
    outcome: Answer | AskewError
    async with device_at(world, folder, ratings=ratings) as device:
        try:
            cost = await device.asker.show(device.titles)
            shown = cost.charge.epsilon_per_rating
            agreed = None if cost.is_second else cost
            outcome = await device.asker.ask(device.titles, shown=agreed)
        except AskewError as error:
            outcome = error
    paid = tuple(each.epsilon_per_rating for each in charges(folder))
    sizes = tuple(map(len, world.fetched)), tuple(map(len, world.asked))
    return Seen(*sizes, type(outcome), shown, paid), outcome


# What is too large for anybody; those within replies of replies are like the others.
BOMBS = {each for each in MODELS if each.startswith("a bomb in ")}
ALIKE = {each for each in BOMBS if "in collections." in each}


@pytest.mark.parametrize(
    "attack",
    [pytest.param(each, marks=pytest.mark.audit) if each in ALIKE else each for each in MODELS],
)
async def test_everybody_sends_the_same_and_pays_what_they_were_shown(
    pair: Pair, tmp_path: Path, attack: str
) -> None:
    """Planted bugs: a device that does not ask about titles that it has not rated; an epsilon or a
    k that the server names.
    """
    world = World(pair)
    MODELS[attack](world)
    seen = []
    with world.running():
        for at, ratings in enumerate(PEOPLE[:1] if attack in BOMBS else PEOPLE):
            with measured() as spent:
                person, outcome = await question(world, tmp_path / str(at), ratings)
            assert is_clear(outcome), outcome
            spent.check()
            assert person.paid in ((), (person.shown,))
            for request in world.asked:
                sent = pb.RetrieveRequest.FromString(request)
                assert sent.k == PATIENT.k
                step, rate = sent.lattice.step_exponent, sent.lattice.inverse_rate
                assert 2**step / rate == PATIENT.epsilon_per_rating
            seen.append(person)
    assert seen[1:] == seen[:-1]
    assert len(seen[0].asked) == len(seen[0].paid) <= 1


async def test_a_server_that_churns_its_spaces_is_paid_once_a_month(
    pair: Pair, pair_in_a_space: Callable[..., Pair], tmp_path: Path
) -> None:
    """Each contact brings another space, so that each would draw anew; the person's yes is asked
    for the second one. Planted bug: a fresh signal for every space.
    """
    world = World(pair)
    with world.running():
        first, answer = await question(world, tmp_path, RATINGS)
        assert isinstance(answer, Answer)
        for width in (1.0, 1.5, 2.5):
            world.pair = pair_in_a_space(width=width)
            world.__post_init__()
            shutil.rmtree(tmp_path / "held")
            person, outcome = await question(world, tmp_path, RATINGS)
            assert isinstance(outcome, NotShown)
            assert (person.asked, person.paid) == ((), first.paid)


async def test_a_catalog_that_changes_under_one_date_costs_nothing_more(
    pair: Pair, tmp_path: Path
) -> None:
    """Each question is answered from another catalog than the device holds, so that it is a first
    contact again. Planted bug: what is held of a space that is gone is asked for by a fresh signal.
    """
    world = World(pair)
    with world.running():
        first, _ = await question(world, tmp_path, RATINGS)
        sent = [*world.asked]
        for turn in range(1, 5):
            world.pair = Pair(made_retriever(space_of_width(), VECTORS, [2.0 ** (-turn / 8)] * 12))
            world.__post_init__()
            stale, outcome = await question(world, tmp_path, RATINGS)
            assert isinstance(outcome, StaleSpace)
            assert (stale.paid, world.asked) == (first.paid, sent)
            fresh, outcome = await question(world, tmp_path, RATINGS)
            assert isinstance(outcome, Answer)
            assert (fresh.paid, world.asked) == (first.paid, sent)
