"""A collection in columns, and numbers that come back as the decimals that they were."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.catalog.attributes import UNKNOWN, Flags, Numbers, Titles, Words, decimals
from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.errors import DimensionMismatch, ParameterError
from askew.protocol.cards import CollectionCard
from askew.protocol.collection import Collection, with_words

ATTRIBUTES = (
    Attribute("kind", AttributeKind.CATEGORY),
    Attribute("price", AttributeKind.NUMBER),
    Attribute("open", AttributeKind.FLAG, live=True),
)


def cafes() -> Collection:
    card = CollectionCard("cafes", "00" * 16, 3, "made up", simulated=True, attributes=ATTRIBUTES)
    return Collection(
        card,
        np.array([[52.5, 13.4], [48.1, 11.6], [53.6, 10.0]]),
        Titles.of(["Zum Bären", "b", "Café ☕"]),
        (
            Words(np.array([0, UNKNOWN, 1], np.int32), ("tea", "cake")),
            Numbers(np.array([2.5, nan, 4], np.float32)),
            Flags(np.array([1, 0, UNKNOWN], np.int8)),
        ),
    )


def test_an_item_comes_back_whole() -> None:
    assert cafes().listings([0, 2]) == (
        Listing(0, "Zum Bären", (52.5, 13.4), ("tea", 2.5, True)),
        Listing(2, "Café ☕", (53.6, 10.0), ("cake", 4.0, None)),
    )


def test_a_category_of_few_words_has_them_on_the_card_and_others_have_none() -> None:
    """Devices list them before a person types. Planted bug: a live one's."""
    column = cafes().columns[0]
    kind, live = ATTRIBUTES[0], replace(ATTRIBUTES[0], live=True)
    price = Numbers(np.array([2.5], np.float32))
    shown = with_words((kind, live, ATTRIBUTES[1]), (column, column, price))
    assert [attribute.words for attribute in shown] == [("cake", "tea"), (), ()]
    many = Words(np.arange(65, dtype=np.int32), tuple(f"w{n:02}" for n in range(65)))
    few = Words(np.arange(64, dtype=np.int32), many.vocabulary)
    assert [len(attribute.words) for attribute in with_words((kind, kind), (many, few))] == [0, 64]


def test_a_word_that_repeats_is_itself_each_time_whatever_holds_the_vocabulary() -> None:
    codes = np.array([2, 0, UNKNOWN, 2, 1], np.int32)
    for vocabulary in (("tea", "cake", "käse"), Titles.of(["tea", "cake", "käse"])):
        taken = Words(codes, vocabulary).take(np.arange(5))
        assert taken == ["käse", "tea", None, "käse", "cake"]


def test_live_values_are_swapped_and_nothing_else_is_copied() -> None:
    before = cafes()
    after = before.with_live({"open": Flags(np.array([0, 0, 0], np.int8))})
    assert [item.values[2] for item in after.listings(range(3))] == [False] * 3
    assert before.listings([0])[0].values[2] is True
    assert after.coordinates is before.coordinates
    with pytest.raises(ParameterError, match="live must be one of open"):
        before.with_live({"price": Numbers(np.zeros(3, np.float32))})
    with pytest.raises(DimensionMismatch):
        before.with_live({"open": Flags(np.array([0], np.int8))})


@given(arrays(np.float32, st.integers(0, 5), elements=st.floats(width=32)))
@example(np.array([23.6, -0.0, 9999.99, -0.01], np.float32))
@example(np.array([262_144.09375], np.float32))  # .1 is as near as it is stored
@example(np.array([np.nan, 0.1], np.float32))
def test_by_the_digits_that_numpy_writes(stored: np.ndarray) -> None:
    assert list(map(repr, decimals(stored))) == [repr(float(str(number))) for number in stored]


def test_every_price_to_a_cent_is_itself() -> None:
    """Planted bug: hundredths in float32."""
    cents = np.arange(-999_999, 1_000_000)
    assert decimals((cents / 100).astype(np.float32)) == (cents / 100).tolist()
