"""Catalogs and cards."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import DimensionMismatch, OutOfRange
from askew.model_card import Catalog, Item, ModelCard
from askew.vectors import FeatureSpace, RatingScale

ITEMS = (Item("Alien", 1979, ("Horror",)), Item("Heat", 1995), Item("Untitled"))
POSITIONS = np.array([[0.0], [0.5], [1.0]], dtype=np.float32)


def test_an_item_is_written_with_its_year_where_it_has_one() -> None:
    assert [item.label for item in ITEMS] == ["Alien (1979)", "Heat (1995)", "Untitled"]


def test_a_catalogs_version_names_every_title_position_and_order() -> None:
    base = Catalog(ITEMS, POSITIONS, (0, 1))
    others = (
        Catalog((*ITEMS[:2], Item("untitled")), POSITIONS, (0, 1)),
        Catalog(ITEMS, POSITIONS + np.float32(0.25), (0, 1)),
        Catalog(ITEMS, POSITIONS, (1, 0)),
    )
    assert len({base.version, *(other.version for other in others)}) == 4
    assert Catalog(ITEMS, POSITIONS.copy(), (0, 1)).version == base.version


@pytest.mark.parametrize("count", [0, 2])
def test_a_catalog_has_one_position_for_each_item(count: int) -> None:
    with pytest.raises(DimensionMismatch):
        Catalog(ITEMS[:count], POSITIONS, ())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_positions_must_be_finite(bad: float) -> None:
    with pytest.raises(OutOfRange, match="a finite float32"):
        Catalog(ITEMS, np.array([[0.0], [bad], [1.0]], dtype=np.float32), ())


def test_positions_must_be_float32() -> None:
    with pytest.raises(OutOfRange, match="a finite float32"):
        Catalog(ITEMS, POSITIONS.astype(np.float64), ())


@pytest.mark.parametrize("slate", [(0, 0), (3,), (-1,)])
def test_the_shared_slate_holds_distinct_items_of_the_catalog(slate: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange, match="the shared slate"):
        Catalog(ITEMS, POSITIONS, slate)


@pytest.mark.parametrize("text", ["", "x" * 501, "a\x1b[2J", "a\nb", "\u202eevil"])
def test_titles_and_genres_are_short_printable_text(text: str) -> None:
    with pytest.raises(OutOfRange, match="printable text of 1 to 500 characters"):
        Item(text)
    with pytest.raises(OutOfRange, match="printable text of 1 to 500 characters"):
        Item("Alien", genres=("Horror", text))


@pytest.mark.parametrize("year", [0, -1, 10_000])
def test_years_have_four_digits_at_most(year: int) -> None:
    with pytest.raises(OutOfRange, match="from 1 to 9999"):
        Item("Alien", year)


@pytest.mark.parametrize("largest", [0, 4])
def test_a_card_promises_no_more_results_than_there_are_items(largest: int) -> None:
    space = FeatureSpace((0.0,), (1.0,), 1.0, 1.0, RatingScale(1, 5), "00" * 32)
    with pytest.raises(OutOfRange, match="max_slate_size"):
        ModelCard(space, "00" * 16, 3, largest, "a test", simulated=True)
