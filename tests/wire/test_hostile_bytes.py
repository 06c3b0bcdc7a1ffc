"""Whatever the other side sends is a core type or a WireError, and never anything else."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import Message
from wire import metric_world as metric
from wire.messages import HOSTILE_TEXTS, SENT
from wire.taste_world import CARD, CATALOG, FILE, REPLY_BYTES, REQUEST_BYTES

from askew.catalog.catalog_file import HEAD_BYTES, FileHead
from askew.errors import (
    DimensionMismatch,
    Malformed,
    NotFound,
    OtherKind,
    OutOfRange,
    StaleSpace,
    WireError,
)
from askew.protocol.cards import ALL_NUMBER, Card, PlaceSlate
from askew.spaces.vectors import fold_in
from askew.wire.catalog_file import catalog_from_body
from askew.wire.places import all_places_to_bytes, places_from_bytes, places_to_bytes
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

CLEARED = object()  # in place of a value
Case = tuple[str, object, type[WireError]]
"""A field, by a path such as "collections.1.name", what it is set to, and the error."""
NAN, INF = float("nan"), float("inf")
STEPS = np.tile(np.linspace(-2, 2, 33), 2).tolist()  # knots of two dimensions
REGION, AXES, KIND = "metric_space.region", "metric_space.axes.axes", "collections.1.attributes.0"
AXIS, AT = f"{AXES}.0", "listings.0.coordinates"
UNKNOWN = pb.AttributeValue()
FOUR = [pb.Axis(name=f"a{n}", unit="km", high=1, scale=1) for n in range(4)]
OF_MAP, OF_AXES = SENT["place"].message.map, SENT["axes"].message.lattice


def scales(*values: float) -> bytes:
    return np.array(values, dtype="<f4").tobytes()


def altered(whole: Message, path: str, value: object) -> bytes:
    """Return a message's bytes with one field cleared, or set to another value."""
    changed = type(whole)()
    changed.CopyFrom(whole)
    target: Any = changed
    *way, field = path.split(".")
    for step in way:
        target = target[int(step)] if step.isdigit() else getattr(target, step)
    target.ClearField(field)
    if isinstance(value, list | tuple):
        getattr(target, field).extend(value)
    elif isinstance(value, Message):
        getattr(target, field).CopyFrom(value)
    elif value is not CLEARED:
        setattr(target, field, value)
    return bytes(changed.SerializeToString())


def wide(dimension: int, ranking: int) -> pb.FeatureSpace:
    """A space of more numbers, which fit together."""
    space = pb.FeatureSpace()
    space.CopyFrom(SENT["card"].message.space)
    space.knots[:] = STEPS[:33] * dimension
    space.directions, space.origin = bytes(4 * ranking * dimension), bytes(4 * ranking)
    return space


