"""Scores, slates, neighbors of items, and the private choice among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import made_catalog, made_encoder, made_space

from askew.catalog.catalog import MOST_ITEMS, Catalog, Neighbors
from askew.errors import OutOfRange
from askew.protocol import ranking
from askew.protocol.ranking import Slate, rank_all
from askew.spaces.vectors import Profile, fold_in

SPACE = made_space(made_encoder(d=1, ranking=1))


def slate(ids: tuple[int, ...], values: list[float]) -> Slate:
    vectors, boosts = np.array(values, np.float32).reshape(-1, 1), np.ones(len(ids), np.float32)
    return Slate("00" * 16, ids, vectors, boosts)


def with_taste(taste: float) -> Profile:
    return Profile(SPACE, np.array([taste]), np.zeros(1))


@given(
    values=st.lists(st.integers(-2, 2), min_size=1, max_size=12),
    seen=st.sets(st.integers(0, 11)),
    taste=st.sampled_from([0.0, 1.0, -2.0]),
    count=st.integers(1, 5),
)
def test_the_best_of_a_catalog_are_the_same_however_many_are_looked_at_at_once(
    values: list[int], seen: set[int], taste: float, count: int
) -> None:
    """Planted bugs: a tie that goes to an item of a later part; the best of the last part alone."""
    vectors = [(float(value),) for value in values]
    catalog, rated = made_catalog(vectors, shared_slate=(0,)), seen & {*range(len(values))}

    def order(item: int) -> tuple[float, int, int]:
        return -taste * values[item], item != 0 if taste == 0 else 0, item

    wanted = sorted(range(len(values)), key=lambda item: (item in rated, *order(item)))[:count]
    for at_once in (2, 3, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking, "_AT_ONCE", at_once)
            found = rank_all(catalog, with_taste(taste), count, seen=rated)
        assert found.order == (*wanted,)
        assert found.scores == {item: taste * values[item] for item in wanted}


def test_a_ranking_shows_nothing_when_printed() -> None:
    """Planted bug: the order or the scores in a repr, and so in a log or a traceback."""
    catalog = made_catalog([(3.0,), (0.5,)])
    assert repr(rank_all(catalog, with_taste(1.0), 2, seen=set())) == "Ranking()"


def test_a_slate_whose_order_or_vectors_could_say_something_is_refused() -> None:
    for ids in ((3, 3), (4, 2)):
        with pytest.raises(OutOfRange, match="distinct and ascending"):
            slate(ids, [0.0, 1.0])
    for values in ([0.0, np.nan], [np.inf, 0.0], [0.0]):
        with pytest.raises(OutOfRange, match="finite, one for each item"):
            slate((1, 2), values)


ITEMS = np.array([[1, 3], [0, 0], [4, 0], [0, 0], [3, 2], [0, 0]], np.uint16)
CODES = np.array([[15, 2], [0, 0], [1, 0], [0, 0], [7, 3], [0, 0]], np.uint8)
FOUND = Neighbors(ITEMS, CODES, 0.5)


def matrix(found: Neighbors) -> np.ndarray:
    """N, by its definition."""
    n = len(found)
    listed = np.zeros((n, n))
    for item, neighbor in zip(*np.nonzero(found.codes), strict=True):
        listed[item, found.items[item, neighbor]] = found.step * found.codes[item, neighbor]
    return listed + listed.T


@pytest.mark.parametrize("liked", [[], [1], [0, 1, 2, 3, 4, 5]])
def test_a_pair_counts_both_ways_whoever_lists_it(liked: list[int]) -> None:
    """What was met behind the catalog has none. Planted bug: only what the liked item lists."""
    expected = matrix(FOUND)[:, liked].sum(axis=1)
    assert FOUND.by_likes(np.array([*liked, 6, 9])).tolist() == expected.tolist()


def test_neighbors_move_with_their_items() -> None:
    """Item 4 is gone, the others stand in the reverse order behind a new one."""
    places = np.array([5, 4, 3, 2, -1, 1])
    found = FOUND.moved(places, 6)
    assert found is not None
    moved, before = matrix(found), matrix(FOUND)
    for i, j in np.ndindex(6, 6):
        if min(places[i], places[j]) >= 0:
            assert moved[places[i], places[j]] == before[i, j]
    assert moved.sum() == before.sum() - 2 * before[4].sum()


@pytest.mark.parametrize(("n", "stay"), [(MOST_ITEMS, True), (MOST_ITEMS + 1, False)])
def test_a_catalog_of_more_than_16_bits_of_items_has_no_neighbors(n: int, stay: bool) -> None:
    """It could not be updated at all, once: places beyond 65,535 were refused, or wrapped."""
    places = np.arange(n - 6, n)
    assert (FOUND.moved(places, n) is not None) == stay


@pytest.mark.parametrize(
    "changed",
    [
        {"items": ITEMS + np.uint16(2)},
        {"codes": CODES + np.uint8(8)},
        {"codes": CODES[:, :1]},
        {"codes": np.zeros_like(CODES)},
        {"step": 0.0},
        {"step": float("nan")},
        {"items": np.zeros((6, 33), np.uint16), "codes": np.zeros((6, 33), np.uint8)},
        {"items": np.zeros((6, 0), np.uint16), "codes": np.zeros((6, 0), np.uint8)},
    ],
)
def test_neighbors_out_of_range_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(OutOfRange):
        replace(FOUND, **changed)


def whole() -> Catalog:
    rows = [(1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.25, 0.0), (0.0, 0.25), (0.125, 0.125)]
    return replace(made_catalog(rows, boosts=[1.0, 2.0, 1.0, 1.0, 4.0, 1.0]), neighbors=FOUND)


def test_a_device_that_holds_every_item_ranks_by_neighbors_too() -> None:
    """Planted bugs: no boost of the neighbor; no division by the root of likes."""
    catalog, space = whole(), made_space(made_encoder(ranking=2))
    ratings = {0: 5.0, 4: 5.0}
    profile = fold_in(ratings, catalog.vectors, space)
    root = np.sqrt(max(2, space.encoder.least_likes))
    likes = np.array([1.0, 0, 0, 0, 1, 0])
    by_vectors = catalog.scoring @ (likes @ catalog.vectors)
    exact = (by_vectors + catalog.boosts * (matrix(FOUND) @ likes)) / root
    found = rank_all(catalog, profile, 4, seen=ratings.keys())
    unseen = [item for item in np.argsort(-exact, kind="stable").tolist() if item not in ratings]
    assert list(found.order) == unseen
    assert [found.scores[item] for item in unseen] == pytest.approx(exact[unseen], rel=1e-6)


def test_neighbors_are_of_a_whole_catalog_and_of_its_version() -> None:
    catalog = whole()
    without = replace(catalog, neighbors=None)
    assert catalog.version != without.version
    assert catalog.version != replace(catalog, neighbors=replace(FOUND, step=0.25)).version
    assert catalog.first(4).neighbors is None
    assert catalog.joined(without).neighbors is FOUND
