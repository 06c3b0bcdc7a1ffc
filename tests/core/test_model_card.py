"""Catalogs and cards."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from small_world import made_space

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.errors import DimensionMismatch, OutOfRange
from askew.protocol.model_card import ModelCard

ITEMS = (Item("Alien", 1979, ("Horror",)), Item("Heat", 1995), Item("Untitled"))
VECTORS = np.array([[0.0], [0.5], [1.0]], dtype=np.float32)
BOOSTS = np.array([1.0, 0.5, 2.0], dtype=np.float32)
CATALOG = Catalog(ITEMS, VECTORS, BOOSTS, (0, 1))


def test_an_item_is_written_with_its_year_where_it_has_one() -> None:
    assert [item.label for item in ITEMS] == ["Alien (1979)", "Heat (1995)", "Untitled"]


def test_a_score_counts_the_boost() -> None:
    assert CATALOG.scoring.tolist() == [[0.0], [0.25], [2.0]]


def test_a_catalogs_version_names_every_title_vector_boost_and_order() -> None:
    others = (
        Catalog((*ITEMS[:2], Item("untitled")), VECTORS, BOOSTS, (0, 1)),
        Catalog(ITEMS, VECTORS + np.float32(0.25), BOOSTS, (0, 1)),
        Catalog(ITEMS, VECTORS, BOOSTS[::-1].copy(), (0, 1)),
        Catalog(ITEMS, VECTORS, BOOSTS, (1, 0)),
    )
    assert len({CATALOG.version, *(other.version for other in others)}) == 5
    assert Catalog(ITEMS, VECTORS.copy(), BOOSTS, (0, 1)).version == CATALOG.version


def test_the_version_of_a_catalog_is_a_digest_of_these_bytes() -> None:
    vectors = np.array([[1.0], [-2.5]], dtype=np.float32)
    boosts = np.array([1.0, 0.5], dtype=np.float32)
    catalog = Catalog((Item("Heat", 1995, ("Crime",)), Item("It's")), vectors, boosts, (1, 0))
    content = (
        b"(2, 1)('Heat', 1995, ('Crime',))\n"
        b'("It\'s", None, ())' + bytes.fromhex("0000803f 000020c0 0000803f 0000003f") + b"(1, 0)"
    )
    assert hashlib.sha256(content).hexdigest()[:32] == catalog.version


@pytest.mark.parametrize("count", [0, 2])
def test_a_catalog_has_one_vector_and_one_boost_for_each_item(count: int) -> None:
    with pytest.raises(DimensionMismatch):
        dataclasses.replace(CATALOG, items=ITEMS[:count])
    with pytest.raises(DimensionMismatch):
        dataclasses.replace(CATALOG, boosts=BOOSTS[:count])


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2000.0])
def test_vectors_must_be_small_and_finite(bad: float) -> None:
    with pytest.raises(OutOfRange, match="an item vector"):
        dataclasses.replace(CATALOG, vectors=np.array([[0.0], [bad], [1.0]], dtype=np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2000.0, 0.0, -1.0])
def test_boosts_must_be_positive_and_finite(bad: float) -> None:
    with pytest.raises(OutOfRange, match="a boost"):
        dataclasses.replace(CATALOG, boosts=np.array([1.0, bad, 1.0], dtype=np.float32))


def test_vectors_and_boosts_must_be_float32() -> None:
    with pytest.raises(OutOfRange, match="an item vector must be float32"):
        dataclasses.replace(CATALOG, vectors=VECTORS.astype(np.float64))
    with pytest.raises(OutOfRange, match="a boost must be float32"):
        dataclasses.replace(CATALOG, boosts=BOOSTS.astype(np.float64))


@pytest.mark.parametrize("slate", [(0, 0), (3,), (-1,)])
def test_the_shared_slate_holds_distinct_items_of_the_catalog(slate: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange, match="the shared slate"):
        dataclasses.replace(CATALOG, shared_slate=slate)


@pytest.mark.parametrize("text", ["", "x" * 501, "a\x1b[2J", "a\nb", "\u202eevil"])
def test_texts_are_short_and_printable(text: str) -> None:
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
    with pytest.raises(OutOfRange, match="max_slate_size"):
        ModelCard(
            made_space(),
            "00" * 16,
            3,
            largest,
            "a test",
            simulated=True,
            n_default=3,
            median_distance=1.0,
        )


@pytest.mark.parametrize("median", [0.0, -1.0, float("nan"), 4.5])
def test_a_median_distance_lies_within_the_space(median: float) -> None:
    """Two axes of two units: 4 at most."""
    with pytest.raises(OutOfRange, match="the median distance"):
        ModelCard(
            made_space(), "00" * 16, 3, 3, "a test", True, n_default=3, median_distance=median
        )
