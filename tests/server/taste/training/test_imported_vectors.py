"""Vectors of another model beside their items, with simulated likes, and models of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare
from threadpoolctl import threadpool_limits

from askew.errors import DataError
from askew.limits import MAX_RANKING_DIMENSION
from askew.spaces.vectors import RatingScale
from askew_server.demo.simulation import films, simulate
from askew_server.ratings import ItemRow
from askew_server.taste import artifact, imported_vectors
from askew_server.taste.imported_vectors import match_items, simulate_likes_of_users, whiten_vectors
from askew_server.taste.item_vectors import often_rated
from askew_server.taste.model import ItemModel, import_model
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import histories_of
from askew_server.taste.space_fit import rating_scale_of

Matrix = NDArray[np.float64]
Run = Callable[..., int]
DIMENSION = 16
ROWS = {key: ItemRow(f"Film {key}", None, ()) for key in ("7", "100", "x", "3")}
NUMBERS = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 3, 1, 0]])
def test_vectors_are_matched_by_their_keys_or_else_in_the_order_of_the_rows(
    order: list[int],
) -> None:
    keys = tuple(tuple(ROWS)[at] for at in order)
    for vectors, matched in (
        match_items(NUMBERS[order], keys, ROWS),
        match_items(NUMBERS, None, ROWS),
    ):
        assert matched == ("3", "7", "100", "x")
        np.testing.assert_array_equal(vectors, NUMBERS[[3, 0, 1, 2]])
    assert match_items(NUMBERS[:2], ("x", "7"), ROWS, n_rejected=5)[1] == ("7", "x")


def test_vectors_that_match_no_rows_and_users_of_another_geometry_are_refused() -> None:
    """Rows that were left out leave no order to rely on."""
    with pytest.raises(DataError, match=r"2 of 4 vectors have no row .* first is of '8'"):
        match_items(NUMBERS, ("x", "8", "7", "9"), ROWS)
    for count, rejected in ((3, 0), (4, 1)):
        with pytest.raises(DataError, match="give the vectors `keys`"):
            match_items(NUMBERS[:count], None, ROWS, rejected)
    with pytest.raises(DataError, match="user vectors have 3 numbers, item vectors 2"):
        simulate_likes_of_users(np.ones((9, 3)), NUMBERS, np.random.default_rng(0))


RNG = np.random.default_rng(16)
# Of uneven lengths and leaning one way, as factors do.
VECTORS = RNG.normal(size=(40, 6)) * [9, 3, 2, 1, 1, 0.2] + [5, 0, 0, 0, 0, 0]
LIKED = [3, 8, 17, 31]


def test_a_device_folds_in_by_ridge_regression_on_the_given_vectors() -> None:
    """But for a factor that all items share."""
    gram = VECTORS.T @ VECTORS
    ridge = np.trace(gram) / len(gram) * np.eye(len(gram))
    person = np.linalg.solve(gram + ridge, VECTORS[LIKED].sum(axis=0))
    white = whiten_vectors(VECTORS).astype(np.float64)
    scores = white @ white[LIKED].sum(axis=0)
    np.testing.assert_allclose(scores, VECTORS @ person, atol=1e-6)


@pytest.mark.parametrize("length", [1e-200, 1e200])
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


def test_nobody_likes_a_thing_twice_and_lengths_are_log_uniform_from_20_to_150() -> None:
    likes = simulate_likes_of_users(USERS, SIMULATED_FROM, np.random.default_rng(0))
    assert len(np.unique(likes, axis=0)) == len(likes)
    lengths = np.bincount(likes[:, 0])
    assert len(lengths) == len(USERS)
    assert 20 <= lengths.min() < 25
    assert 140 < lengths.max() <= 150
    assert abs(np.log(lengths).mean() - np.log([20, 151]).mean()) < 0.1
    many = simulate_likes_of_users(np.tile(USERS, (7, 1)), SIMULATED_FROM, np.random.default_rng(0))
    assert int(many[:, 0].max()) + 1 == imported_vectors.MOST_PEOPLE


def test_one_like_is_drawn_with_the_odds_that_the_page_states() -> None:
    """Three items, so that histories have one like each: a softmax of scores over .3 deviations."""
    items, user = np.array([[1.0], [0.9], [0.5]]), 2.0
    users = np.full((4000, 1), user)
    likes = simulate_likes_of_users(users, items, np.random.default_rng(3))
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


@pytest.fixture
def few_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the usual number, so that a model is made in a second."""
    monkeypatch.setattr(imported_vectors, "MADE_UP", 400)


@cache
def learned() -> tuple[tuple[str, ...], Matrix, Matrix]:
    """Keys, and vectors of items and of users: a truncated SVD of likes of the demo's people."""
    table = simulate(films())
    kept = often_rated(table, 20)
    likes = histories_of(table, kept, rating_scale_of(table, None)).likes
    with threadpool_limits(1):
        users, weights, items = np.linalg.svd(likes.toarray(), full_matrices=False)
    roots = np.sqrt(weights[:DIMENSION])
    keys = tuple(table.item_keys[item] for item in kept)
    return keys, items[:DIMENSION].T * roots, users[:, :DIMENSION] * roots


def imported(vectors: Matrix, keys: tuple[str, ...], users: Matrix | None = None) -> ItemModel:
    """The command's model."""
    rows = {key: ItemRow(key, None, ()) for key in learned()[0]}
    training = TrainingOptions(ranking_dimension=MAX_RANKING_DIMENSION)
    scale = RatingScale.between(1, 5)
    matched = match_items(vectors, keys, rows)
    with threadpool_limits(1):
        return import_model(*matched, rows, training, scale, people=users)[0]


@pytest.mark.usefixtures("few_people")
def test_the_same_vectors_in_another_order_or_unit_make_the_same_model() -> None:
    keys, vectors, _ = learned()
    first, second = imported(vectors, keys), imported(2.0**30 * vectors[::-1], keys[::-1])
    assert first.card.space == second.card.space
    assert first.card.catalog_version == second.card.catalog_version


@pytest.mark.usefixtures("few_people")
def test_user_vectors_make_the_space_of_people_like_them() -> None:
    """The users are of one kind here, whose taste is the third factor, while the first is what all
    like. So what is shown to anybody is for that kind.
    """
    keys, vectors, users = learned()
    towards = users[:, 2] / np.maximum(np.linalg.norm(users, axis=1), 1e-9)
    likest = np.argsort(-towards)[:150]
    taste = users[likest[0]]
    models = kind, _ = imported(vectors, keys, users[likest]), imported(vectors, keys)
    assert "SIMULATED from those of about 200 users" in kind.card.source
    scores = dict(zip(keys, vectors @ taste, strict=True))
    shown = [[scores[m.keys[i]] for i in m.catalog.shared_slate[:5]] for m in models]
    assert np.mean(shown[0]) > np.mean(shown[1]) + np.std([*scores.values()])


@pytest.mark.usefixtures("few_people")
def test_vectors_of_fewer_numbers_than_a_signal_would_have_make_a_smaller_signal(
    tmp_path: Path, run: Run
) -> None:
    """Nobody chose the larger one: it is the default."""
    vectors = np.random.default_rng(6).normal(size=(60, 3))
    np.savez(tmp_path / "v.npz", vectors=vectors)
    rows = "".join(f"{item},Film {item}\n" for item in range(60))
    (tmp_path / "items.csv").write_text(f"item,title\n{rows}")
    files = (tmp_path / "v.npz", "--items", tmp_path / "items.csv")
    assert run("import", *files, "--out", tmp_path / "m") == 0
    assert artifact.load(tmp_path / "m").card.space.dimension == 3
