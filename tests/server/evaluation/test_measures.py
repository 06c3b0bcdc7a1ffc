"""Figures by hand: three people, four items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from askew_server.evaluation.experiment import (
    QUANTILES,
    Outcome,
    PeopleGains,
    coverage_of,
    outcome,
)
from askew_server.taste.model.held_out import mean_of, ratio_of

# Person 0 has seen item 0; person 1 likes nothing but item 1; person 2 has seen 0 and 1.
SCORES = np.array([[-1, 2, 4, 1], [0, 3, 0, 0], [-1, -1, 2, 2]], dtype=np.float32)
# Held out and liked: item 1 of person 0; items 0 and 1 of person 1; nothing of person 2.
HELD = csr_array(np.array([[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=np.float64))


def got(*slates: list[int]) -> Outcome:
    chosen = np.array(slates)
    return outcome(np.take_along_axis(SCORES, chosen, axis=1), chosen, HELD)


def test_a_person_gets_the_best_unseen_item_of_the_slate() -> None:
    found = got([1, 3], [0, 1], [2, 3])
    assert found.score.tolist() == [2, 3, 2]
    assert found.pick.tolist() == [1, 1, 2]  # ties to the lower item


def test_a_slate_of_seen_items_is_worth_nothing() -> None:
    """Planted bug: the score of a seen item counted, -1 or what it was before."""
    assert got([0, 1], [2, 3], [0, 1]).score.tolist() == [2, 0, 0]


def test_the_order_in_which_a_slate_comes_says_nothing() -> None:
    assert got([3, 1], [1, 0], [3, 2]).pick.tolist() == got([1, 3], [0, 1], [2, 3]).pick.tolist()


def test_a_hit_is_a_pick_that_was_liked_among_what_was_held_out() -> None:
    hits = got([1, 3], [1, 3], [2, 3]).hit
    assert hits[:2].tolist() == [1, 1]
    assert math.isnan(hits[2])  # nothing was held out that they liked
    assert got([2, 1], [0, 3], [2, 3]).hit[:2].tolist() == [0, 1]


def test_ndcg_is_the_gain_of_the_order_over_the_best_order() -> None:
    """Person 0: item 2 then 1, so the liked one is second: (1 / log2 3) / 1. Person 1: item 1, then
    item 0: both liked ones in front, 1.
    """
    found = got([1, 2], [0, 1], [2, 3]).ndcg
    assert found[0] == pytest.approx(1 / math.log2(3))
    assert found[1] == pytest.approx(1.0)
    assert math.isnan(found[2])


def test_a_short_slate_is_measured_by_the_best_slate_as_short() -> None:
    """One of two liked items in a slate of one is all that one item can do; half of recall."""
    found = got([1], [1], [2])
    assert (found.ndcg[1], found.recall[1]) == (1.0, 0.5)


def test_recall_is_the_share_of_what_was_liked_that_is_in_the_slate() -> None:
    """Planted bug: divided by k."""
    found = got([1, 3], [0, 1], [2, 3]).recall
    assert found[:2].tolist() == [1, 1]
    assert math.isnan(found[2])
    assert got([2, 3], [0, 3], [2, 3]).recall[:2].tolist() == [0, 0.5]


def test_gains_are_shares_of_ones_own_best() -> None:
    """Gains 1/2, -1/4, 0, and one for whom nothing is possible. Planted bug: worse off counted
    from those who gain nothing.
    """
    found = PeopleGains.of(
        np.array([3.0, 1, 2, 0]), np.array([1.0, 2, 2, 0]), np.array([4.0, 4, 2, 0])
    )
    assert (found.worse, found.better) == (1, 1)
    middle = dict(zip(QUANTILES, found.quantiles, strict=True))
    assert middle[0.5] == 0
    assert middle[0.05] == pytest.approx(-9 / 40)
    assert middle[0.95] == pytest.approx(9 / 20)


def test_coverage_is_of_the_whole_catalog() -> None:
    assert coverage_of(np.array([7, 7, 2]), 10) == 0.2


def test_who_gets_nothing_new_picks_nothing() -> None:
    """Planted bug: the first seen item of a slate counted as a pick."""
    assert got([0, 1], [2, 3], [0, 1]).picked.tolist() == [1]


def test_a_ratio_is_of_sums_and_its_error_is_linearized() -> None:
    """10 of 16; the residuals 1 - 2.5, 3 - 2.5, 6 - 5 have root mean square 1.0801 around 0."""
    estimate = ratio_of(np.array([1.0, 3.0, 6.0]), np.array([4.0, 4.0, 8.0]))
    assert estimate.mean == pytest.approx(10 / 16)
    spread = math.sqrt((1.5**2 + 0.5**2 + 1.0**2) / 3)
    assert estimate.error == pytest.approx(spread / math.sqrt(3) / (16 / 3))


def test_an_unknown_value_is_left_out_of_a_mean() -> None:
    estimate = mean_of(np.array([1.0, np.nan, 0.0]))
    assert estimate.mean == 0.5
    assert estimate.error == pytest.approx(0.5 / math.sqrt(2))
    assert math.isnan(mean_of(np.array([np.nan])).mean)
