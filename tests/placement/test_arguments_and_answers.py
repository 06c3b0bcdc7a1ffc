"""What `place` refuses and why; answers that nothing can change."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from askew.errors import InfiniteCost, ParameterError
from askew.placement import Expm1, Gaussian, Identity, Laplace, LaplaceMixture, OnGrid, Power, place
from askew.placement.noise import Norm
from askew.placement.ring import place_on_ring
from askew.placement.theory import noise_for, noise_on_lattice


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


def test_results_on_a_ring_and_the_values_of_a_grid_cannot_be_changed() -> None:
    grid = OnGrid(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    for array in (place_on_ring(1.0).offsets, grid.points, grid.density):
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
