"""Placement in two and more dimensions: grids, crosses, codebooks and their bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from askew.placement import Identity, Laplace, Power, laplace_line, place, rule
from askew.placement.problem import Norm
from askew.placement.rule import Law, expected_cost, shipped, shipped_sizes

MEAN: dict[Norm, dict[int, float]] = {"l1": {2: 1.62, 3: 2.10, 8: 3.75}, "l2": {2: 2, 5: 5, 8: 8}}
TABLE: list[tuple[Norm, int, int, float]] = [
    ("l1", 2, 4, 0.646), ("l1", 2, 64, 0.190), ("l1", 3, 4, 0.754), ("l1", 3, 64, 0.333),
    ("l1", 8, 4, 0.910), ("l1", 8, 16, 0.737), ("l1", 8, 64, 0.646),
    ("l2", 2, 16, 0.368), ("l2", 2, 64, 0.196), ("l2", 5, 16, 0.682), ("l2", 8, 64, 0.683),
]  # fmt: skip
LAWS: list[tuple[Norm, Norm]] = [("l1", "l1"), ("l1", "l2"), ("l2", "l2")]


@pytest.mark.parametrize(("metric", "d", "k", "ratio"), TABLE)
def test_codebooks_are_as_good_as_the_reference(metric: Norm, d: int, k: int, ratio: float) -> None:
    placement = place(Laplace(1.0, d, metric), Identity(), k, disutility_metric="l2")
    assert placement.offsets.shape == (k, d)
    assert placement.cost / MEAN[metric][d] <= ratio + 0.006
    assert placement.cost / MEAN[metric][d] >= ratio - 0.012
    assert placement.certificate.lower_bound <= placement.cost


@pytest.mark.parametrize(("noise", "disutility"), LAWS)
@pytest.mark.parametrize("d", [2, 16])
def test_the_stated_cost_is_met_on_fresh_samples(noise: Norm, disutility: Norm, d: int) -> None:
    """Both means have a standard error; five of them is a false alarm in a million."""
    for k in (2, 16, 256):
        law = Law(noise, disutility, d, k)
        book = shipped(law)
        assert book is not None
        cost, error = expected_cost(law, book.points, Identity(), samples=20_000)
        assert abs(cost - book.cost) <= 5 * np.hypot(error, book.standard_error)
        assert book.standard_error < 0.005 * book.cost


@pytest.mark.parametrize(("noise", "disutility"), LAWS)
@pytest.mark.parametrize("d", [2, 3, 8, 16])
def test_every_dimension_is_shipped_and_more_points_cost_less(
    noise: Norm, disutility: Norm, d: int
) -> None:
    sizes = shipped_sizes(noise, disutility, d)
    assert {2, 4, 5, 8, 16, 32, 64, 128, 256} <= set(sizes)
    books = [shipped(Law(noise, disutility, d, k)) for k in sizes]
    costs = [book.cost for book in books if book is not None]
    assert costs == sorted(costs, reverse=True)


def test_one_point_in_its_own_norm_is_exact() -> None:
    placement = place(Laplace(2.0, 7, "l2"), Identity(), 1)
    assert placement.cost == placement.certificate.lower_bound == 3.5
    assert place(Laplace(1.0, 3, "l2"), Power(2.0), 1).cost == pytest.approx(12.0)


def test_a_size_that_is_not_shipped_gets_a_smaller_codebook_or_a_grid() -> None:
    """And the answer says what won, and against what."""
    placement = place(Laplace(1.0, 3), Identity(), 9)
    assert 8 <= len(placement.offsets) <= 9
    assert "cheaper than" in placement.method
    assert placement.cost < place(Laplace(1.0, 3), Identity(), 7).cost


def test_a_callable_pays_its_constant_part_in_space_too() -> None:
    plain = place(Laplace(1.0, 2), Power(0.5), 3)
    found = place(Laplace(1.0, 2), lambda t: 5 + np.sqrt(t), 3)
    assert found.cost == pytest.approx(5 + plain.cost, rel=1e-6)
    assert found.certificate.lower_bound > 5


def test_the_cross_beats_the_grid_and_loses_to_the_codebook() -> None:
    law = Law("l1", "l2", 8, 16)
    arms = expected_cost(law, 2.75 * rule.arms(8, 16), Identity())[0]
    book = shipped(law)
    assert book is not None
    assert book.cost < arms < 0.76 * MEAN["l1"][8]


@pytest.mark.parametrize("k", [1, 2, 7, 12, 30, 39])
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_grid_is_the_best_of_all_factorizations(k: int, dimension: int) -> None:
    best = min(
        sum(laplace_line.line_cost(1.0, count) for count in counts)
        for counts in itertools.product(range(1, k + 1), repeat=dimension)
        if math.prod(counts) <= k
    )
    assert rule.cost(1.0, rule.best_factors(k, dimension)) == pytest.approx(best, rel=1e-12)