HOSTILE: dict[str, dict[str, Case]] = {
    "query": {
        "a coordinate too few": ("values", [0], DimensionMismatch),
        "a coordinate too many": ("values", [0, 0, 0], DimensionMismatch),
        "a coordinate below the limit": ("values", [0, -(2**31)], OutOfRange),
        "a collection": ("collection", 0, StaleSpace),
        "no Monday": ("catalog_date", 0, StaleSpace),
        "k = 6 of 5 items": ("k", 6, OutOfRange),
        "an inverse rate of 0": ("lattice.inverse_rate", 0, OutOfRange),
        "no mechanism": ("lattice", CLEARED, Malformed),
        "the noise of a map": ("map", OF_MAP, StaleSpace),
        "k = 0": ("k", 0, OutOfRange),
    },
    "place": {
        "a latitude alone": ("values", [0], OutOfRange),
        "a latitude beyond the pole": ("values", [90_000_001, 0], OutOfRange),
        "k = 0": ("k", 0, OutOfRange),
        "k = 6 of at most 5": ("k", 6, OutOfRange),
        "no collection": ("collection", CLEARED, StaleSpace),
        "a collection of another number": ("collection", 3, NotFound),
        "rows of no Monday": ("holds_rows", True, StaleSpace),
        "the noise of axes": ("lattice", OF_AXES, StaleSpace),
        "the cosine of 75.1 degrees": ("map.cosine", 16851, OutOfRange),
        "an inverse rate of 0": ("map.inverse_rate", 0, OutOfRange),
        "no cosine": ("map.cosine", 0, OutOfRange),
    },
    "axes": {
        "a coordinate too few": ("values", [0], DimensionMismatch),
        "a coordinate too many": ("values", [0, 0, 0], DimensionMismatch),
        "no Monday": ("catalog_date", 0, StaleSpace),
        "no collection": ("collection", CLEARED, StaleSpace),
        "another collection": ("collection", 7, NotFound),
        "the noise of a map": ("map", OF_MAP, StaleSpace),
        "k = 65 of 64": ("k", 65, OutOfRange),
    },
    "slate": {
        "no items": ("item_ids", [], Malformed),
        "an item twice": ("item_ids", [0, 2, 2], OutOfRange),
        "an item beyond the catalog": ("item_ids", [0, 2, 5], OutOfRange),
        "a catalog version cut short": ("catalog_version", bytes(15), Malformed),
        "another catalog": ("catalog_version", bytes(16), StaleSpace),
        "an item's words too few": ("items", [pb.Item(title="A"), pb.Item(title="B")], Malformed),
        "a byte of codes too few": ("codes", bytes(5), Malformed),
        "something after an item's last code": ("codes", b"\0\0\0\x10\0\0", Malformed),
        "the number of a collection": ("collection", 0, Malformed),
        "an item without a title": ("items.1.title", "", OutOfRange),
    },
    "places": {
        "an item twice": ("listings.1.item", 0, OutOfRange),
        "item ids beside": ("item_ids", [0, 2, 4], Malformed),
        "boosts beside": ("boosts", bytes(4), Malformed),
        "codes beside": ("codes", bytes(4), Malformed),
        "parts beside": ("collections", [pb.RetrieveResponse()], Malformed),
        "another catalog": ("catalog_version", bytes(16), StaleSpace),
        "no catalog": ("catalog_version", b"", Malformed),
        "another collection": ("collection", 2, Malformed),
        "no collection": ("collection", CLEARED, Malformed),
        "an item beyond the collection": ("listings.2.item", 5, OutOfRange),
        "a latitude alone": (AT, [1.0], OutOfRange),
        "a latitude beyond the pole": (AT, [90.0001, 0.0], OutOfRange),
        "a value too few": ("listings.0.values", [UNKNOWN] * 3, OutOfRange),
        "a number for a category": ("listings.0.values.0.number", 1.0, OutOfRange),
        "text for a number": ("listings.0.values.1.text", "a", OutOfRange),
        "a NaN price": ("listings.0.values.1.number", NAN, OutOfRange),
        "a number for a flag": ("listings.0.values.2.number", 1.0, OutOfRange),
        "a NaN": (AT, [NAN, 0.0], OutOfRange),
    },
    "posts": {
        "beyond the end of an axis": (AT, [800.1, 1.0], OutOfRange),
        "a NaN": (AT, [NAN, 1.0], OutOfRange),
    },
    "card": {
        "no dimension": ("space.knots", [], Malformed),
        "knots of another dimension": ("space.knots", STEPS[:33], Malformed),
        "knots that do not increase": ("space.knots", [*STEPS[33:], *[1.0] * 33], OutOfRange),
        "knots closer than a device can tell": (
            "space.knots",
            [*(1e-12 * i for i in range(33)), *STEPS[33:]],
            OutOfRange,
        ),
        "no directions": ("space.directions", b"", Malformed),
        "a NaN direction": ("space.directions", scales(*[0] * 5, NAN), OutOfRange),
        "no origin": ("space.origin", b"", Malformed),
        "half a number for an origin": ("space.origin", bytes(14), Malformed),
        "an infinite origin": ("space.origin", scales(0, 0, INF), OutOfRange),
        "a NaN clip": ("space.clip", NAN, OutOfRange),
        "a NaN unit": ("space.unit", NAN, OutOfRange),
        "a unit with too many digits": ("space.unit", 1.1, OutOfRange),
        "a scale too many": ("space.scales", scales(1, 1, 1, 1), Malformed),
        "a scale that overflows": ("space.scales", scales(1, 1, 3e38), OutOfRange),
        "no default items": ("n_default", 0, OutOfRange),
        "more default items than items": ("n_default", 6, OutOfRange),
        "nothing liked": ("space.like_from", 5.5, OutOfRange),
        "no items": ("n_items", 0, OutOfRange),
        "more items than fit a device": ("n_items", 2_000_001, OutOfRange),
        "a largest slate of 0": ("max_slate_size", 0, OutOfRange),
        "a largest slate beyond the catalog": ("max_slate_size", 6, OutOfRange),
        "257 ranking dimensions": ("space", wide(2, 257), OutOfRange),
        "no space": ("space", CLEARED, WireError),
        "a card of places": ("metric_space.region.south", 1.0, OtherKind),
        "a NaN knot": ("space.knots", [NAN, *STEPS[1:]], OutOfRange),
        "a clip of zero": ("space.clip", 0.0, OutOfRange),
        "no least likes": ("space.least_likes", 0, OutOfRange),
        "a scale from NaN": ("space.lowest_rating", NAN, OutOfRange),
        "17 dimensions": ("space", wide(17, 3), OutOfRange),
    },
    "map card": {
        "no space": ("metric_space", CLEARED, OutOfRange),
        "neither map nor axes": ("metric_space.region", CLEARED, Malformed),
        "a NaN edge": (f"{REGION}.south", NAN, OutOfRange),
        "no collections": ("collections", [], OutOfRange),
        "two collections of one name": ("collections.1.name", "places to eat", OutOfRange),
        "two collections of one number": ("collections.1.number", 2, OutOfRange),
        "number 256, which is all": ("collections.1.number", 256, OutOfRange),
        "a collection called *": ("collections.1.name", "*", OutOfRange),
        "slates of nothing": ("max_slate_size", 0, OutOfRange),
        "slates of 257": ("max_slate_size", 257, OutOfRange),
        "a collection of nothing": ("collections.0.n_items", 0, OutOfRange),
        "10^9 items": ("collections.0.n_items", 10**9, OutOfRange),
        "a version cut short": ("collections.0.version", b"0", Malformed),
        "a rule of tastes": ("rule.name", "offsets", OutOfRange),
        "another mode": ("collections.0.mode", "push", OutOfRange),
        "an attribute of no kind": (f"{KIND}.kind", "picture", OutOfRange),
        "two attributes of one name": ("collections.1.attributes.1.name", "kind", OutOfRange),
        "65 words": (f"{KIND}.words", ["w"] * 65, OutOfRange),
        "a word that steers a terminal": (f"{KIND}.words", ["\x1b[2J"], OutOfRange),
        "words of a number": ("collections.1.attributes.1.words", ["cheap"], OutOfRange),
        "17 attributes": (
            "collections.0.attributes",
            [pb.Attribute(name=f"a{n}", kind="flag") for n in range(17)],
            OutOfRange,
        ),
        "a card of titles": ("space.unit", 1.0, OtherKind),
    },
    "axes card": {
        "an end of 7 digits": (f"{AXIS}.high", 800.0001, OutOfRange),
        "a name that clears the screen": (f"{AXIS}.name", "\x1b[2J", OutOfRange),
        "four axes": (AXES, FOUR, OutOfRange),
        "a NaN axis": (f"{AXIS}.low", NAN, OutOfRange),
        "an axis of nothing": (f"{AXIS}.high", 0.0, OutOfRange),
        "no axes": (AXES, [], OutOfRange),
    },
    "held": {
        "codes cut short": ("codes", bytes(9), Malformed),
        "words that are not packed": ("words", b"words", Malformed),
        "a shared slate beyond the items": ("shared_slate", [0, 1, 2, 3, 5], OutOfRange),
        "a shared slate too short": ("shared_slate", [0, 1, 2, 3], Malformed),
        "another catalog than the card's": ("card.catalog_version", bytes(16), Malformed),
        "more items than the card says": ("card.n_items", 4, WireError),
        "a card of places": ("card.metric_space.region.south", 1.0, OtherKind),
    },
    "neighbors": {
        "codes alone": ("neighbors", b"", Malformed),
        "a code too many": ("neighbor_codes", b"\x01" * 6, Malformed),
        "neighbors alone": ("neighbor_codes", b"", Malformed),
        "an odd number of bytes": ("neighbors", b"\0" * 11, Malformed),
        "an item beyond the catalog": ("neighbors", b"\5\0" * 5, OutOfRange),
        "a neighbor without a code": ("neighbor_codes", b"\0" * 5, OutOfRange),
        "something after the last code": ("neighbor_codes", b"\x21" * 5, Malformed),
        "no step": ("neighbor_step", 0.0, OutOfRange),
        "a NaN step": ("neighbor_step", NAN, OutOfRange),
        "another step than the card's catalog": ("neighbor_step", 0.25, Malformed),
    },
    "charge": {  # SQLite's integers end at 2**63 - 1
        "none": ("charge", 0, OutOfRange),
        "no integer of SQLite's": ("charge", 2**63, OutOfRange),
    },
    "page request": {"after no possible charge": ("after", 2**63, OutOfRange)},
    "question": {
        "k = 1001": ("k", 1001, OutOfRange),
        "no data set": ("dataset", "", OutOfRange),
        "a data set of 501 characters": ("dataset", "x" * 501, OutOfRange),
        "no key": ("key", "", OutOfRange),
        "a key with a blank": ("key", "a b", OutOfRange),
        "a key of 65 characters": ("key", "a" * 65, OutOfRange),
    },
    "budget": {
        "101 outputs of 100": ("budget.spent_outputs", 101, OutOfRange),
        "11 questions of 10": ("budget.asked_questions", 11, OutOfRange),
    },
}
ROWS = [(name, case) for name, cases in HOSTILE.items() for case in cases]
TEXTS = {  # where text of a stranger stands
    "places": ["listings.0.title", "listings.0.values.0.text", "listings.0.values.3.text"],
    "card": ["source"],
    "map card": [
        "collections.0.name",
        "collections.0.source",
        "collections.1.attributes.1.name",
        "rule.prior",
    ],
}


