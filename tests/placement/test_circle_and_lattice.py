"""The circle: the best noise, and offsets held against the law that a device draws from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.papers.ring import laplace_on_ring, place_on_ring
from benchmarks.papers.ring_program import on_ring
from numpy.typing import NDArray

from askew.noise.lattice import LatticeLaplace
from askew.placement import Disutility, Identity, Laplace, Power, place

ROWS = [  # epsilon, optimum, peak, result, Laplace
    (0.1, 0.7648449382476757, math.pi / 2, math.pi / 2, 0.7821841976482563),
    (0.5, 0.6836314527981966, math.pi / 2, math.pi / 2, 0.7134621576271728),
    (1.5, 0.43589922253388014, 0.04578329985552391, 0.4590528672296752, 0.4359278273995178),
]


@pytest.mark.parametrize(("epsilon", "cost", "peak", "result", "laplace"), ROWS)
def test_two_results_are_the_reference(
    epsilon: float, cost: float, peak: float, result: float, laplace: float
) -> None:
    found = place_on_ring(epsilon)
    assert found.cost == pytest.approx(cost, rel=1e-12)
    assert found.noise_peak == pytest.approx(peak, abs=1e-6)
    assert found.offset == pytest.approx(result, abs=1e-6)
    assert laplace_on_ring(epsilon).cost == pytest.approx(laplace, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.375, 1.0, 1.5])
def test_the_linear_program_converges_to_the_exact_family(epsilon: float) -> None:
    errors = [abs(on_ring(epsilon, nodes).cost - place_on_ring(epsilon).cost) for nodes in (24, 72)]
    assert errors[1] < errors[0] / 4
    assert errors[1] < 1.5e-3


Array = NDArray[np.float64]
QUARTER = LatticeLaplace.for_epsilon(Fraction(1, 4))
ALL = [Identity(), Power(2.0), Power(0.5)]


def geometric(lattice: LatticeLaplace, reach: int) -> Array:
    """P(n) of the lattice's noise for n = -reach..reach, in steps: (1 - r) / (1 + r) r**|n|."""
    q = lattice.inverse_rate
    return (q / (q + 1)) ** np.abs(np.arange(-reach, reach + 1)) / (2 * q + 1)


def drawn(lattice: LatticeLaplace, fraction: float) -> tuple[Array, Array]:
    """The device's noise about a point this far between two lattice points: places and odds."""
    reach = 30 * lattice.inverse_rate
    law = geometric(lattice, reach)
    odds: Array = (1 - fraction) * np.append(law, 0.0) + fraction * np.insert(law, 0, 0.0)
    places: Array = (np.arange(-reach, reach + 2, dtype=np.float64) - fraction) * lattice.step
    return places, odds


@pytest.mark.parametrize("h", ALL, ids=str)
@pytest.mark.parametrize("k", [1, 4, 5, 20])
@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_the_closed_form_of_the_line_is_what_a_devices_law_costs(
    h: Disutility, k: int, fraction: float
) -> None:
    """Exact fractions of the lattice's law, on and off the lattice, with odd and with even k."""
    found = place(Laplace(0.25), h, k)
    places, odds = drawn(QUARTER, fraction)
    cost = float(odds @ h(np.abs(places[:, None] - found.offsets).min(axis=1)))
    assert cost == pytest.approx(found.cost, rel=2e-3)
