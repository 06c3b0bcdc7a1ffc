"""Whatever the other side sends is a core type or a WireError, and never anything else."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from google.protobuf.message import Message

from askew.errors import DimensionMismatch, Malformed, OutOfRange, StaleSpace, WireError
from askew.model_card import Catalog, ModelCard
from askew.vectors import fold_in
from askew.wire import convert
from askew.wire.v1 import retrieval_pb2 as pb

NAN, INF = float("nan"), float("inf")
K = 3
TOO_LONG = "x" * 501
HOSTILE_TEXTS = {
    "an escape sequence that clears the screen": "\x1b[2J",
    "an escape sequence in eight bits": "\x9b2J",
    "a title that sets the window's name": "\x1b]0;owned\x07",
    "a line break": "Alien\nThe server is fine",
    "a carriage return": "Alien\rHeat",
    "a backspace": "Alien\b",
    "a NUL": "Alien\0",
    "a direction override": "Alien \u202efdp.exe",
    "a line separator": "Alien\u2028Heat",
    "501 characters": TOO_LONG,
    "a megabyte": "x" * 2**20,
    "nothing": "",
}

MessageT = TypeVar("MessageT", bound=Message)
Case = tuple[str, object, type[WireError]]


def altered(message: MessageT, path: str, value: object) -> bytes:
    """The message's bytes with one field, named by a dotted path, set to another value."""
    changed = type(message)()
    changed.CopyFrom(message)
    target: Message = changed
    *way, field = path.split(".")
    for step in way:
        target = getattr(target, step)
    target.ClearField(field)
    if isinstance(value, list | tuple):
        getattr(target, field).extend(value)
    else:
        setattr(target, field, value)
    return changed.SerializeToString()


def accepted_parts(whole: bytes, parse: Callable[[bytes], object]) -> list[int]:
    """How long the beginnings of a message are that pass for a message."""
    accepted = []
    for length in range(len(whole)):
        with contextlib.suppress(WireError):
            parse(whole[:length])
            accepted.append(length)
    return accepted


# -- requests -------------------------------------------------------------------------------------

REQUESTS: dict[str, Case] = {
    "no coordinates": ("coordinates", [], DimensionMismatch),
    "a coordinate too few": ("coordinates", [0], DimensionMismatch),
    "a coordinate too many": ("coordinates", [0, 0, 0], DimensionMismatch),
    "a thousand coordinates": ("coordinates", [0] * 1000, DimensionMismatch),
    "a coordinate below the limit": ("coordinates", [0, -(2**31)], OutOfRange),
    "no space version": ("space_version", b"", Malformed),
    "a space version cut short": ("space_version", bytes(15), Malformed),
    "a space version too long": ("space_version", bytes(17), Malformed),
    "an unknown space version": ("space_version", bytes(16), StaleSpace),
    "k = 0": ("k", 0, OutOfRange),
    "k = 6 of 5 items": ("k", 6, OutOfRange),
    "the largest k of 32 bits": ("k", 2**32 - 1, OutOfRange),
    "a step exponent of 21": ("step_exponent", 21, OutOfRange),
    "the largest step exponent of 32 bits": ("step_exponent", 2**32 - 1, OutOfRange),
    "an inverse rate of 0": ("inverse_rate", 0, OutOfRange),
    "an inverse rate of 4097": ("inverse_rate", 4097, OutOfRange),
    "the largest inverse rate of 32 bits": ("inverse_rate", 2**32 - 1, OutOfRange),
}


@pytest.mark.parametrize(("path", "value", "kind"), REQUESTS.values(), ids=REQUESTS)
def test_a_bad_request_is_refused(
    card: ModelCard, request_bytes: bytes, path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.RetrieveRequest.FromString(request_bytes), path, value)
    with pytest.raises(WireError) as caught:
        convert.query_from_bytes(bad, card)
    assert kind is caught.type


def test_a_slate_larger_than_the_server_allows_is_refused(
    card: ModelCard, request_bytes: bytes
) -> None:
    """The limit is the card's, also where the catalog has more items."""
    with pytest.raises(OutOfRange, match="k must be from 1 to 2"):
        convert.query_from_bytes(request_bytes, replace(card, max_slate_size=2))