@pytest.mark.parametrize(("name", "case"), ROWS, ids=[f"{name}, {case}" for name, case in ROWS])
def test_a_message_with_one_field_amiss_is_refused(name: str, case: str) -> None:
    """Planted bugs: the reply of another collection; an axis of 7 digits; a question of no
    Monday.
    """
    path, value, kind = HOSTILE[name][case]
    with pytest.raises(kind) as caught:
        SENT[name].parse(altered(SENT[name].message, path, value))
    assert caught.type is kind or kind is WireError
    assert str(caught.value).isprintable()
    assert "52" not in str(caught.value)  # nor a coordinate of the question


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_steers_terminals_is_refused_wherever_it_stands(name: str, text: str) -> None:
    for path in TEXTS[name]:
        with pytest.raises(OutOfRange) as caught:
            SENT[name].parse(altered(SENT[name].message, path, text))
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["query", "place", "axes", "slate", "places", "posts", "held"])
def test_every_part_of_a_message_is_refused(name: str) -> None:
    accepted, whole = [], SENT[name].data
    for length in range(len(whole)):
        with contextlib.suppress(WireError):
            SENT[name].parse(whole[:length])
            accepted.append(length)
    assert accepted == []


@pytest.mark.parametrize("k", [2, 4])
def test_a_reply_to_another_k_is_refused(k: int) -> None:
    with pytest.raises(Malformed, match=f"the answer has 3 items, {k} were asked for"):
        slate_from_bytes(REPLY_BYTES, CARD, k)
    with pytest.raises(Malformed, match=f"the answer has 3 whole items, {k} were asked for"):
        places_from_bytes(metric.REPLY_BYTES, metric.MAP_CARD, replace(metric.QUERY, k=k))


