"""Whatever the other side sends is a core type or a WireError, and never anything else."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest
from wire.hostility import HOSTILE_TEXTS, Case, accepted_parts, altered

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import HEAD_BYTES, FileHead
from askew.errors import (
    AskewError,
    DimensionMismatch,
    Malformed,
    OtherKind,
    OutOfRange,
    StaleSpace,
    WireError,
)
from askew.protocol.model_card import ModelCard
from askew.spaces.item_codes import decode, decode_boosts
from askew.spaces.vectors import fold_in
from askew.wire.catalog_file import catalog_from_body
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import card_from_bytes, card_from_message, slate_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

NAN, INF = float("nan"), float("inf")
K = 3

# -- requests -------------------------------------------------------------------------------------

REQUESTS: dict[str, Case] = {
    "no coordinates": ("values", [], OutOfRange),
    "a coordinate too few": ("values", [0], DimensionMismatch),
    "a coordinate too many": ("values", [0, 0, 0], DimensionMismatch),
    "a thousand coordinates": ("values", [0] * 1000, DimensionMismatch),
    "a coordinate below the limit": ("values", [0, -(2**31)], OutOfRange),
    "a space version": ("space_version", bytes(16), StaleSpace),
    "a space version cut short": ("space_version", bytes(15), StaleSpace),
    "no catalog date": ("catalog_date", 0, StaleSpace),
    "k = 0": ("k", 0, OutOfRange),
    "k = 6 of 5 items": ("k", 6, OutOfRange),
    "the largest k of 32 bits": ("k", 2**32 - 1, OutOfRange),
    "a step exponent of 21": ("lattice.step_exponent", 21, OutOfRange),
    "the largest step exponent of 32 bits": ("lattice.step_exponent", 2**32 - 1, OutOfRange),
    "an inverse rate of 0": ("lattice.inverse_rate", 0, OutOfRange),
    "an inverse rate of 4097": ("lattice.inverse_rate", 4097, OutOfRange),
    "the largest inverse rate of 32 bits": ("lattice.inverse_rate", 2**32 - 1, OutOfRange),
}


@pytest.mark.parametrize(("path", "value", "kind"), REQUESTS.values(), ids=REQUESTS)
def test_a_bad_request_is_refused(
    card: ModelCard, request_bytes: bytes, path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.RetrieveRequest.FromString(request_bytes), path, value)
    with pytest.raises(WireError) as caught:
        query_from_bytes(bad, card)
    assert kind is caught.type


def test_a_request_without_a_mechanism_is_refused(card: ModelCard, request_bytes: bytes) -> None:
    message = pb.RetrieveRequest.FromString(request_bytes)
    message.ClearField("lattice")
    with pytest.raises(Malformed, match="names no mechanism"):
        query_from_bytes(message.SerializeToString(), card)


def test_a_slate_larger_than_the_server_allows_is_refused(
    card: ModelCard, request_bytes: bytes
) -> None:
    """The limit is the card's, also where the catalog has more items."""
    with pytest.raises(OutOfRange, match="k must be from 1 to 2"):
        query_from_bytes(request_bytes, replace(card, max_slate_size=2))


def test_every_part_of_a_request_is_refused(card: ModelCard, request_bytes: bytes) -> None:
    assert not accepted_parts(request_bytes, lambda data: query_from_bytes(data, card))


# -- replies --------------------------------------------------------------------------------------


def scales(*values: float) -> bytes:
    return np.array(values, dtype="<f4").tobytes()


