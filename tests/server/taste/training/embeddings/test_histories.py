"""Simulated histories: as long as the page says, nothing twice, and by the law that it states."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from askew_server.taste.training import given_vectors

RNG = np.random.default_rng(16)
VECTORS = RNG.normal(size=(400, 5))
USERS = RNG.normal(size=(700, 5))


def of_users(seed: int = 0, users: NDArray[np.float64] = USERS) -> NDArray[np.int64]:
    return given_vectors.of_people(users, VECTORS, np.random.default_rng(seed))


def test_nobody_likes_a_thing_twice_and_lengths_are_log_uniform_from_20_to_150() -> None:
    likes = of_users()
    assert len(np.unique(likes, axis=0)) == len(likes)
    lengths = np.bincount(likes[:, 0])
    assert len(lengths) == len(USERS)
    assert 20 <= lengths.min() < 25
    assert 140 < lengths.max() <= 150
    assert abs(np.log(lengths).mean() - np.log([20, 151]).mean()) < 0.1


def test_a_history_has_at_most_half_of_a_small_catalog() -> None:
    likes = given_vectors.of_people(USERS, VECTORS[:10], np.random.default_rng(0))
    assert np.bincount(likes[:, 0]).tolist() == [5] * len(USERS)


def test_the_same_seed_draws_the_same_and_another_draws_others() -> None:
    np.testing.assert_array_equal(of_users(), of_users())
    assert not np.array_equal(of_users(0), of_users(1))


def test_people_drawn_a_few_at_a_time_are_drawn_by_the_same_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = of_users()
    monkeypatch.setattr(given_vectors, "_AT_ONCE", 7 * len(VECTORS))
    np.testing.assert_array_equal(of_users(), whole)


@pytest.mark.parametrize("length", [2.0**-500, 2.0**500])
def test_units_do_not_matter(length: float) -> None:
    """Powers of two, so that not a bit is rounded."""
    rng = np.random.default_rng(0)
    likes = given_vectors.of_people(length * USERS, length * VECTORS, rng)
    np.testing.assert_array_equal(likes, of_users())


def test_more_users_than_are_needed_are_sampled() -> None:
    many = np.tile(USERS, (7, 1))
    likes = of_users(users=many)
    assert int(likes[:, 0].max()) + 1 == given_vectors.MOST_PEOPLE


def test_one_like_is_drawn_with_the_odds_that_the_page_states() -> None:
    """Three items, so that histories have one like each: a softmax of scores over .3 deviations."""
    items, user = np.array([[1.0], [0.9], [0.5]]), 2.0
    users = np.full((4000, 1), user)
    likes = given_vectors.of_people(users, items, np.random.default_rng(3))
    scores = user * items[:, 0]
    odds = np.exp(scores / (0.3 * scores.std()))
    expected = odds / odds.sum() * len(users)
    assert chisquare(np.bincount(likes[:, 1], minlength=3), expected).pvalue > 1e-3


def test_made_up_people_are_like_items_by_their_squared_length() -> None:
    """Two items at right angles, one twice as long: four of five are like it, and each then likes
    its own with odds exp(2 / .3) to 1, since two scores lie two deviations apart.
    """
    items = np.array([[2.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    likes = given_vectors.made_up(items, np.random.default_rng(3))
    own = 1 / (1 + np.exp(-2 / 0.3))
    share = 0.8 * own + 0.2 * (1 - own)
    expected = np.array([share, 1 - share]) * given_vectors.MADE_UP
    assert chisquare(np.bincount(likes[:, 1]), expected).pvalue > 1e-3


def test_a_user_without_a_direction_likes_anything() -> None:
    likes = of_users(users=np.zeros((500, 5)))
    counts = np.bincount(likes[:, 1], minlength=len(VECTORS))
    assert counts.min() > 0.5 * counts.mean()


def test_a_short_history_is_the_beginning_of_a_long_one() -> None:
    """So what is liked most comes first: the fewer likes, the better they are."""
    likes = of_users()
    scores = USERS @ VECTORS.T
    standard = scores / scores.std(axis=1, keepdims=True)
    lengths = np.bincount(likes[:, 0])[likes[:, 0]]
    liked = standard[likes[:, 0], likes[:, 1]]
    assert liked[lengths < 30].mean() > liked[lengths > 100].mean() + 0.3
