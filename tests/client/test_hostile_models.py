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
from typing import TYPE_CHECKING, Any

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
from small_world import made_card, made_catalog, made_encoder, made_space

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
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.profile.document import Liking
from askew_client.views.answers import Answer
from askew_server.retrieval.snapshot import Retriever

if TYPE_CHECKING:
    from askew.spaces.vectors import FeatureSpace

Attack = Callable[[World], None]
UNKNOWN: dict[str, Liking] = {"Film 77": 5.0, "Film 99": 1.0}
PEOPLE: tuple[dict[str, Liking], ...] = (RATINGS, UNKNOWN, {})


def spoiled(spoil: Callable[[pb.CatalogFile], None], file: bytes) -> bytes:
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


def file(make: Callable[[bytes], bytes]) -> Attack:

    def act(world: World) -> None:
        world.file = make(world.file)

    return act


def card(**fields: Any) -> Attack:
    return file(spoiled_card(**fields))


def reply(make: Callable[[bytes], bytes]) -> Attack:
    def act(world: World) -> None:
        world.spoil = make

    return act


def model(space: Callable[[], FeatureSpace], rows: list[tuple[float, ...]] = VECTORS) -> Attack:
    """A whole model of a space of the server's choosing, with replies that fit."""

    def act(world: World) -> None:
        world.pair = Pair(made_retriever(space(), rows))
        world.__post_init__()

    return act


def scaled(lowest: float, highest: float, like_from: float) -> Attack:
    return card(lowest_rating=lowest, highest_rating=highest, like_from=like_from)


def of_encoder(**fields: Any) -> Attack:
    return model(lambda: made_space(made_encoder(ranking=2, **{"least_likes": 1, **fields})))


def texts(*named: str) -> Attack:
    """A file whose first films have these titles, which no honest server can make."""

    def spoil(body: pb.CatalogFile) -> None:
        words = pb.ItemWords.FromString(zlib.decompress(body.words))
        rest = words.titles.split("\n")[len(named) :]
        words.titles = "\n".join([*named, *rest])
        body.words = zlib.compress(words.SerializeToString())

    return file(partial(spoiled, spoil))


def titles(*named: str) -> Attack:
    """A catalog in order, whose first films have these titles."""

    def act(world: World) -> None:
        items = tuple(
            Item(title, 1960 + n)
            for n, title in enumerate([*named, *(f"Film {n}" for n in range(len(named), 12))])
        )
        catalog = replace(made_catalog(VECTORS, SHARED_SLATE), items=items)
        world.pair = Pair(Retriever(made_card(space_of_width(), catalog, 6), catalog))
        world.__post_init__()

    return act


def unknown_field(data: bytes) -> bytes:
    """Fields that no edition of the protocol has: number 1000 is 100, number 1001 is 64."""
    return data + b"\xc0\x3e\x64\xc8\x3e\x40"


def with_unknown_fields(data: bytes) -> bytes:
    body = pb.CatalogFile.FromString(data[HEAD_BYTES:])
    body.card.MergeFromString(unknown_field(b""))
    body.card.space.MergeFromString(unknown_field(b""))
    return file_of(unknown_field(body.SerializeToString()))


