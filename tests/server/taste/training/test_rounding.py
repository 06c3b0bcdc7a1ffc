"""Rounding for people: codes can say every number, and scores change less than by nearest codes."""

from __future__ import annotations

import numpy as np
import pytest

from askew.spaces.item_codes import encode, rounded, scales_of
from askew_server.demo.simulation import simulated_table
from askew_server.taste.training.factors import factorize, fold_in_people, snapshot
from askew_server.taste.training.item_vectors import LearnedVectors
from askew_server.taste.training.options import TrainingOptions
from askew_server.taste.training.space_fit import round_for

RNG = np.random.default_rng(16)
VECTORS = RNG.normal(size=(500, 12)).astype(np.float32)
# People lean one way, as they do, and differ a little in all others.
TASTES = RNG.normal(size=(2000, 12)) * np.linspace(1, 0.2, 12) + 3 * RNG.normal(size=12)


def test_codes_can_say_the_vectors_exactly() -> None:
    vectors, scales = round_for(TASTES, VECTORS)
    assert encode(vectors, scales).shape == (500, 6)


def test_scores_keep_closer_than_by_nearest_codes() -> None:
    """Of people whom the rounding did not see. Tastes that lean one way make good a lot."""
    others = RNG.normal(size=(2000, 12)) * np.linspace(1, 0.2, 12) + TASTES.mean(axis=0)
    vectors, _ = round_for(TASTES, VECTORS)
    nearest = rounded(VECTORS, scales_of(VECTORS))
    ours, plain = (np.mean((others @ (each - VECTORS).T) ** 2) for each in (vectors, nearest))
    assert ours < 0.2 * plain


def test_without_a_direction_that_matters_it_is_nearest_rounding() -> None:
    """Tastes equal in all directions: nothing can make good anything."""
    even = np.concatenate([np.eye(12), -np.eye(12)])
    vectors, scales = round_for(even, VECTORS)
    np.testing.assert_array_equal(vectors, rounded(VECTORS, scales))


@pytest.mark.parametrize("tastes", [np.zeros((3, 12)), np.eye(1, 12)])
def test_people_who_tell_nothing_or_little_are_enough(tastes: np.ndarray) -> None:
    vectors, scales = round_for(tastes, VECTORS)
    assert np.isfinite(vectors).all()
    assert encode(vectors, scales).size


def test_a_dimension_of_zeros_stays_zero() -> None:
    flat = VECTORS.copy()
    flat[:, 4] = 0
    vectors, _ = round_for(TASTES, flat)
    assert not np.abs(vectors[:, 4]).max() > 1e-9


def test_training_keeps_scores_closer_than_nearest_codes_would() -> None:
    """Of the simulated people's tastes. Planted bug: nearest codes in training."""
    options = TrainingOptions(ranking_dimension=32)
    told = LearnedVectors().express(simulated_table(), options)
    learned = factorize(told.people.likes, 32, options.seed)
    people = snapshot(told.people, options.seed)
    tastes = fold_in_people(people, learned, options.least_likes).vectors
    nearest = rounded(learned, scales_of(learned))
    ours, plain = (np.mean((tastes @ (v - learned).T) ** 2) for v in (told.vectors, nearest))
    assert encode(told.vectors, told.scales).size
    assert ours < 0.9 * plain  # .76
