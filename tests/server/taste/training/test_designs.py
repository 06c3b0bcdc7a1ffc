"""Designs on worlds where the right answer can be seen."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.noise.randomized_response import RandomizedResponse
from askew.retrieval.buckets import labels_of
from askew.retrieval.posterior import response_log_odds
from askew_server.taste.training.buckets import design_buckets, favorites, pool_of, response_value
from askew_server.taste.training.space_fit import Purpose, learned_directions

RNG = np.random.default_rng(12)
SIDES = RNG.integers(0, 2, 300)
# What people like depends on the second coordinate; the first varies more and says nothing.
TASTES = np.column_stack(
    [5 * RNG.normal(size=300), np.where(SIDES, 1, -1) + 0.1 * RNG.normal(size=300), np.zeros(300)]
)
SCORES = np.stack([SIDES == 0, SIDES == 1, np.full(300, 0.4)]).astype(np.float32)


def test_two_buckets_part_two_tastes() -> None:
    response = RandomizedResponse.for_epsilon(2, Fraction(3))
    design = design_buckets(TASTES, SCORES, response, 1, seed=0)
    label = labels_of(design.buckets, TASTES)
    agreement = (label == SIDES).mean()
    assert max(agreement, 1 - agreement) == 1.0
    assert sorted(design.slates[:, 0].tolist()) == [0, 1]
    own = float(np.exp(response_log_odds(response)[0]))
    assert design.value == pytest.approx(own, rel=1e-6)  # 1 with the truth, 0 with the lie


def test_at_a_tiny_epsilon_no_bucket_beats_the_safe_item() -> None:
    """With odds near even, 0.4 for sure is... less than a half; two items together are all."""
    response = RandomizedResponse.for_epsilon(2, Fraction(1, 100))
    design = design_buckets(TASTES, SCORES, response, 2, seed=0)
    assert [sorted(slate) for slate in design.slates.tolist()] == [[0, 1], [0, 1]]
    assert design.value == pytest.approx(1.0)


def test_the_value_is_the_mean_over_every_person_and_every_lie() -> None:
    """By hand: odds 2 of 3 buckets, so 1/2 for one's own and 1/4 for each other."""
    response = RandomizedResponse(3, Fraction(2))
    served = np.array([[1.0, 0.0, 4.0], [2.0, 2.0, 0.0]])
    label = np.array([2, 0])
    # person 0: 4/2 + (1 + 0)/4; person 1: 2/2 + (2 + 0)/4
    assert response_value(label, served, response) == pytest.approx((2.25 + 1.5) / 2)


def test_many_people_get_the_bucket_that_each_device_computes() -> None:
    response = RandomizedResponse.for_epsilon(4, Fraction(2))
    design = design_buckets(TASTES, SCORES, response, 2, seed=1)
    assert labels_of(design.buckets, TASTES).tolist() == [design.buckets.of(u) for u in TASTES]


def test_a_design_is_reproducible() -> None:
    response = RandomizedResponse.for_epsilon(4, Fraction(2))
    first, again = (design_buckets(TASTES, SCORES, response, 2, seed=5) for _ in range(2))
    assert first.buckets.directions.tobytes() == again.buckets.directions.tobytes()
    assert first.slates.tolist() == again.slates.tolist()


def test_more_buckets_than_people_are_refused() -> None:
    response = RandomizedResponse.for_epsilon(24, Fraction(2))
    with pytest.raises(ParameterError):
        design_buckets(TASTES[:10], SCORES[:, :10], response, 1, seed=0)


def test_learned_directions_find_what_decides_and_not_what_varies() -> None:
    """The principal axis is the first coordinate, which says nothing."""
    found = learned_directions(TASTES, SCORES, 1, Purpose(2.0, 1), seed=0)
    assert found.shape == (3, 1)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert abs(found[1, 0]) * TASTES[:, 1].std() > 2 * abs(found[0, 0]) * TASTES[:, 0].std()


def test_learned_directions_are_orthonormal_and_reproducible() -> None:
    first, again = (learned_directions(TASTES, SCORES, 2, Purpose(2.0, 2), seed=3) for _ in "ab")
    assert first.T @ first == pytest.approx(np.eye(2), abs=1e-9)
    assert first.tobytes() == again.tobytes()


def scores_of(best: list[int], n_items: int) -> NDArray[np.float32]:
    return np.eye(n_items, dtype=np.float32)[best]


def test_the_pool_holds_what_is_most_often_among_somebodys_best() -> None:
    counts = np.array([3, 0, 5, 3, 0, 1])
    assert pool_of(counts, least=2, most=3).tolist() == [0, 2, 3]
    assert pool_of(counts, least=2).tolist() == [0, 2, 3, 5]
    assert pool_of(counts, least=6).tolist() == [0, 1, 2, 3, 4, 5]


def test_favorites_are_the_ten_best_of_each() -> None:
    scores = scores_of([7, 7, 11], 12)
    counts = favorites(scores)
    assert counts.sum() == 30
    assert counts[7] >= 2
    assert counts[11] >= 1
