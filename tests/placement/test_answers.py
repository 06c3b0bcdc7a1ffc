"""What `place` takes and gives: arguments, certificates, laws of every optimum, items."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.placement import (
    Cap,
    Disutility,
    Expm1,
    Gaussian,
    Identity,
    Laplace,
    LaplaceMixture,
    Log1p,
    Logistic,
    OnGrid,
    Placement,
    Power,
    Saturating,
    Threshold,
    place,
    snap,
)
from askew.placement.laplace_line import legendre
from askew.placement.noise import Norm
from askew.placement.theory import expected_disutility, noise_for, noise_on_lattice, results_for


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize("law", [Laplace, Gaussian, Power])
def test_a_parameter_that_is_no_positive_number_is_refused(
    law: Callable[[object], object], value: object
) -> None:
    with pytest.raises(ParameterError, match="positive and finite"):
        law(value)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, 2.0, "2", None, True])
def test_a_dimension_is_an_integer(dimension: int) -> None:
    with pytest.raises(ParameterError, match="dimension"):
        Laplace(1.0, dimension)


@pytest.mark.parametrize("noise", [Laplace(1.0), Laplace(1.0, 2), Gaussian(1.0)])
@pytest.mark.parametrize("metric", ["l3", ""])
def test_an_unknown_metric_is_refused_on_the_line_too(noise: Laplace, metric: Norm) -> None:
    with pytest.raises(ParameterError, match="disutility_metric"):
        place(noise, Identity(), 2, disutility_metric=metric)


@pytest.mark.parametrize(
    ("noise", "metric", "h"),
    [
        (Laplace(1.0, 2), "l1", Expm1(1.0)),
        (Laplace(1.0, 3, "l2"), "l2", Expm1(1.2)),
        (Laplace(1.0, 4, "l2"), "l1", Expm1(0.5)),
        (Laplace(2.0, 2), "l2", lambda t: np.expm1(2.1 * t)),
    ],
)
def test_an_infinite_cost_in_space_is_refused(noise: Laplace, metric: Norm, h: Expm1) -> None:
    """Catches the mean of samples, always finite, taken for the cost."""
    with pytest.raises(InfiniteCost):
        place(noise, h, 4, disutility_metric=metric)


def test_the_refusal_names_the_ratio_that_counts() -> None:
    with pytest.raises(InfiniteCost, match=r"rate / epsilon must be below 1 .*, got 1\.5"):
        place(Laplace(2.0), Expm1(3.0), 3)


def test_a_callable_that_outgrows_floats_is_refused_without_warnings() -> None:
    with pytest.raises(InfiniteCost), np.errstate(all="raise"):
        place(Laplace(1.0), lambda t: np.exp(t * t), 3)


def test_a_weight_must_be_a_number() -> None:
    with pytest.raises(ParameterError, match="weights"):
        LaplaceMixture((math.nan,), (1.0,))


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_copies_of_a_placement_cannot_be_changed_either(twin: Callable[[object], object]) -> None:
    found = twin(place(Laplace(1.0), Power(2.0), 4))
    original = place(Laplace(1.0), Power(2.0), 4)
    np.testing.assert_array_equal(found.offsets, original.offsets)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="read-only"):
        found.offsets[0] = 0.0  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="WRITEABLE"):
        found.offsets.setflags(write=True)  # type: ignore[attr-defined]


def test_the_values_of_a_grid_cannot_be_changed() -> None:
    grid = OnGrid(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    for array in (grid.points, grid.density):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize(
    ("g", "slope"),
    [(lambda t: t + 1e6 * t * t, 1.0), (lambda t: 1e-6 * t + t * t, 1e-6), (np.expm1, 1.0)],
)
def test_the_slope_at_0_is_found_under_strong_curvature(
    g: Callable[[float], float], slope: float
) -> None:
    with np.errstate(all="raise"):
        assert noise_for(g).epsilon == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("power", [1.01, 1.1, 1.5, 3.0])
def test_a_bound_that_starts_flat_however_slowly_is_refused(power: float) -> None:
    """Catches t**1.01 taken for a slope of 0.83, which breaks the bound near 0."""
    with pytest.raises(InfiniteCost):
        noise_for(lambda t: t**power)


def test_a_slope_beyond_the_bound_is_refused() -> None:
    with pytest.raises(ParameterError, match="slope"):
        noise_for(lambda t: t, slope=5.0)


@pytest.mark.parametrize("length", [0.0, -1.0, math.nan])
def test_a_diameter_and_a_spacing_are_lengths(length: float) -> None:
    """Catches a diameter of -1, over which the rate of min(2 t, 1) was 2."""
    with pytest.raises(ParameterError, match="diameter"):
        noise_for(lambda t: min(2 * t, 1.0), diameter=length)
    with pytest.raises(ParameterError, match="spacing"):
        noise_on_lattice(lambda t: t * t, length)


FEW = settings(max_examples=40, deadline=None)
EPSILON = st.floats(0.05, 20)
SIZE = st.floats(0.05, 20)
H: st.SearchStrategy[Disutility] = st.one_of(
    st.just(Identity()),
    st.builds(Power, st.floats(0.1, 5)),
    st.builds(Saturating, SIZE),
    st.builds(Log1p, SIZE),
    st.builds(Cap, SIZE),
    st.builds(Threshold, st.floats(0.05, 2)),
    st.builds(Expm1, st.floats(0.01, 0.04)),
)
K = st.integers(1, 40)
NOISE = st.one_of(st.builds(Laplace, EPSILON), st.builds(Gaussian, SIZE), st.builds(Logistic, SIZE))


@FEW
@given(NOISE, H, K)
def test_offsets_are_symmetric_and_hold_0_iff_k_is_odd(
    noise: Laplace, h: Disutility, k: int
) -> None:
    offsets = place(noise, h, k).offsets
    assert offsets.shape == (k,)
    np.testing.assert_array_equal(offsets, -offsets[::-1])
    assert (0.0 in offsets) == (k % 2 == 1)
    assert (np.diff(offsets) > 0).all()


@FEW
@given(NOISE, H, K)
def test_one_more_result_never_costs_more(noise: Laplace, h: Disutility, k: int) -> None:
    fewer, more = place(noise, h, k).cost, place(noise, h, k + 1).cost
    assert 0 <= more <= fewer * (1 + 1e-12)


@FEW
@given(EPSILON, st.floats(1.01, 3), H, K)
def test_less_noise_never_costs_more(epsilon: float, factor: float, h: Disutility, k: int) -> None:
    noisy, quiet = place(Laplace(epsilon), h, k), place(Laplace(epsilon * factor), h, k)
    assert quiet.cost <= noisy.cost * (1 + 1e-12)


@FEW
@given(EPSILON, st.floats(0.1, 5), K)
def test_lengths_scale_as_one_over_epsilon(epsilon: float, exponent: float, k: int) -> None:
    unit, scaled = (place(Laplace(e), Power(exponent), k) for e in (1.0, epsilon))
    np.testing.assert_allclose(scaled.offsets * epsilon, unit.offsets, rtol=1e-12)
    assert scaled.cost == pytest.approx(unit.cost / epsilon**exponent, rel=1e-11)


def _cost_by_quadrature(placement: Placement, epsilon: float, h: Disutility) -> float:
    """E h(min |X - a_i|) on the positive half-line, cell by cell; no code of the rules."""
    positive = placement.offsets[placement.offsets >= 0]
    middles = (positive[1:] + positive[:-1]) / 2
    far = positive[-1] + 60 / epsilon
    edges = np.unique(np.concatenate([[0.0], positive, middles, [far]]))
    # Dyadic toward both ends of each piece, where h may be steep.
    grades = np.concatenate([[0.0], 2.0 ** np.arange(-50, -1)])
    grades = np.concatenate([grades, [0.5], 1 - grades[::-1]])
    fine = np.unique((edges[:-1, None] + np.diff(edges)[:, None] * grades).ravel())
    nodes, weights = legendre(20)
    x = (fine[:-1, None] + np.diff(fine)[:, None] * nodes).ravel()
    mass = (np.diff(fine)[:, None] * weights).ravel() * epsilon * np.exp(-epsilon * x)
    distance = np.abs(x[:, None] - placement.offsets).min(axis=1)
    return float(mass @ h(distance))


@FEW
@given(
    st.floats(0.2, 5),
    st.one_of(
        st.just(Identity()), st.builds(Power, st.floats(0.2, 5)), st.builds(Log1p, SIZE),
        st.builds(Saturating, SIZE), st.builds(Expm1, st.floats(0.01, 0.1)),
    ),
    st.integers(1, 9),
)  # fmt: skip
def test_the_stated_cost_is_the_cost_of_the_stated_offsets(
    epsilon: float, h: Disutility, k: int
) -> None:
    placement = place(Laplace(epsilon), h, k)
    measured = _cost_by_quadrature(placement, epsilon, h)
    assert placement.cost == pytest.approx(measured, rel=1e-10)


@FEW
@given(H, st.integers(1, 6), st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_no_other_offsets_cost_less(h: Disutility, k: int, moves: list[float]) -> None:
    """Catches a stationary set that is no minimum: any other k-set is tried against it."""
    placement = place(Laplace(1.0), h, k)
    moved = np.sort(placement.offsets + np.array(moves[:k]))
    x = (np.arange(40_000) + 0.5) / 1000 - 20
    mass = np.exp(-np.abs(x)) / 2000
    costs = [mass @ h(np.abs(x[:, None] - a).min(axis=1)) for a in (placement.offsets, moved)]
    assert costs[0] <= costs[1] * (1 + 2e-3)


@FEW
@given(NOISE, H, st.integers(1, 12))
def test_an_exact_placement_says_so(noise: Laplace, h: Disutility, k: int) -> None:
    placement = place(noise, h, k)
    assert placement.certificate.lower_bound == placement.cost
    assert placement.certificate.claim.startswith("exact")
    assert placement.certificate.residual <= 1e-9 * max(1.0, placement.cost)


class Shelves:
    """OPT as an index: the result is the cache in which a position falls."""

    def best(self, position: NDArray[np.float64]) -> int:
        """Shelves are a tenth wide."""
        return int(np.floor(10 * position[0]))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_results_that_are_no_positions_cost_no_more_than_the_placement(k: int) -> None:
    """Theorem 25. A person loses, on cache r, the distance to the nearest position whose best
    result is r. 20,000 draws: the tolerance is five standard errors.
    """
    placement = place(Laplace(1.0), Identity(), k)
    draws = np.random.default_rng(3).laplace(size=(20_000, 1))
    person = np.array([0.37])

    def loss(person: NDArray[np.float64], cache: int) -> float:
        return max(0.0, cache / 10 - float(person[0]), float(person[0]) - (cache + 1) / 10)

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
    # Probes -0.1, 0.1, 1.8 mean items 2, 2, 4; next to -0.1 is item 1, next to 1.8 item 3.
    assert snap(at(-0.1), at(0.0, 0.2, 1.9), LINE, 3) == (1, 2, 4)


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


PROGRAM = """
import sys
sys.modules["scipy"] = None  # any import of scipy now fails
import numpy as np
from askew.placement import *
from askew.placement.hexagonal import place_on_map
for h in (Identity(), Power(0.3), Saturating(2.0), Log1p(1.0), Cap(1.0), Threshold(1.0),
          Expm1(0.1), np.sqrt):
    place(Laplace(1.0), h, 6)
offsets = place(Laplace(1.0, 5), Identity(), 16).offsets
positions = np.zeros((30, 5), np.float32)
snap(np.zeros(5), offsets, positions, 16)
place(Laplace(1.0, 20), Identity(), 16, on_demand=False)
place_on_map(0.277, 20)
assert not any(name.startswith("scipy.") for name in sys.modules)
"""


def test_laplace_noise_grids_codebooks_and_items_work_without_scipy() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], check=True)