REPLIES: dict[str, Case] = {
    "no items": ("item_ids", [], Malformed),
    "an item too few": ("item_ids", [0, 2], Malformed),
    "an item too many": ("item_ids", [0, 2, 3, 4], Malformed),
    "an item twice": ("item_ids", [0, 2, 2], OutOfRange),
    "descending items": ("item_ids", [4, 2, 0], OutOfRange),
    "two items the wrong way round": ("item_ids", [0, 4, 2], OutOfRange),
    "an item beyond the catalog": ("item_ids", [0, 2, 5], OutOfRange),
    "the largest item of 32 bits": ("item_ids", [0, 2, 2**32 - 1], OutOfRange),
    "no catalog version": ("catalog_version", b"", Malformed),
    "a catalog version cut short": ("catalog_version", bytes(15), Malformed),
    "a catalog version too long": ("catalog_version", bytes(17), Malformed),
    "another catalog": ("catalog_version", bytes(16), StaleSpace),
    "no boosts": ("boosts", b"", Malformed),
    "a boost too few": ("boosts", bytes(2), Malformed),
    "a boost too many": ("boosts", bytes(4), Malformed),
    "an item's words too few": ("items", [pb.Item(title="A"), pb.Item(title="B")], Malformed),
    "an item without a title": ("items", [pb.Item(title="A"), pb.Item(), pb.Item()], OutOfRange),
    "no codes": ("codes", b"", Malformed),
    "a byte of codes too few": ("codes", bytes(5), Malformed),
    "a byte of codes too many": ("codes", bytes(7), Malformed),
    "something after an item's last code": ("codes", b"\0\0\0\x10\0\0", Malformed),
}


@pytest.mark.parametrize(("path", "value", "kind"), REPLIES.values(), ids=REPLIES)
def test_a_bad_reply_is_refused(
    card: ModelCard, reply_bytes: bytes, path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.RetrieveResponse.FromString(reply_bytes), path, value)
    with pytest.raises(WireError) as caught:
        slate_from_bytes(bad, card, K)
    assert kind is caught.type


@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_a_reply_to_another_k_is_refused(card: ModelCard, reply_bytes: bytes, k: int) -> None:
    with pytest.raises(Malformed, match=f"the answer has 3 items, {k} were asked for"):
        slate_from_bytes(reply_bytes, card, k)


def test_every_part_of_a_reply_is_refused(card: ModelCard, reply_bytes: bytes) -> None:
    assert not accepted_parts(reply_bytes, lambda data: slate_from_bytes(data, card, K))


# -- cards ----------------------------------------------------------------------------------------

STEPS = np.tile(np.linspace(-2, 2, 33), 2).tolist()  # knots of two dimensions

CARDS: dict[str, Case] = {
    "no dimension": ("space.knots", [], Malformed),
    "a knot too few": ("space.knots", STEPS[1:], Malformed),
    "knots of another dimension": ("space.knots", STEPS[:33], Malformed),
    "knots that do not increase": ("space.knots", [*STEPS[33:], *[1.0] * 33], OutOfRange),
    "knots that fall": ("space.knots", STEPS[::-1], OutOfRange),
    "a NaN knot": ("space.knots", [NAN, *STEPS[1:]], OutOfRange),
    "an infinite knot": ("space.knots", [-INF, *STEPS[1:]], OutOfRange),
    "a huge knot": ("space.knots", [*STEPS[:-1], 1e300], OutOfRange),
    "knots closer than a device can tell": (
        "space.knots",
        [*(1e-12 * i for i in range(33)), *STEPS[33:]],
        OutOfRange,
    ),
    "no directions": ("space.directions", b"", Malformed),
    "directions cut short": ("space.directions", bytes(23), Malformed),
    "a NaN direction": ("space.directions", scales(*[0] * 5, NAN), OutOfRange),
    "a huge direction": ("space.directions", scales(*[0] * 5, 2000), OutOfRange),
    "no origin": ("space.origin", b"", Malformed),
    "an origin of another dimension": ("space.origin", bytes(16), Malformed),
    "half a number for an origin": ("space.origin", bytes(14), Malformed),
    "an infinite origin": ("space.origin", scales(0, 0, INF), OutOfRange),
    "a clip of zero": ("space.clip", 0.0, OutOfRange),
    "a negative clip": ("space.clip", -1.0, OutOfRange),
    "a NaN clip": ("space.clip", NAN, OutOfRange),
    "an infinite clip": ("space.clip", INF, OutOfRange),
    "no least likes": ("space.least_likes", 0, OutOfRange),
    "the most least likes of 32 bits": ("space.least_likes", 2**32 - 1, OutOfRange),
    "a unit of zero": ("space.unit", 0.0, OutOfRange),
    "a NaN unit": ("space.unit", NAN, OutOfRange),
    "a unit with too many digits": ("space.unit", 1.1, OutOfRange),
    "a huge unit": ("space.unit", 1e300, OutOfRange),
    "no scales": ("space.scales", b"", Malformed),
    "a scale too many": ("space.scales", scales(1, 1, 1, 1), Malformed),
    "a scale of zero": ("space.scales", scales(1, 0, 1), OutOfRange),
    "a NaN scale": ("space.scales", scales(NAN, 1, 1), OutOfRange),
    "a scale that overflows": ("space.scales", scales(1, 1, 3e38), OutOfRange),
    "no default items": ("n_default", 0, OutOfRange),
    "more default items than items": ("n_default", 6, OutOfRange),
    "a scale of one rating": ("space.lowest_rating", 5.0, OutOfRange),
    "a reversed scale": ("space.lowest_rating", 6.0, OutOfRange),
    "a scale from NaN": ("space.lowest_rating", NAN, OutOfRange),
    "a scale to NaN": ("space.highest_rating", NAN, OutOfRange),
    "a scale to infinity": ("space.highest_rating", INF, OutOfRange),
    "likes from NaN": ("space.like_from", NAN, OutOfRange),
    "everything liked": ("space.like_from", 1.0, OutOfRange),
    "nothing liked": ("space.like_from", 5.5, OutOfRange),
    "no catalog version": ("catalog_version", b"", Malformed),
    "a catalog version too long": ("catalog_version", bytes(32), Malformed),
    "no items": ("n_items", 0, OutOfRange),
    "more items than fit a device": ("n_items", 2_000_001, OutOfRange),
    "the most items of 32 bits": ("n_items", 2**32 - 1, OutOfRange),
    "a largest slate of 0": ("max_slate_size", 0, OutOfRange),
    "a largest slate beyond the catalog": ("max_slate_size", 6, OutOfRange),
    **{f"a source of {name}": ("source", text, OutOfRange) for name, text in HOSTILE_TEXTS.items()},
}


