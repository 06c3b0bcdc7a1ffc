"""Our factors are scikit-learn's of the same seed, tall or wide, and they are the factors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from askew_server.taste.training.factors import right_factors


def likes(people: int, items: int) -> csr_array:
    rng = np.random.default_rng(3)
    chances = rng.gamma(0.3, size=(people, 6)) @ rng.gamma(0.3, size=(6, items))
    return csr_array((rng.random((people, items)) < chances / (1 + chances)).astype(np.float64))


@pytest.mark.parametrize(("people", "items"), [(400, 90), (90, 400), (60, 60), (12, 9), (9, 12)])
@pytest.mark.parametrize("seed", [0, 7])
def test_they_are_those_of_scikit_learn(people: int, items: int, seed: int) -> None:
    """Planted bugs: six steps; another start; the sign of the left factors; wide as it is."""
    matrix, dimension = likes(people, items), 5
    other = TruncatedSVD(dimension, n_iter=7, random_state=seed).fit(matrix).components_.T
    assert right_factors(matrix, dimension, seed) == pytest.approx(other, abs=1e-10)


def test_they_span_what_the_whole_decomposition_spans() -> None:
    """Whatever the library: the product with V keeps the most that any five directions can."""
    matrix = likes(300, 80)
    best = np.linalg.svd(matrix.toarray(), compute_uv=False)[:5]
    kept = np.linalg.norm(matrix @ right_factors(matrix, 5, 0), axis=0)
    assert np.sort(kept)[::-1] == pytest.approx(best, rel=1e-4)
