"""Given vectors beside their items, as devices get them, and with histories of likes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from askew.errors import DataError
from askew_server.ratings import ItemRow
from askew_server.ratings.vectors import Vectors
from askew_server.taste import imported_vectors
from askew_server.taste.imported_vectors import (
    match_items,
    whiten_vectors,
)

ROWS = {key: ItemRow(f"Film {key}", None, ()) for key in ("7", "100", "x", "3")}
NUMBERS = np.arange(8.0).reshape(4, 2)
VECTORS_ALONE = Vectors(NUMBERS)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 3, 1, 0]])
def test_vectors_are_matched_by_their_keys_or_else_in_the_order_of_the_rows(
    order: list[int],
) -> None:
    keys = tuple(tuple(ROWS)[at] for at in order)
    for items in (
        match_items(Vectors(NUMBERS[order], keys), ROWS),
        match_items(VECTORS_ALONE, ROWS),
    ):
        assert items.keys == ("3", "7", "100", "x")
        np.testing.assert_array_equal(items.numbers, NUMBERS[[3, 0, 1, 2]])


def test_items_without_a_vector_are_left_out() -> None:
    items = match_items(Vectors(NUMBERS[:2], ("x", "7")), ROWS, n_rejected=5)
    assert items.keys == ("7", "x")


def test_a_vector_without_a_row_is_refused_by_name() -> None:
    keys = ("x", "8", "7", "9")
    with pytest.raises(DataError, match=r"2 of 4 vectors have no row .* first is of '8'"):
        match_items(Vectors(NUMBERS, keys), ROWS)


@pytest.mark.parametrize(("count", "rejected"), [(3, 0), (4, 1), (3, 1)])
def test_rows_that_were_left_out_leave_no_order_to_rely_on(count: int, rejected: int) -> None:
    with pytest.raises(DataError, match="give the vectors `keys`"):
        match_items(Vectors(NUMBERS[:count]), ROWS, rejected)


def test_users_of_another_geometry_are_refused() -> None:
    rng = np.random.default_rng(0)
    assert len(imported_vectors.simulate_likes_of_users(np.ones((9, 2)), NUMBERS, rng))
    with pytest.raises(DataError, match="user vectors have 3 numbers, item vectors 2"):
        imported_vectors.simulate_likes_of_users(np.ones((9, 3)), NUMBERS, rng)


RNG = np.random.default_rng(16)
# Of uneven lengths and leaning one way, as factors do.
VECTORS = RNG.normal(size=(40, 6)) * [9, 3, 2, 1, 1, 0.2] + [5, 0, 0, 0, 0, 0]
LIKED = [3, 8, 8 + 9, 31]


def device_scores(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """What a device makes of likes, before any factor that all items share."""
    wide = vectors.astype(np.float64)
    scores: NDArray[np.float64] = wide @ wide[LIKED].sum(axis=0)
    return scores


def test_a_device_folds_in_by_ridge_regression_on_the_given_vectors() -> None:
    gram = VECTORS.T @ VECTORS
    ridge = np.trace(gram) / len(gram) * np.eye(len(gram))
    person = np.linalg.solve(gram + ridge, VECTORS[LIKED].sum(axis=0))
    scores = device_scores(whiten_vectors(VECTORS))
    np.testing.assert_allclose(scores, VECTORS @ person, atol=1e-6)


@pytest.mark.parametrize("length", [1e-200, 1e-3, 1e6, 1e200])
def test_the_unit_of_the_given_vectors_does_not_matter(length: float) -> None:
    """Nor is any number beyond a device's limits."""
    vectors = whiten_vectors(length * VECTORS)
    np.testing.assert_allclose(vectors, whiten_vectors(VECTORS), atol=1e-5)
    assert vectors.dtype == np.float32
    assert np.abs(vectors).max() <= 1


def test_coordinates_stay_where_they_are() -> None:
    """Columns at right angles are only stretched: no axes are put in their place."""
    columns, _ = np.linalg.qr(VECTORS)
    uneven = columns * [1, 8, 2, 5, 3, 1]
    vectors = whiten_vectors(uneven)
    shares = (vectors * columns).sum(axis=0) / np.linalg.norm(vectors, axis=0)
    np.testing.assert_allclose(shares, 1, atol=1e-5)


SIMULATED_FROM = RNG.normal(size=(400, 5))
USERS = RNG.normal(size=(700, 5))


def of_users(seed: int = 0, users: NDArray[np.float64] = USERS) -> NDArray[np.int64]:
    return imported_vectors.simulate_likes_of_users(
        users, SIMULATED_FROM, np.random.default_rng(seed)
    )


def test_nobody_likes_a_thing_twice_and_lengths_are_log_uniform_from_20_to_150() -> None:
    likes = of_users()
    assert len(np.unique(likes, axis=0)) == len(likes)
    lengths = np.bincount(likes[:, 0])
    assert len(lengths) == len(USERS)
    assert 20 <= lengths.min() < 25
    assert 140 < lengths.max() <= 150
    assert abs(np.log(lengths).mean() - np.log([20, 151]).mean()) < 0.1


def test_more_users_than_are_needed_are_sampled() -> None:
    many = np.tile(USERS, (7, 1))
    likes = of_users(users=many)
    assert int(likes[:, 0].max()) + 1 == imported_vectors.MOST_PEOPLE


def test_one_like_is_drawn_with_the_odds_that_the_page_states() -> None:
    """Three items, so that histories have one like each: a softmax of scores over .3 deviations."""
    items, user = np.array([[1.0], [0.9], [0.5]]), 2.0
    users = np.full((4000, 1), user)
    likes = imported_vectors.simulate_likes_of_users(users, items, np.random.default_rng(3))
    scores = user * items[:, 0]
    odds = np.exp(scores / (0.3 * scores.std()))
    expected = odds / odds.sum() * len(users)
    assert chisquare(np.bincount(likes[:, 1], minlength=3), expected).pvalue > 1e-3


def test_made_up_people_are_like_items_by_their_squared_length() -> None:
    """Two items at right angles, one twice as long: four of five are like it, and each then likes
    its own with odds exp(2 / .3) to 1, since two scores lie two deviations apart.
    """
    items = np.array([[2.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    likes = imported_vectors.simulate_likes(items, np.random.default_rng(3))
    own = 1 / (1 + np.exp(-2 / 0.3))
    share = 0.8 * own + 0.2 * (1 - own)
    expected = np.array([share, 1 - share]) * imported_vectors.MADE_UP
    assert chisquare(np.bincount(likes[:, 1]), expected).pvalue > 1e-3