@pytest.mark.parametrize(("path", "value", "kind"), CARDS.values(), ids=CARDS)
def test_a_bad_card_is_refused(
    card_bytes: bytes, path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.GetModelCardResponse.FromString(card_bytes), path, value)
    with pytest.raises(WireError) as caught:
        card_from_bytes(bad)
    assert kind is caught.type


@pytest.mark.parametrize("dimension", [17, 100])
def test_a_space_of_too_many_dimensions_is_refused(card_bytes: bytes, dimension: int) -> None:
    message = pb.GetModelCardResponse.FromString(card_bytes)
    message.space.directions = bytes(4 * 3 * dimension)
    bad = altered(message, "space.knots", STEPS[:33] * dimension)
    with pytest.raises(OutOfRange, match="the number of directions must be from 1 to 16"):
        card_from_bytes(bad)


@pytest.mark.parametrize("ranking", [257, 2000])
def test_a_space_of_too_many_ranking_dimensions_is_refused(card_bytes: bytes, ranking: int) -> None:
    message = pb.GetModelCardResponse.FromString(card_bytes)
    message.space.directions = bytes(4 * 2 * ranking)
    message.space.origin = bytes(4 * ranking)
    with pytest.raises(OutOfRange, match="the ranking dimension must be from 1 to 256"):
        card_from_bytes(message.SerializeToString())


def test_a_card_without_a_space_is_refused(card_bytes: bytes) -> None:
    message = pb.GetModelCardResponse.FromString(card_bytes)
    message.ClearField("space")
    with pytest.raises(WireError):
        card_from_bytes(message.SerializeToString())


HOSTILE_SPACES: dict[str, dict[str, object]] = {
    "a scale of neighboring numbers": {
        "lowest_rating": 1.0,
        "like_from": 1 + 2**-52,
        "highest_rating": 1 + 2**-52,
    },
    "a scale of the smallest numbers": {
        "lowest_rating": 0.0,
        "like_from": 5e-324,
        "highest_rating": 1e-323,
    },
    "a scale of the largest numbers": {"lowest_rating": -1.7e308, "highest_rating": 1.7e308},
    "the largest directions": {"directions": scales(*[1024] * 6)},
    "the largest clip": {"clip": 1024.0},
    "the smallest clip": {"clip": 5e-324},
    "the most least likes": {"least_likes": 10_000},
    "the smallest unit": {"unit": 2.0**-16},
    "the largest unit": {"unit": 64.0},
}


