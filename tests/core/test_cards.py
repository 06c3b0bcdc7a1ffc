"""Items in columns, catalogs and cards."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import made_space

from askew.catalog.catalog import Catalog, ItemColumns
from askew.catalog.item import Item
from askew.errors import OutOfRange, WireError
from askew.limits import is_visible
from askew.protocol.cards import ModelCard

ITEMS = (Item("Alien", 1979, ("Horror",)), Item("Heat", 1995), Item("Untitled"))
VECTORS = np.array([[0.0], [0.5], [1.0]], dtype=np.float32)
BOOSTS = np.array([1.0, 0.5, 2.0], dtype=np.float32)
CATALOG = Catalog(ITEMS, VECTORS, BOOSTS, (0, 1))


def test_a_label_has_the_year_and_a_score_the_boost() -> None:
    assert [item.label for item in ITEMS] == ["Alien (1979)", "Heat (1995)", "Untitled"]
    assert CATALOG.scoring.tolist() == [[0.0], [0.25], [2.0]]


def test_the_version_of_a_catalog_is_a_digest_of_these_bytes() -> None:
    vectors = np.array([[1.0], [-2.5]], dtype=np.float32)
    boosts = np.array([1.0, 0.5], dtype=np.float32)
    catalog = Catalog((Item("Heat", 1995, ("Crime",)), Item("It's")), vectors, boosts, (1, 0))
    content = (
        b"(2, 1)('Heat', 1995, ('Crime',))\n"
        b'("It\'s", None, ())' + bytes.fromhex("0000803f 000020c0 0000803f 0000003f") + b"(1, 0)"
    )
    assert hashlib.sha256(content).hexdigest()[:32] == catalog.version


IMPROPER: dict[str, tuple[dict[str, object], str]] = {
    "no items": ({"items": ITEMS[:0]}, "dimension"),
    "an item too few": ({"items": ITEMS[:2]}, "dimension"),
    "a boost too few": ({"boosts": BOOSTS[:2]}, "dimension"),
    "a NaN": ({"vectors": VECTORS * np.float32(np.nan)}, "an item vector"),
    "a large number": ({"vectors": VECTORS - np.float32(2000)}, "an item vector"),
    "vectors of float64": ({"vectors": VECTORS.astype("f8")}, "an item vector must be float32"),
    "a NaN boost": ({"boosts": BOOSTS * np.float32(np.nan)}, "a boost"),
    "a large boost": ({"boosts": BOOSTS + np.float32(2000)}, "a boost"),
    "a boost of 0": ({"boosts": BOOSTS - np.float32(0.5)}, "a boost"),
    "boosts of float64": ({"boosts": BOOSTS.astype("f8")}, "a boost must be float32"),
    "an item twice": ({"shared_slate": (0, 0)}, "the shared slate"),
    "an item beyond": ({"shared_slate": (3,)}, "the shared slate"),
    "an item below": ({"shared_slate": (-1,)}, "the shared slate"),
}


@pytest.mark.parametrize("case", IMPROPER)
def test_a_catalog_that_does_not_fit_together_is_refused(case: str) -> None:
    change, why = IMPROPER[case]
    with pytest.raises(WireError, match=why):
        dataclasses.replace(CATALOG, **change)  # type: ignore[arg-type]


def test_texts_are_short_and_printable_and_years_have_four_digits_at_most() -> None:
    for text in ("x" * 501, "a\x1b[2J"):
        with pytest.raises(OutOfRange, match="printable text of 1 to 500 characters"):
            Item(text)
        with pytest.raises(OutOfRange, match="printable text of 1 to 500 characters"):
            Item("Alien", genres=("Horror", text))
    for year in (0, 10_000):
        with pytest.raises(OutOfRange, match="from 1 to 9999"):
            Item("Alien", year)


@pytest.mark.parametrize("median", [0.0, float("nan"), 4.5])
def test_a_card_promises_no_more_than_its_space(median: float) -> None:
    """Two axes of two units: 4 at most."""
    with pytest.raises(OutOfRange, match="the median distance"):
        ModelCard(made_space(), "00" * 16, 3, 3, "a test", True, 3, median)


TEXT = st.text("aé漢😀 '\u200d", min_size=1, max_size=9).filter(is_visible)
LISTS = st.lists(
    st.builds(Item, TEXT, st.none() | st.integers(1, 9999), st.lists(TEXT, max_size=2).map(tuple)),
    min_size=1,
    max_size=9,
)


@given(LISTS, st.slices(12))
def test_columns_give_every_item_back(items: list[Item], some: slice) -> None:
    packed = ItemColumns.of(items)
    assert [*packed] == items
    assert [packed[at] for at in range(-len(items), len(items))] == items + items
    assert [*packed[some]] == items[some]
    assert packed == items
    assert packed != [*items, Item("one more")]


@given(LISTS, st.lists(st.just(Item("one more", 1999, ("new",))), max_size=2))
def test_joined_columns_are_those_of_all_items(items: list[Item], more: list[Item]) -> None:
    """Planted bugs: the lists of genres of the first items for the others; lines that run on."""
    both = ItemColumns.of(items).joined(more)
    assert [*both] == [*items, *more]
    assert [*both.joined(items)] == [*items, *more, *items]


@pytest.mark.parametrize(
    ("titles", "years", "genres"),
    [
        ("a\n\x1bb", [1, 2], [0, 0]),
        ("a\n", [1, 2], [0, 0]),
        ("a\n" + 501 * "é", [1, 2], [0, 0]),
        ("a\nb", [1, 10_000], [0, 0]),
        ("a\nb", [1, 2], [0, 2]),
        ("a\nb", [1], [0, 0]),
        ("a\nb", [1, 2], [0]),
    ],
)
def test_columns_that_no_items_have_are_refused(
    titles: str, years: list[int], genres: list[int]
) -> None:
    with pytest.raises(OutOfRange):
        ItemColumns(titles.encode(), years, genres, [(), ("drama",)])
    with pytest.raises(OutOfRange):
        ItemColumns(b"a", [1], [0], [("\x1b",)])


def test_a_title_as_long_as_may_be_is_kept_whatever_bytes_it_takes() -> None:
    assert ItemColumns(("a\n" + 500 * "漢").encode(), [0, 0], [0, 0], [()])[1].title == 500 * "漢"
