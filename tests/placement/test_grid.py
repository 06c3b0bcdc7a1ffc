"""Product grids: the best way to spend k points on d axes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from askew.placement import laplace_line, rule


@pytest.mark.parametrize("k", range(1, 40))
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_grid_is_the_best_of_all_factorizations(k: int, dimension: int) -> None:
    candidates = [
        counts
        for counts in itertools.product(range(1, k + 1), repeat=dimension)
        if math.prod(counts) <= k
    ]
    best = min(sum(laplace_line.line_cost(1.0, count) for count in counts) for counts in candidates)
    assert rule.cost(1.0, rule.best_factors(k, dimension)) == pytest.approx(best, rel=1e-12)


def test_the_cost_of_a_grid_is_what_simulated_noise_pays() -> None:
    """200,000 draws in three dimensions: within five standard errors, fixed seed."""
    noise = np.random.default_rng(7).laplace(scale=0.5, size=(200_000, 3))
    factors = rule.best_factors(16, 3)
    far = np.full(len(noise), np.inf)
    for point in rule.offsets(2.0, factors):
        far = np.minimum(far, np.abs(noise - point).sum(axis=1))
    assert abs(far.mean() - rule.cost(2.0, factors)) < 5 * far.std() / np.sqrt(len(far))
