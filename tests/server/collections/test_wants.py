"""What people may care about, by the columns of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from askew.catalog.attributes import Column, Flags, Numbers, Words
from askew.catalog.item import Attribute, AttributeKind
from askew.errors import OutOfRange
from askew.protocol.cards import MAX_WANTS, CollectionCard, Want
from askew_server.collections.model import default_wants, is_price

NAN = float("nan")
RNG = np.random.default_rng(1)
PRICE = Attribute("price", AttributeKind.NUMBER, unit="EUR")
KIND = Attribute("kind", AttributeKind.CATEGORY, words=("bar", "café"))
TERRACE = Attribute("terrace", AttributeKind.FLAG)
PRICES = Numbers(np.r_[RNG.normal(20, 4, 9999), np.nan].astype(np.float32))
TWO = Words(np.array([0, 1], np.int32), ("bar", "café"))
SOME = Flags(np.array([0, 1, -1], np.int8))


def wants_of(*pairs: tuple[Attribute, Column]) -> tuple[Want, ...]:
    return default_wants(*zip(*pairs, strict=True))


def card_of(attributes: Sequence[Attribute], wants: Iterable[Want]) -> CollectionCard:
    return CollectionCard("x", "ff" * 16, 3, "here", False, tuple(attributes), wants=tuple(wants))


def weight_of(wants: Iterable[Want]) -> float:
    return sum(want.weight for want in wants)


def test_prices_flags_and_kinds_are_wanted_by_default() -> None:
    """Planted bug: weights by how many items have something, so that what is rare is forgotten."""
    wants = wants_of((KIND, TWO), (PRICE, PRICES), (TERRACE, SOME))
    assert {want.attribute: want for want in wants}.keys() == {"price", "terrace", "kind"}
    rates = [want for want in wants if not want.word]
    assert [want.rate for want in rates] == pytest.approx([0.125, 0.31, 0.62, 1.25, 2.5], rel=0.05)
    assert weight_of(rates) == pytest.approx(0.15)
    words = [want for want in wants if want.word]
    named = [(want.attribute, want.word) for want in words]
    assert named == [("terrace", "yes"), ("kind", "bar"), ("kind", "café")]
    assert [want.weight for want in words] == pytest.approx([0.2 / 3] * 3)


@pytest.mark.parametrize(
    "pair",
    [
        (Attribute("power", AttributeKind.NUMBER, unit="kW"), PRICES),
        (Attribute("hours", AttributeKind.HOURS), TWO),
        (Attribute("street", AttributeKind.CATEGORY), TWO),
        (TERRACE, Flags(np.zeros(3, np.int8))),
        (PRICE, Numbers(np.full(9, 5, np.float32))),
        (PRICE, Numbers.unknown(9)),
    ],
    ids=["no price", "hours", "a category of many words", "nobody's flag", "one price", "unknown"],
)
def test_what_tells_no_items_apart_is_not_wanted(pair: tuple[Attribute, Column]) -> None:
    assert wants_of(pair) == ()
    assert weight_of(wants_of(pair, (KIND, TWO))) == pytest.approx(0.2)


def test_a_live_flag_is_wanted_before_an_item_has_it() -> None:
    live = Attribute("free", AttributeKind.FLAG, live=True)
    assert wants_of((live, Flags.unknown(3))) == (Want("free", 0.2, "yes"),)


def test_a_price_may_be_a_part_of_a_currency() -> None:
    units = ["€", "EUR/kWh", "usd", "kWh", ""]
    kinds = [Attribute("x", AttributeKind.NUMBER, unit=unit) for unit in units]
    assert list(map(is_price, kinds)) == [True, True, True, False, False]


def test_no_collection_has_more_wants_than_a_card_may_have() -> None:
    """Planted bug: sixteen prices of five rates each."""
    prices = [(Attribute(f"p{n}", AttributeKind.NUMBER, unit="EUR"), PRICES) for n in range(14)]
    words = tuple(f"w{n}" for n in range(60))
    kinds = (Attribute("kind", AttributeKind.CATEGORY, words=words), TWO)
    pairs: list[tuple[Attribute, Column]] = [*prices, kinds, (TERRACE, SOME)]
    wants = wants_of(*pairs)
    assert len(wants) == MAX_WANTS
    card_of([attribute for attribute, _ in pairs], wants)


ATTRIBUTES = (PRICE, KIND, TERRACE, Attribute("hours", AttributeKind.HOURS))


@pytest.mark.parametrize(
    "wants",
    [
        [("\x1b[2Jview", 0.1, "yes")],
        [("price", 0.1, "cheap")],
        [("kind", 0.1, "", 1.0)],
        [("kind", 0.1, "bar", 1.0)],
        [("terrace", 0.1, "perhaps")],
        [("hours", 0.1, "24/7")],
        [("kind", 0.1, "a\nb")],
        [("kind", 0.6, "bar"), ("terrace", 0.6, "yes")],
        [("kind", 0.001, "bar")] * (MAX_WANTS + 1),
        *([("kind", weight, "bar")] for weight in (0.0, 1.1, NAN)),
        *([("price", 0.1, "", rate)] for rate in (0.0, NAN, float("inf"))),
    ],
    ids=str,
)
def test_a_card_refuses_wants_that_are_none(wants: list[tuple[Any, ...]]) -> None:
    """And repeats none. Planted bug: the name that a hostile server sends, on a terminal."""
    with pytest.raises(OutOfRange) as refused:
        card_of(ATTRIBUTES, (Want(*want) for want in wants))
    assert str(refused.value).isprintable()