@pytest.mark.parametrize("sent", ["query", "place", "axes"])
@pytest.mark.parametrize("card", [CARD, metric.MAP_CARD, metric.AXES_CARD], ids=["t", "m", "a"])
def test_a_server_of_another_kind_refuses_a_question_as_stale(sent: str, card: Card) -> None:
    """So the device looks anew at what this address serves."""
    if {"query": CARD, "place": metric.MAP_CARD, "axes": metric.AXES_CARD}[sent] is not card:
        with pytest.raises(StaleSpace):
            query_from_bytes(SENT[sent].data, card)


def test_k_ends_where_the_card_says() -> None:
    """Also where the catalog has more items; near a place, whatever a collection has: it answers
    with all of them.
    """
    with pytest.raises(OutOfRange, match="k must be from 1 to 2"):
        query_from_bytes(REQUEST_BYTES, replace(CARD, max_slate_size=2))
    card = replace(metric.MAP_CARD, max_slate_size=256)
    for number, most, parts in ((2, 160, [160]), (7, 160, [5]), (ALL_NUMBER, 80, [80, 5])):
        query = replace(metric.QUERY, collection=number, k=most)
        card.check(query)
        assert [each.k for each in card.questions(query)] == parts
        with pytest.raises(OutOfRange, match=f"k must be from 1 to {most}"):
            card.check(replace(query, k=most + 1))


def test_the_answer_for_all_has_a_part_for_each_collection() -> None:
    """Planted bugs: parts in another order, a part too few, one within another."""
    query = replace(metric.QUERY, collection=ALL_NUMBER, k=2)
    slate = PlaceSlate("ff" * 16, metric.LISTINGS[:2])
    cards = [replace(metric.CAFES, name=str(number), number=number) for number in (7, 9)]
    card = replace(metric.MAP_CARD, collections=tuple(cards))
    here, there = (places_to_bytes(slate, each) for each in cards)
    both = places_from_bytes(all_places_to_bytes([here, there]), card, query)
    assert both == (slate, slate)
    bad = [[there, here], [here], [here, there, here], [all_places_to_bytes([here]), there]]
    for data in [here, *map(all_places_to_bytes, bad), all_places_to_bytes([here, there]) + here]:
        with pytest.raises(Malformed):
            places_from_bytes(data, card, query)


