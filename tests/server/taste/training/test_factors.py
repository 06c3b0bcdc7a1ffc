"""Factors of likes, snapshots of people, and vectors rounded to codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from askew.spaces.item_codes import encode, rounded, scales_of
from askew_server.demo.simulation import films, simulate
from askew_server.taste import ease, people
from askew_server.taste.item_vectors import learn_vectors
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import Histories, fold_in_people, sample_profiles
from askew_server.taste.space_fit import round_vectors

SEED, WORD = 5, 2**64
SEEN = (np.random.default_rng(2).random((60, 40)) < 0.3).astype(np.float64)
SEEN[[0, 17, 59]] = 0  # people without ratings, who have no profile
LIKES = SEEN * (np.random.default_rng(3).random(SEEN.shape) < 0.4)
LIKES[[5, 20]] = 0  # who only dislike what they have rated have none either


def scrambled(number: int) -> int:
    """The finalizer of splitmix64, in Python's own numbers."""
    mixed = (number + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9 % WORD
    mixed = (mixed ^ (mixed >> 30)) * 0x94D049BB133111EB % WORD
    return mixed ^ (mixed >> 31)


def shown(items: list[int]) -> list[int]:
    """Of one person's items."""
    words = {item: scrambled(item + SEED) for item in items}
    own = scrambled(sum(words.values()) % WORD)
    return [item for item, word in words.items() if scrambled(word ^ own) < 0.8 * WORD]


@pytest.mark.parametrize("at_once", [7, 10**6])
def test_a_profile_is_what_the_rule_leaves_of_each_person(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: the last person of each part is left out; the words of the part before; people
    who like nothing that is shown are kept.
    """
    monkeypatch.setattr(people, "_AT_ONCE", at_once)
    profiles = sample_profiles(Histories(csr_array(LIKES), csr_array(SEEN)), SEED)
    mask = np.zeros(SEEN.shape)
    for person, row in enumerate(SEEN):
        mask[person, shown(np.flatnonzero(row).tolist())] = 1
    some = (LIKES * mask).any(axis=1)
    assert np.array_equal((SEEN * mask)[some], profiles.seen.toarray())
    assert np.array_equal((LIKES * mask)[some], profiles.likes.toarray())


VECTORS = np.random.default_rng(16).normal(size=(500, 12)).astype(np.float32)


def test_without_a_direction_that_matters_it_is_nearest_rounding() -> None:
    """Tastes equal in all directions: nothing can make good anything."""
    even = np.concatenate([np.eye(12), -np.eye(12)])
    vectors, scales = round_vectors(even, VECTORS)
    np.testing.assert_array_equal(vectors, rounded(VECTORS, scales))


def test_people_who_tell_nothing_or_little_are_enough() -> None:
    for tastes in (np.zeros((3, 12)), np.eye(1, 12)):
        vectors, scales = round_vectors(tastes, VECTORS)
        assert np.isfinite(vectors).all()
        assert encode(vectors, scales).size


def test_training_keeps_scores_closer_than_nearest_codes_would() -> None:
    """Of the simulated people's tastes. Planted bug: nearest codes in training."""
    options = TrainingOptions(ranking_dimension=32, penalty=100)
    fitted = learn_vectors(simulate(films()), options)
    exact = ease.fit(ease.gram_of(fitted.people.likes), 100, 32).vectors.astype(np.float32)
    people = sample_profiles(fitted.people, options.seed)
    tastes = fold_in_people(people, exact, options.least_likes).vectors
    nearest = rounded(exact, scales_of(exact))
    ours, plain = (np.mean((tastes @ (v - exact).T) ** 2) for v in (fitted.vectors, nearest))
    assert encode(fitted.vectors, fitted.scales).size
    assert ours < 0.9 * plain