@pytest.mark.parametrize("fields", HOSTILE_SPACES.values(), ids=HOSTILE_SPACES)
def test_a_space_that_is_accepted_makes_a_profile_of_any_ratings(
    card_bytes: bytes, catalog: Catalog, fields: dict[str, object]
) -> None:
    """A space is refused when it arrives, or it works: a person's ratings are never to blame."""
    message = pb.GetModelCardResponse.FromString(card_bytes)
    for name, value in fields.items():
        setattr(message.space, name, value)
    try:
        space = card_from_bytes(message.SerializeToString()).space
    except WireError:
        return
    lowest, highest = space.scale.lowest, space.scale.highest
    profile = fold_in({0: lowest, 1: highest, 4: highest}, catalog.vectors, space)
    assert np.isfinite(profile.taste).all()
    assert np.isfinite(profile.point).all()
    assert 0 < space.encoder.one_rating <= space.diameter
    assert (space.scale.is_like(lowest), space.scale.is_like(highest)) == (False, True)


# -- held files -----------------------------------------------------------------------------------


@pytest.fixture
def held(catalog_file: bytes) -> pb.CatalogFile:
    return pb.CatalogFile.FromString(catalog_file[HEAD_BYTES:])


def words_of(held: pb.CatalogFile) -> pb.ItemWords:
    return pb.ItemWords.FromString(zlib.decompress(held.words))


def with_words(held: pb.CatalogFile, words: pb.ItemWords) -> bytes:
    """A file with other words, and a card that names them, as a hostile server's card would."""
    held.words = zlib.compress(words.SerializeToString())
    lists = [tuple(each.names) for each in words.lists]
    rows = zip(words.titles.split("\n"), words.years, words.genres, strict=True)
    parts = [(title, year or None, lists[at]) for title, year, at in rows]
    space = card_from_message(held.card).space
    vectors = decode(held.codes, space.scales, len(parts))
    numbers = vectors.tobytes() + decode_boosts(held.boosts).tobytes()
    named = repr(vectors.shape).encode() + "\n".join(map(repr, parts)).encode()
    named += numbers + repr(tuple(held.shared_slate)).encode()
    held.card.catalog_version = hashlib.sha256(named).digest()[:16]
    return held.SerializeToString()


def test_the_card_that_names_a_proper_catalog_is_its_card(held: pb.CatalogFile) -> None:
    """Or a hostile catalog below could be refused for its name alone."""
    card, catalog = catalog_from_body(with_words(held, words_of(held)))
    assert catalog.version == card.catalog_version


HELD: dict[str, Case] = {
    "codes cut short": ("codes", bytes(9), Malformed),
    "codes too long": ("codes", bytes(11), Malformed),
    "a boost too few": ("boosts", bytes(4), Malformed),
    "a boost too many": ("boosts", bytes(6), Malformed),
    "no boosts": ("boosts", b"", Malformed),
    "words that are not packed": ("words", b"words", Malformed),
    "no words": ("words", b"", Malformed),
    "a shared slate with an item twice": ("shared_slate", [0, 0, 1, 2, 3], OutOfRange),
    "a shared slate beyond the items": ("shared_slate", [0, 1, 2, 3, 5], OutOfRange),
    "a shared slate too short": ("shared_slate", [0, 1, 2, 3], Malformed),
    "another catalog than the card's": ("card.catalog_version", bytes(16), Malformed),
    "more items than the card says": ("card.n_items", 4, WireError),
    "a card of places": ("card.metric_space.region.south", 1.0, OtherKind),
}


@pytest.mark.parametrize(("path", "value", "kind"), HELD.values(), ids=HELD)
def test_a_bad_held_file_is_refused(
    held: pb.CatalogFile, path: str, value: object, kind: type[AskewError]
) -> None:
    with pytest.raises(kind):
        catalog_from_body(altered(held, path, value))


