"""Results must be items: every probe takes its nearest, and exactly k come back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement import snap

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