def test_every_part_of_a_request_is_refused(card: ModelCard, request_bytes: bytes) -> None:
    assert not accepted_parts(request_bytes, lambda data: convert.query_from_bytes(data, card))


# -- replies --------------------------------------------------------------------------------------

FIRST_NAN = np.array([NAN, 0, 0, 0, 0, 0], dtype="<f4").tobytes()
LAST_INF = np.array([0, 0, 0, 0, 0, INF], dtype="<f4").tobytes()
LAST_MINUS_INF = np.array([0, 0, 0, 0, 0, -INF], dtype="<f4").tobytes()

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
    "another catalog": ("catalog_version", bytes(16), Malformed),
    "no positions": ("positions", b"", Malformed),
    "a byte too few": ("positions", bytes(23), Malformed),
    "a byte too many": ("positions", bytes(25), Malformed),
    "a position too few": ("positions", bytes(16), Malformed),
    "a position too many": ("positions", bytes(32), Malformed),
    "positions of another dimension": ("positions", bytes(36), Malformed),
    "a NaN": ("positions", FIRST_NAN, OutOfRange),
    "an infinity": ("positions", LAST_INF, OutOfRange),
    "a negative infinity": ("positions", LAST_MINUS_INF, OutOfRange),
}


@pytest.mark.parametrize(("path", "value", "kind"), REPLIES.values(), ids=REPLIES)
def test_a_bad_reply_is_refused(
    card: ModelCard, reply_bytes: bytes, path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.RetrieveResponse.FromString(reply_bytes), path, value)
    with pytest.raises(WireError) as caught:
        convert.slate_from_bytes(bad, card, K)
    assert kind is caught.type


@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_a_reply_to_another_k_is_refused(card: ModelCard, reply_bytes: bytes, k: int) -> None:
    with pytest.raises(Malformed, match=f"the answer has 3 items, {k} were asked for"):
        convert.slate_from_bytes(reply_bytes, card, k)


def test_every_part_of_a_reply_is_refused(card: ModelCard, reply_bytes: bytes) -> None:
    assert not accepted_parts(reply_bytes, lambda data: convert.slate_from_bytes(data, card, K))


# -- cards ----------------------------------------------------------------------------------------

