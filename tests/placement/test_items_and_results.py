"""From offsets to things that exist: items, and any set of results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement import Identity, Laplace, place, snap
from askew.placement.theory import expected_disutility, results_for


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


# Items

LINE = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]], dtype=np.float32)


def at(*place: float) -> NDArray[np.float64]:
    return np.array(place, dtype=np.float64)


def test_each_probe_takes_its_nearest_item() -> None:
    assert snap(at(0.1), at(-2.0, 0.0, 1.8), LINE, 3) == (0, 2, 4)


def test_places_that_duplicates_leave_free_go_to_items_nearest_the_signal() -> None:
    # Probes 0.1, 0.2, 0.3 all mean item 2; items 3 and 1 are next to 0.2.
    assert snap(at(0.2), at(-0.1, 0.0, 0.1), LINE, 3) == (1, 2, 3)


def test_a_tie_goes_to_the_lower_id() -> None:
    assert snap(at(0.5), at(0.0), LINE, 1) == (2,)


def test_a_grid_of_fewer_points_than_k_is_filled_up() -> None:
    assert snap(at(2.0), at(0.0), LINE, 4) == (1, 2, 3, 4)


def test_distance_is_l1_and_not_l2() -> None:
    positions = np.array([[0.7, 0.7], [1.2, 0.0]], dtype=np.float32)
    assert snap(at(0.0, 0.0), np.zeros((1, 2)), positions, 1) == (1,)


@given(st.integers(1, 5), st.floats(-1e6, 1e6), st.lists(st.floats(-9, 9), min_size=1, max_size=5))
def test_exactly_k_distinct_items_come_back(k: int, place: float, offsets: list[float]) -> None:
    chosen = snap(at(place), at(*offsets[:k]), LINE, k)
    assert len(chosen) == k
    assert list(chosen) == sorted(set(chosen))


@pytest.mark.parametrize("k", [0, 6])
def test_more_results_than_items_are_refused(k: int) -> None:
    with pytest.raises(ParameterError, match="from 1 to the number of items, 5"):
        snap(at(0.0), at(0.0), LINE, k)
