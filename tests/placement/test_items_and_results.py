"""From offsets to things that exist: catalog items without a prior, and any set of results."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement import Identity, Laplace, place, snap
from askew.placement.codebook import sample
from askew.placement.facility import choose_items, cost_table, greedy, settle
from askew.placement.theory import expected_disutility, results_for

NOISE = Laplace(1.0, 3)
RNG = np.random.default_rng(7)
CATALOG = (2 * RNG.standard_normal((800, 3))).astype(np.float32)
SIGNAL = np.array([0.3, -0.2, 1.0])


def _expected(items: tuple[int, ...]) -> float:
    people = (SIGNAL - sample(NOISE, 20_000, np.random.default_rng(11))).astype(np.float32)
    table = cost_table(people, CATALOG[list(items)], Identity(), "l1")
    return float(table.min(axis=0).mean())


@pytest.mark.parametrize("k", [4, 16, 32])
def test_chosen_items_serve_as_well_as_snapped_offsets_or_better(k: int) -> None:
    offsets = place(NOISE, Identity(), k).offsets
    snapped = _expected(snap(SIGNAL, offsets, CATALOG, k))
    assert _expected(choose_items(SIGNAL, CATALOG, NOISE, k)) < 1.005 * snapped


def test_settling_never_costs_more() -> None:
    costs = RNG.random((60, 200)).astype(np.float32)
    before = greedy(costs, 10)
    after = settle(costs, before)
    assert len(set(after)) == 10
    assert costs[after].min(axis=0).sum() <= costs[before].min(axis=0).sum()


def test_the_choice_is_a_function_of_public_things() -> None:
    first = choose_items(SIGNAL, CATALOG, NOISE, 8, seed=5)
    assert first == choose_items(SIGNAL, CATALOG, NOISE, 8, seed=5)
    assert list(first) == sorted(set(first))


def test_lazy_greedy_is_greedy() -> None:
    """Catches a stale saving taken for a fresh one."""
    costs = RNG.random((60, 200)).astype(np.float32)
    chosen = [int(np.argmin(costs.mean(axis=1, dtype=np.float64)))]
    while len(chosen) < 10:
        served = costs[chosen].min(axis=0)
        saved = np.maximum(served - costs, 0).sum(axis=1, dtype=np.float64)
        saved[chosen] = -1
        chosen.append(int(np.argmax(saved)))
    assert greedy(costs, 10) == chosen


def test_all_items_can_be_asked_for_and_no_more() -> None:
    assert choose_items(SIGNAL, CATALOG[:5], NOISE, 5) == (0, 1, 2, 3, 4)
    with pytest.raises(ParameterError):
        choose_items(SIGNAL, CATALOG[:5], NOISE, 6)


class Shelves:
    """OPT as an index: the result is the shelf in which a position falls."""

    def best(self, position: NDArray[np.float64]) -> int:
        """Shelves are a tenth wide."""
        return int(np.floor(10 * position[0]))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_results_that_are_no_positions_cost_no_more_than_the_placement(k: int) -> None:
    """Theorem 25. A person loses, on shelf r, the distance to the nearest position whose best
    result is r. 20,000 draws: the tolerance is five standard errors.
    """
    placement = place(Laplace(1.0), Identity(), k)
    draws = np.random.default_rng(3).laplace(size=(20_000, 1))
    person = np.array([0.37])

    def loss(person: NDArray[np.float64], shelf: int) -> float:
        return max(0.0, shelf / 10 - float(person[0]), float(person[0]) - (shelf + 1) / 10)

    cost = expected_disutility(person, draws, placement, Shelves(), loss)
    assert cost <= placement.cost * (1 + 5 / np.sqrt(20_000))
    assert cost >= placement.cost - 0.1


def test_equal_results_are_returned_once() -> None:
    placement = place(Laplace(1.0), Identity(), 5)
    assert results_for(np.array([0.0]), placement, lambda position: "same") == ("same",)
    sides = results_for(np.array([0.1]), placement, lambda position: bool(position[0] > 0))
    assert sides == (True, False)