CARDS: dict[str, Case] = {
    "no dimension": ("space.lower", [], OutOfRange),
    "more upper bounds than lower": ("space.upper", [2.0, 2.0, 2.0], OutOfRange),
    "more lower bounds than upper": ("space.lower", [-2.0, -2.0, -2.0], OutOfRange),
    "a NaN bound": ("space.lower", [-2.0, NAN], OutOfRange),
    "a NaN upper bound": ("space.upper", [NAN, 2.0], OutOfRange),
    "an infinite bound": ("space.upper", [2.0, INF], OutOfRange),
    "a negative infinite bound": ("space.lower", [-INF, -2.0], OutOfRange),
    "reversed bounds": ("space.lower", [2.0, 2.0], OutOfRange),
    "bounds with nothing between": ("space.upper", [-1.5, 2.0], OutOfRange),
    "a huge bound": ("space.upper", [64.5, 2.0], OutOfRange),
    "a huge negative bound": ("space.lower", [-2.0, -1e300], OutOfRange),
    "a gain of zero": ("space.gain", 0.0, OutOfRange),
    "a negative gain": ("space.gain", -1.0, OutOfRange),
    "a NaN gain": ("space.gain", NAN, OutOfRange),
    "an infinite gain": ("space.gain", INF, OutOfRange),
    "a weight floor of zero": ("space.weight_floor", 0.0, OutOfRange),
    "a negative weight floor": ("space.weight_floor", -8.0, OutOfRange),
    "a NaN weight floor": ("space.weight_floor", NAN, OutOfRange),
    "an infinite weight floor": ("space.weight_floor", INF, OutOfRange),
    "a scale of one rating": ("space.lowest_rating", 5.0, OutOfRange),
    "a reversed scale": ("space.lowest_rating", 6.0, OutOfRange),
    "a scale from NaN": ("space.lowest_rating", NAN, OutOfRange),
    "a scale to NaN": ("space.highest_rating", NAN, OutOfRange),
    "a scale to infinity": ("space.highest_rating", INF, OutOfRange),
    "no basis": ("space.basis", b"", Malformed),
    "a basis cut short": ("space.basis", bytes(31), Malformed),
    "a basis too long": ("space.basis", bytes(33), Malformed),
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
        convert.card_from_bytes(bad)
    assert kind is caught.type


@pytest.mark.parametrize("dimension", [0, 65, 1000])
def test_a_space_of_no_dimension_or_too_many_is_refused(card_bytes: bytes, dimension: int) -> None:
    message = pb.GetModelCardResponse.FromString(card_bytes)
    message = pb.GetModelCardResponse.FromString(
        altered(message, "space.lower", [-1.0] * dimension)
    )
    with pytest.raises(OutOfRange, match="dimension of a feature space must be from 1 to 64"):
        convert.card_from_bytes(altered(message, "space.upper", [1.0] * dimension))


def test_a_card_without_a_space_is_refused(card_bytes: bytes) -> None:
    message = pb.GetModelCardResponse.FromString(card_bytes)
    message.ClearField("space")
    with pytest.raises(WireError):
        convert.card_from_bytes(message.SerializeToString())


HOSTILE_SPACES = {
    "a scale whose middle is its end": {
        "lowest_rating": 1 + 2**-52,
        "highest_rating": 1 + 2 * 2**-52,
    },
    "a scale of the smallest numbers": {"lowest_rating": 5e-324, "highest_rating": 1e-323},
    "a scale whose middle overflows": {"lowest_rating": 1e308, "highest_rating": 1.7e308},
    "a scale of the largest numbers": {"lowest_rating": -1.7e308, "highest_rating": 1.7e308},
    "the smallest gain": {"gain": 5e-324},
    "the smallest weight floor": {"weight_floor": 5e-324},
    "the largest weight floor": {"weight_floor": 1.7e308},
    "the largest gain": {"gain": 1.7e308},
}


@pytest.mark.parametrize("fields", HOSTILE_SPACES.values(), ids=HOSTILE_SPACES)
def test_a_space_that_is_accepted_makes_a_profile_of_any_ratings(
    card_bytes: bytes, catalog: Catalog, fields: dict[str, float]
) -> None:
    """A space is refused when it arrives, or it works: a person's ratings are never to blame."""
    message = pb.GetModelCardResponse.FromString(card_bytes)
    for name, value in fields.items():
        setattr(message.space, name, value)
    try:
        space = convert.card_from_bytes(message.SerializeToString()).space
    except WireError:
        return
    lowest, highest = space.scale.lowest, space.scale.highest
    profile = fold_in({0: lowest, 1: lowest, 4: highest}, catalog.positions, space)
    assert np.isfinite(profile.vector).all()
    expected = (-1.0, 1.0)
    assert expected == (space.scale.weight(lowest), space.scale.weight(highest))


# -- catalogs -------------------------------------------------------------------------------------


def with_positions(catalog: Catalog, value: float) -> bytes:
    positions = catalog.positions.astype("<f4")
    positions[3, 1] = value
    return positions.tobytes()


def test_a_catalog_with_items_too_few_is_refused(card: ModelCard, chunk: bytes) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    del message.items[-1]
    fewer = altered(message, "positions", message.positions[:-8])
    with pytest.raises(Malformed, match="fewer items than its card says"):
        convert.catalog_from_chunks([fewer], card)


def test_a_catalog_of_no_chunks_is_refused(card: ModelCard) -> None:
    with pytest.raises(Malformed, match="fewer items than its card says"):
        convert.catalog_from_chunks([], card)


def test_a_catalog_with_items_too_many_is_refused_before_its_end(
    card: ModelCard, chunk: bytes
) -> None:
    """A server that never stops sending cannot fill the device's memory."""

    def endless() -> Iterator[bytes]:
        yield chunk
        yield chunk
        pytest.fail("read on after the catalog was too long")

    with pytest.raises(Malformed, match="more items than its card says"):
        convert.catalog_from_chunks(endless(), card)


@pytest.mark.parametrize("change", [-8, -1, 1, 8], ids="{} bytes".format)
def test_positions_of_another_length_than_the_items_are_refused(
    card: ModelCard, chunk: bytes, change: int
) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    length = len(message.positions) + change
    bad = altered(message, "positions", (message.positions + bytes(8))[:length])
    with pytest.raises(Malformed, match="expected 5 positions of dimension 2"):
        convert.catalog_from_chunks([bad], card)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_position_that_is_not_finite_is_refused(
    card: ModelCard, catalog: Catalog, chunk: bytes, value: float
) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    bad = altered(message, "positions", with_positions(catalog, value))
    with pytest.raises(OutOfRange, match="item position"):
        convert.catalog_from_chunks([bad], card)


@pytest.mark.parametrize("shared_slate", [[0, 0], [0, 5], [2**32 - 1]], ids=str)
def test_a_shared_slate_that_is_none_is_refused(
    card: ModelCard, chunk: bytes, shared_slate: list[int]
) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    with pytest.raises(OutOfRange, match="shared slate"):
        convert.catalog_from_chunks([altered(message, "shared_slate", shared_slate)], card)


def named(card: ModelCard, message: pb.GetCatalogResponse) -> ModelCard:
    """A card that names exactly the catalog of a message, as a hostile server's card would."""
    rows = [(item.title, item.year or None, tuple(item.genres)) for item in message.items]
    shared_slate = repr(tuple(message.shared_slate)).encode()
    shape = repr((len(rows), card.space.dimension)).encode()
    content = shape + "\n".join(map(repr, rows)).encode() + message.positions + shared_slate
    return replace(card, catalog_version=hashlib.sha256(content).hexdigest()[:32])


def test_the_card_that_names_a_proper_catalog_is_its_card(card: ModelCard, chunk: bytes) -> None:
    """Or a hostile catalog below could be refused for its name alone."""
    assert card == named(card, pb.GetCatalogResponse.FromString(chunk))


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
@pytest.mark.parametrize("field", ["title", "genres"])
def test_text_that_could_steer_a_terminal_is_refused(
    card: ModelCard, chunk: bytes, field: str, text: str
) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    hostile = pb.Item(title=text) if field == "title" else pb.Item(title="Alien", genres=[text])
    message.items[2].CopyFrom(hostile)
    with pytest.raises(OutOfRange, match="must be printable text of 1 to 500 characters"):
        convert.catalog_from_chunks([message.SerializeToString()], named(card, message))


@pytest.mark.parametrize("year", [10_000, 2**32 - 1])
def test_a_year_that_no_film_has_is_refused(card: ModelCard, chunk: bytes, year: int) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    message.items[0].year = year
    with pytest.raises(OutOfRange, match="a year must be from 1 to 9999"):
        convert.catalog_from_chunks([message.SerializeToString()], named(card, message))


def test_a_catalog_that_is_not_the_cards_is_refused(card: ModelCard, chunk: bytes) -> None:
    message = pb.GetCatalogResponse.FromString(chunk)
    message.items[0].year += 1
    with pytest.raises(Malformed, match="not the one that its card names"):
        convert.catalog_from_chunks([message.SerializeToString()], card)


def test_chunks_in_another_order_are_refused(
    card: ModelCard, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "CHUNK_ITEMS", 2)
    first, second, third = convert.catalog_to_chunks(catalog)
    with pytest.raises(Malformed, match="not the one that its card names"):
        convert.catalog_from_chunks([second, first, third], card)


def test_every_part_of_a_catalog_is_refused(card: ModelCard, chunk: bytes) -> None:
    assert not accepted_parts(chunk, lambda data: convert.catalog_from_chunks([data], card))


# -- text -----------------------------------------------------------------------------------------

BAD_UTF8 = bytes.fromhex("2a 02 c3 28")  # field 5 of a card, the source: two bytes, no UTF-8


def test_text_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(Malformed, match="not a message of the expected type"):
        convert.card_from_bytes(BAD_UTF8)


def test_the_wire_does_not_load_where_protobuf_is_not_compiled() -> None:
    """Protobuf falls back to plain Python, whose parser fails with errors of its own."""
    plain = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    ran = subprocess.run(
        [sys.executable, "-c", "from askew.wire import convert"],
        env=plain,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = (1, "ImportError: Askew needs the compiled protobuf runtime (upb)")
    assert expected == (ran.returncode, ran.stderr.splitlines()[-1])
