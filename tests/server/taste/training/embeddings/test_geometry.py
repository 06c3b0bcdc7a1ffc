"""Given vectors as devices get them: the scores that a device makes of likes are those promised."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askew_server.taste.training.given_vectors import for_devices

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
    scores = device_scores(for_devices(VECTORS))
    np.testing.assert_allclose(scores, VECTORS @ person, atol=1e-6)


@pytest.mark.parametrize("length", [1e-200, 1e-3, 1e6, 1e200])
def test_the_unit_of_the_given_vectors_does_not_matter(length: float) -> None:
    """Nor is any number beyond a device's limits."""
    vectors = for_devices(length * VECTORS)
    np.testing.assert_allclose(vectors, for_devices(VECTORS), atol=1e-5)
    assert vectors.dtype == np.float32
    assert np.abs(vectors).max() <= 1


def test_a_rotation_of_the_given_vectors_changes_no_score() -> None:
    rotation, _ = np.linalg.qr(RNG.normal(size=(6, 6)))
    scores, rotated = (device_scores(for_devices(v)) for v in (VECTORS, VECTORS @ rotation))
    order = np.argsort(scores)
    np.testing.assert_array_equal(np.argsort(rotated), order)


def test_vectors_that_do_not_fill_their_dimensions_stay_finite() -> None:
    flat = np.column_stack([VECTORS, np.zeros(40), VECTORS[:, 0]])
    assert np.isfinite(for_devices(flat)).all()


def test_coordinates_stay_where_they_are() -> None:
    """Columns at right angles are only stretched: no axes are put in their place."""
    columns, _ = np.linalg.qr(VECTORS)
    uneven = columns * [1, 8, 2, 5, 3, 1]
    vectors = for_devices(uneven)
    shares = (vectors * columns).sum(axis=0) / np.linalg.norm(vectors, axis=0)
    np.testing.assert_allclose(shares, 1, atol=1e-5)