HOSTILE_SPACES: dict[str, dict[str, object]] = {
    "a scale of the smallest numbers": {
        "lowest_rating": 0.0,
        "like_from": 5e-324,
        "highest_rating": 1e-323,
    },
    "a scale of the largest numbers": {"lowest_rating": -1.7e308, "highest_rating": 1.7e308},
    "the largest directions": {"directions": scales(*[1024] * 6)},
    "the smallest clip": {"clip": 5e-324},
    "the most least likes": {"least_likes": 10_000},
    "the largest unit": {"unit": 64.0},
}


@pytest.mark.parametrize("fields", HOSTILE_SPACES.values(), ids=HOSTILE_SPACES)
def test_a_space_that_is_accepted_makes_a_profile_of_any_ratings(fields: dict[str, object]) -> None:
    """A space is refused when it arrives, or it works: a person's ratings are never to blame."""
    message = SENT["card"].message
    for name, value in fields.items():
        setattr(message.space, name, value)
    try:
        space = card_from_bytes(message.SerializeToString()).space
    except WireError:
        return
    lowest, highest = space.scale.lowest, space.scale.highest
    profile = fold_in({0: lowest, 1: highest, 4: highest}, CATALOG.vectors, space)
    assert np.isfinite(profile.taste).all()
    assert np.isfinite(profile.point).all()
    assert 0 < space.encoder.one_rating <= space.diameter
    assert (space.scale.is_like(lowest), space.scale.is_like(highest)) == (False, True)


def test_words_that_unpack_to_more_than_words_do_are_refused() -> None:
    """Empty lists take 16 times as much memory again: 3 MB filled 3.4 GB by a factor of 64."""
    noise = random.Random(1).randbytes(1 << 15)
    bomb = zlib.compress(noise + pb.ItemWords(lists=[pb.Genres()] * (5 << 16)).SerializeToString())
    assert len(bomb) < len(noise) + (1 << 14)
    with pytest.raises(Malformed, match="cut short, or too large"):
        catalog_from_body(altered(SENT["held"].message, "words", bomb))


FEWER, STEERS = "words of another number of items", "must be printable text of 1 to 500 characters"
WORDS: dict[str, tuple[Callable[[pb.ItemWords], object], str]] = {
    "a title too few": (lambda w: setattr(w, "titles", w.titles.rpartition("\n")[0]), FEWER),
    "a year too few": (lambda w: w.years.pop(), FEWER),
    "a number of a list too few": (lambda w: w.genres.pop(), FEWER),
    "a title that steers": (lambda w: setattr(w, "titles", "\x1b[2J" + w.titles), STEERS),
    "a genre that steers": (lambda w: w.lists[0].names.__setitem__(0, "\x1b[2J"), STEERS),
    "a genre in no list": (lambda w: w.genres.__setitem__(1, 9), "the genres of an item"),
    "the year 10,000": (lambda w: w.years.__setitem__(0, 10_000), "a year must be from 1 to 9999"),
}


@pytest.mark.parametrize("case", WORDS)
def test_words_of_no_items_are_refused(case: str) -> None:
    (change, why), held = WORDS[case], SENT["held"].message
    words = pb.ItemWords.FromString(zlib.decompress(held.words))
    change(words)
    with pytest.raises(WireError, match=why):
        catalog_from_body(altered(held, "words", zlib.compress(words.SerializeToString())))


@pytest.mark.parametrize("changed", [0, 8, 20, -1])
def test_a_head_that_does_not_fit_its_body_is_refused(changed: int) -> None:
    """A byte of the name, the length, the digest, or the body."""
    bad = bytearray(FILE)
    bad[changed] ^= 1
    with pytest.raises(Malformed):
        FileHead.of(bytes(bad)).check(bytes(bad[HEAD_BYTES:]))
    with pytest.raises(Malformed, match="not the beginning"):
        FileHead.of(FILE[: HEAD_BYTES - 1])


def test_the_wire_does_not_load_where_protobuf_is_not_compiled() -> None:
    """Protobuf falls back to plain Python, whose parser fails with errors of its own."""
    plain = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    command = [sys.executable, "-c", "from askew.wire import tastes"]
    ran = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "ImportError: Askew needs protobuf's compiled runtime (upb)" in ran.stderr
