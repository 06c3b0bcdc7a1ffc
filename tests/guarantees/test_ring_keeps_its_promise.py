"""A ring's noise keeps its promise in the ring's own distance, over the seam too: enumerated."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from guarantees.branches import exponential_from_below, law_of_coins

from askew.errors import OutOfRange
from askew.noise.lattice import LatticeLaplace, clamped
from askew.spaces.axes import Axis, AxisSpace

Law = dict[tuple[int, ...], Fraction]
RING = Axis("a day", "hours", 0.0, 24.0, wraps=True, scale=12.0)  # of size 2: 4 steps of a half
LINE = Axis("a road", "km", 0.0, 24.0, wraps=False, scale=12.0)
HOURS = (0.0, 0.5, 11.0, 23.75, 24.0)
TINY = Fraction(1, 2**13)


@cache
def law_on(axis: Axis, lattice: LatticeLaplace, value: float) -> tuple[Law, Fraction]:
    """The production object's law, coin by coin, and what was cut off."""
    space = AxisSpace((axis,))
    return law_of_coins(lambda bits: space.perturb([value], lattice, bits), TINY)


def infinite_sum(lattice: LatticeLaplace, size: Fraction, u: Fraction, z: int) -> Fraction:
    """W(z | u), all turns of the ring added up: r**d + r**(L - d) over 1 - r**L, times c."""
    turn = size * (1 << lattice.step_exponent)
    r = Fraction(lattice.inverse_rate, lattice.inverse_rate + 1)
    x = u * (1 << lattice.step_exponent)
    below = math.floor(x)
    total = Fraction(0)
    for corner, chance in ((below, 1 - (x - below)), (below + 1, x - below)):
        d = (z - corner) % turn
        total += chance * (r ** int(d) + r ** int(turn - d)) / (1 - r ** int(turn))
    return (1 - r) / (1 + r) * total


def apart(u: float, v: float) -> Fraction:
    """The ring's distance, in units."""
    difference = abs(Fraction(u) - Fraction(v)) / 12
    return min(difference, 2 - difference)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("hour", HOURS)
def test_the_wrapped_law_is_the_infinite_sum(q: int, hour: float) -> None:
    lattice = LatticeLaplace(1, q)
    law, residual = law_on(RING, lattice, hour)
    assert sum(law.values()) + residual == 1
    assert residual < Fraction(1, 10)
    assert set(law) == {(z,) for z in range(4)}
    for (z,), p in law.items():
        exact = infinite_sum(lattice, RING.size, Fraction(hour) / 12, z)
        assert exact - residual <= p <= exact + Fraction(1, 2**150)


@pytest.mark.parametrize("q", [1, 2])
def test_the_lowest_and_the_highest_value_are_one_point(q: int) -> None:
    midnight, again = (law_on(RING, LatticeLaplace(1, q), hour)[0] for hour in (0.0, 24.0))
    for z in midnight:
        assert abs(midnight[z] - again[z]) < Fraction(1, 10)


def broken_pairs(axis: Axis, lattice: LatticeLaplace) -> list[tuple[float, float]]:
    """Pairs of hours whose laws differ by more than the promise, for certain."""
    laws = {hour: law_on(axis, lattice, hour) for hour in HOURS}
    found = []
    for (u, (law_u, _)), (v, (law_v, residual)) in product(laws.items(), repeat=2):
        bound = exponential_from_below(lattice.epsilon * apart(u, v))
        if any(p > bound * (law_v.get(z, Fraction(0)) + residual) for z, p in law_u.items()):
            found.append((u, v))
    return found


@pytest.mark.parametrize("q", [1, 2])
def test_the_promise_holds_in_the_rings_distance_over_the_seam_too(q: int) -> None:
    """Planted bug: wrapped before the noise, so that outputs tell the two sides of midnight."""
    assert broken_pairs(RING, LatticeLaplace(1, q)) == []