def repeated(of: Descriptor, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The ways to every repeated field of a message, and within."""
    for each in of.fields:
        if each.is_repeated:
            yield (each.name,)
        inner = each.message_type
        if inner is not None and inner.full_name not in seen:
            for way in repeated(inner, (*seen, of.full_name, inner.full_name)):
                yield (each.name, *way)


def bomb(message: Message, way: tuple[str, ...], count: int = 1 << 17) -> Message:
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
    return message


def bomb_of_file(way: tuple[str, ...], data: bytes) -> bytes:
    return file_of(bomb(pb.CatalogFile.FromString(data[HEAD_BYTES:]), way).SerializeToString())


def bomb_of_words(way: tuple[str, ...], data: bytes) -> bytes:
    body = pb.CatalogFile.FromString(data[HEAD_BYTES:])
    words = bomb(pb.ItemWords.FromString(zlib.decompress(body.words)), way, 1 << 21)
    body.words = zlib.compress(words.SerializeToString())
    return file_of(body.SerializeToString())


def bomb_of_reply(way: tuple[str, ...], data: bytes) -> bytes:
    return bomb(pb.RetrieveResponse.FromString(data), way).SerializeToString()


def nested(data: bytes) -> bytes:
    """Replies within replies, deeper than a parser may follow."""
    message = pb.RetrieveResponse.FromString(data).SerializeToString()
    for _ in range(2_000):
        head, n = b"\x42", len(message)
        while n >= 128:
            head, n = head + bytes([n % 128 + 128]), n // 128
        message = head + bytes([n]) + message
    return message


def of_another_server(data: bytes) -> bytes:
    """The reply of a server of other films to the same question."""
    message = pb.RetrieveResponse.FromString(data)
    message.catalog_version = bytes(16)
    return message.SerializeToString()


def in_place_of_its_own(data: bytes) -> bytes:
    """The films of another server, under this one's name."""
    message = pb.RetrieveResponse.FromString(data)
    message.codes = message.codes[::-1]
    message.boosts = bytes([191] * len(message.boosts))
    return message.SerializeToString()


def replayed(items: list[int]) -> Callable[[bytes], bytes]:

    def make(data: bytes) -> bytes:
        message = pb.RetrieveResponse.FromString(data)
        message.item_ids[:] = items
        return message.SerializeToString()

    return make


MODELS: dict[str, Attack] = {
    # What a server decides of the space
    "a space of great width": model(partial(space_of_width, 64.0)),
    "a space of no width": card(unit=2.0**-40),
    "one rating that moves everything": card(clip=1e6),
    "one rating that moves nothing": of_encoder(clip=2.0**-60),
    "likes that are divided by a billion": card(least_likes=10**9),
    "a unit that makes everything far": card(unit=1e300),
    "a clip that is minus zero": card(clip=-0.0),
    "an origin of minus zeros": card(origin=b"\0\0\0\x80" * 2),
    "scales of no numbers": card(scales=b"\0\0\xc0\x7f" * 2),
    # Probes of what somebody rated
    "a catalog of one film": model(space_of_width, VECTORS[:1]),
    "a catalog of titles that nobody rated": titles(*(f"Nobody's {n}" for n in range(12))),
    "a scale above all ratings": scaled(6.0, 10.0, 8.0),
    "a scale between two ratings": scaled(1.25, 1.5, 1.375),
    "a scale where all is liked": scaled(1.0, 5.0, 1.0),
    "a scale beyond all numbers": scaled(1.0, 1e308, 4.0),
    # What a server says that a device decides
    "a largest k below what is asked": card(max_slate_size=3),
    "an epsilon in a field that is none": file(with_unknown_fields),
    "an epsilon in a reply": reply(unknown_field),
    # Texts
    "a title of a megabyte": texts("x" * 2**20),
    "titles of markup, a link and a format": titles(
        "[@click=app.quit]Alien[/]", "<a href='http://x/'>x</a>", "{0.__class__}%s%n"
    ),
    "a title of marks": texts("a" + "\u0301" * 480),
    "a title twice": texts("Film 5"),
    "a title of a homograph": titles("F\u0456lm 3"),
    # Bombs
    **{
        f"a bomb in {'.'.join(way)} of a file": file(partial(bomb_of_file, way))
        for way in repeated(pb.CatalogFile.DESCRIPTOR)
    },
    **{
        f"a bomb in {'.'.join(way)} of the words": file(partial(bomb_of_words, way))
        for way in repeated(pb.ItemWords.DESCRIPTOR)
    },
    **{
        f"a bomb in {'.'.join(way)} of a reply": reply(partial(bomb_of_reply, way))
        for way in repeated(pb.RetrieveResponse.DESCRIPTOR)
    },
    "replies within replies": reply(nested),
    # Replies of others
    "another server's reply": reply(of_another_server),
    "another server's films under this one's name": reply(in_place_of_its_own),
    "a reply to somebody else": reply(replayed([1, 5, 7, 11])),
    "a reply to another k": reply(replayed([1, 5, 7])),
}


# Refused, whoever asks


def steer_the_terminal(body: pb.CatalogFile) -> None:
    words = pb.ItemWords.FromString(zlib.decompress(body.words))
    words.titles = words.titles.replace("Film 3", "\x1b]0;mine\x07")
    body.words = zlib.compress(words.SerializeToString())


def other_vectors(body: pb.CatalogFile) -> None:
    body.codes = bytes(12)


def words_for_ever(body: pb.CatalogFile) -> None:
    body.words = zlib.compress(bytes(1 << 26))


# What a reader refuses of a card, a catalog and an answer, tests/wire says; here are a few of each.
FILES: dict[str, Callable[[bytes], bytes]] = {
    "a card of no items": spoiled_card(n_items=0),
    "a card with an endless clip": spoiled_card(clip=float("inf")),
    "nothing": lambda _: b"",
    "another body": lambda file: file[:-1] + bytes([file[-1] ^ 1]),
    "no message": lambda _: file_of(b"\xff\xff\xff"),
    "a length beyond any budget": lambda file: file[:8] + b"\xff" * 8 + file[16:],
    "a title that steers the terminal": partial(spoiled, steer_the_terminal),
    "other vectors": partial(spoiled, other_vectors),
    "words that unpack for ever": partial(spoiled, words_for_ever),
}


ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "an answer of nothing": lambda _: b"",
    "an answer that is no message": lambda _: b"\xff\xff\xff\xff",
    "one item too few": replayed([1, 2, 3]),
    "items scored in another way": in_place_of_its_own,
}


async def test_the_honest_server_answers_and_is_paid_once(pair: Pair, tmp_path: Path) -> None:
    """Or the refusals below would mean nothing."""
    world = World(pair)
    with world.running():
        assert isinstance(await ask(world, tmp_path), Answer)
    assert len(charges(tmp_path)) == len(world.asked) == 1


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