def test_words_that_unpack_to_far_more_than_words_do_are_refused(held: pb.CatalogFile) -> None:
    """A megabyte that unpacks to a gigabyte. Planted bug: no limit on what is unpacked."""
    bomb = zlib.compress(bytes(1 << 26), 9)
    with pytest.raises(Malformed, match="cut short, or too large"):
        catalog_from_body(altered(held, "words", bomb))


def test_words_that_unpack_to_more_than_words_do_are_refused(held: pb.CatalogFile) -> None:
    """Empty lists take 16 times as much memory again: 3 MB filled 3.4 GB by a factor of 64."""
    noise = random.Random(1).randbytes(1 << 18)
    bomb = zlib.compress(noise + pb.ItemWords(lists=[pb.Genres()] * (5 << 19)).SerializeToString())
    assert len(bomb) < len(noise) + (1 << 14)
    with pytest.raises(Malformed, match="cut short, or too large"):
        catalog_from_body(altered(held, "words", bomb))


@pytest.mark.parametrize("field", ["titles", "years", "genres"])
def test_words_of_another_number_of_items_are_refused(held: pb.CatalogFile, field: str) -> None:
    words = words_of(held)
    value = getattr(words, field)
    fewer = value.rpartition("\n")[0] if field == "titles" else list(value)[:-1]
    held.words = zlib.compress(altered(words, field, fewer))
    with pytest.raises(Malformed, match="words of another number of items"):
        catalog_from_body(held.SerializeToString())


def test_a_genre_that_is_in_no_list_is_refused(held: pb.CatalogFile) -> None:
    words = words_of(held)
    words.genres[1] = len(words.lists)
    held.words = zlib.compress(words.SerializeToString())
    with pytest.raises(OutOfRange, match="the genres of an item"):
        catalog_from_body(held.SerializeToString())


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
@pytest.mark.parametrize("field", ["title", "genres"])
def test_text_that_could_steer_a_terminal_is_refused(
    held: pb.CatalogFile, field: str, text: str
) -> None:
    words = words_of(held)
    if field == "title" and "\n" in text:
        return  # a line break ends a title here: the words are of another number of items
    if field == "title":
        words.titles = "\n".join([text, *words.titles.split("\n")[1:]])
    else:
        words.lists[0].names[0] = text
    said = "must be printable text of 1 to 500 characters|cut short, or too large"
    with pytest.raises(WireError, match=said):
        catalog_from_body(with_words(held, words))


@pytest.mark.parametrize("year", [10_000, 2**32 - 1])
def test_a_year_that_no_film_has_is_refused(held: pb.CatalogFile, year: int) -> None:
    words = words_of(held)
    words.years[0] = year
    with pytest.raises(OutOfRange, match="a year must be from 1 to 9999"):
        catalog_from_body(with_words(held, words))


def test_every_part_of_a_held_file_is_refused(catalog_file: bytes) -> None:
    assert not accepted_parts(catalog_file[HEAD_BYTES:], catalog_from_body)


@pytest.mark.parametrize("changed", [0, 8, 20, HEAD_BYTES, -1])
def test_a_head_that_does_not_fit_its_body_is_refused(catalog_file: bytes, changed: int) -> None:
    """A byte of the name, the length, the digest, or the body."""
    bad = bytearray(catalog_file)
    bad[changed] ^= 1
    with pytest.raises(Malformed):
        FileHead.of(bytes(bad)).check(bytes(bad[HEAD_BYTES:]))
    with pytest.raises(Malformed, match="not the beginning"):
        FileHead.of(catalog_file[: HEAD_BYTES - 1])


# -- text -----------------------------------------------------------------------------------------

BAD_UTF8 = bytes.fromhex("2a 02 c3 28")  # field 5 of a card, the source: two bytes, no UTF-8


def test_text_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(Malformed, match="not a message of the expected type"):
        card_from_bytes(BAD_UTF8)


def test_the_wire_does_not_load_where_protobuf_is_not_compiled() -> None:
    """Protobuf falls back to plain Python, whose parser fails with errors of its own."""
    plain = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    ran = subprocess.run(
        [sys.executable, "-c", "from askew.wire import tastes"],
        env=plain,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "ImportError: Askew needs protobuf's compiled runtime (upb), and this is another: unset"
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith(told)