@pytest.mark.parametrize("q", [1, 2, 8])
def test_the_formula_keeps_the_promise_with_no_slack_at_all(q: int) -> None:
    lattice = LatticeLaplace(1, q)
    points = [Fraction(n, 16) for n in range(0, 33, 2)]
    for u, v in product(points, repeat=2):
        difference = min(abs(u - v), 2 - abs(u - v))
        bound = exponential_from_below(lattice.epsilon * difference)
        for z in range(4):
            assert infinite_sum(lattice, RING.size, u, z) <= bound * infinite_sum(
                lattice, RING.size, v, z
            )


# Planted bugs. Each must be seen by the same check that the real code passes.


class WrapsBefore(Axis):
    def coordinate(self, value: float | Fraction) -> Fraction:
        return super().coordinate(value) % self.size

    def sent(self, noisy: int, lattice: LatticeLaplace) -> int:
        return clamped(noisy)


class FractionalSteps(Axis):
    """A ring of 4.5 steps that is wrapped after 4."""

    @property
    def size(self) -> Fraction:
        return Fraction(9, 4)

    def __post_init__(self) -> None:
        """Nothing is refused."""

    def steps(self, lattice: LatticeLaplace) -> int:
        return math.floor(self.size * (1 << lattice.step_exponent))


def test_wrapping_before_the_noise_is_caught() -> None:
    axis = WrapsBefore("a day", "hours", 0.0, 24.0, wraps=True, scale=12.0)
    assert (0.5, 23.75) in broken_pairs(axis, LatticeLaplace(1, 2))


def test_a_ring_of_a_fractional_number_of_steps_would_break_the_promise() -> None:
    """27 hours of 12 to a unit are 4.5 steps. What is worth half a step is not hidden."""
    axis = FractionalSteps("a day", "hours", 0.0, 27.0, wraps=True, scale=12.0)
    lattice = LatticeLaplace(1, 2)
    (start, _), (end, residual) = (law_on(axis, lattice, hour) for hour in (0.0, 27.0))
    assert any(p > end[z] + residual for z, p in start.items())  # at distance 0


@pytest.mark.parametrize("lattice", [LatticeLaplace(0, 3), LatticeLaplace(0, 4096)])
def test_so_such_a_ring_is_refused(lattice: LatticeLaplace) -> None:
    """Half a step of the coarsest lattice is left over. Planted bug: it is rounded down."""
    ring = AxisSpace((Axis("a week", "days", 0.0, 7.5, wraps=True, scale=1.0),))
    with pytest.raises(OutOfRange, match="a whole number of lattice steps"):
        law_of_coins(lambda bits: ring.perturb([0.0], lattice, bits), TINY)
    with pytest.raises(OutOfRange, match="a whole number of lattice steps"):
        ring.loss(lattice)
    with pytest.raises(OutOfRange, match="a whole number of lattice steps"):
        ring.check(lattice, [0])


def test_a_line_does_not_wrap() -> None:
    law, _ = law_on(LINE, LatticeLaplace(1, 2), 0.0)
    assert min(law) < (-3,)
    assert max(law) > (3,)


def test_the_axes_of_a_space_have_noise_of_their_own_and_distances_that_add() -> None:
    """A ring and a line: the product of their laws."""
    lattice = LatticeLaplace(1, 1)
    space = AxisSpace((RING, LINE))
    law, residual = law_of_coins(
        lambda bits: space.perturb([23.0, 1.0], lattice, bits), Fraction(1, 2**9)
    )
    r, c = Fraction(1, 2), Fraction(1, 3)
    for (z, w), p in law.items():
        x = Fraction(1, 6)
        on_line = c * ((1 - x) * r ** abs(w) + x * r ** abs(w - 1))
        exact = infinite_sum(lattice, RING.size, Fraction(23, 12), z) * on_line
        assert exact - residual <= p <= exact + Fraction(1, 2**150)
    assert residual < Fraction(1, 2)
