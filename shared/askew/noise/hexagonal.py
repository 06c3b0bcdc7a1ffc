"""Noise on a map, exact: a triangular lattice, and a law that falls by the step of a hexagon.

Lattice, in kilometers of a plane, with s = 2**-step_exponent:

    e1 = (s, 0),   e2 = (-s/2, 13 s / 15),   the point (i, j) lies at i e1 + j e2
    n(i, j) = max(|i|, |j|, |i - j|),        the number of steps from (0, 0) to (i, j)

Law, with q = inverse_rate and r = q / (q + 1):

    P(z) = r**n(z) / (1 + 6 q (q + 1)),
    drawn as zero with odds 1 : 6 q (q + 1), else (1 + G1) u_k + G2 u_(k+1), k a fair die of six,
    u the six neighbors of zero in order, P(G = n) = (1 - r) r**n

A true point (x, y) has the lattice coordinates j' = 15 y / (13 s), i' = x / s + j' / 2. Both are
rounded at random with ONE shared uniform: U < frac(i') moves i up, the same U < frac(j') moves j.

Guarantee: metric (geographic) differential privacy. Privacy unit: one position. For all points x, y
of the plane and every set S of outputs, P(S | x) <= exp(epsilon |x - y|) P(S | y), with |.| the
straight-line (Euclidean) distance in kilometers and epsilon = 1.1545 / (q s), no slack, off the
lattice too. Draws about one position add. No plain local epsilon: far points are meant to be told
apart.

Proof. A point lies in the triangle of its floor, the floor plus (1, 1), and the floor with the
coordinate of the larger fraction moved up. The shared uniform rounds it to these three corners,
with its barycentric coordinates as odds. Two corners are one step apart, so n(z - corner) takes at
most two values, and they are neighbors: g = P(z | .) is continuous, linear on each triangle, and m
or (1 + 1/q) m at its corners, m > 0 the least of them. Extend n to the plane by its unit ball, the
hexagon of the six neighbors: a small move v is a w + b w', with w, w' two neighbors side by side,
a, b >= 0 and a + b = n(v). All six neighbors are edges of each triangle, forth or back, and along
an edge g changes by at most m / q. So |dg| <= n(v) m / q while g >= m: |d log g| <= n(v) / q, and
the straight way from x to y adds up to |log g(x) - log g(y)| <= n(x - y) / q. Last,
n(v) <= 1.1545 |v| / s: the sides of the hexagon are at least 13/15 s / sqrt(1/4 + (13/15)**2) from
its center, and 901/676 < 1.1545**2. What follows the noise, coarsening and degrees, is
post-processing.

Two uniforms instead of one would round to (1, 0) and (0, 1), too, which are two steps apart: a loss
of up to nearly 2 / q a step.

Source: the K-norm idea of Hardt and Talwar 2010 for the hexagon's norm on a lattice; metric: Andrés
et al. 2013; the exact form is ours. Complexity: a fixed number of coins a draw, whatever is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import asinh, dist, hypot
from typing import Final

from askew.dp.privacy import exact_rational
from askew.errors import ParameterError
from askew.noise.lattice import TwoSidedGeometric, check_lattice, lattice_for
from askew.noise.randomness import KERNEL, Coins, Parameters, RandomBits, RationalOdds, check_bits

GAUGE: Final = Fraction(11545, 10000)  # steps a straight-line distance of s takes, at most
RISE: Final = Fraction(13, 15)  # of a row of the lattice over the one below it, in units of s
NEIGHBORS: Final = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))

Plain = tuple[Fraction, Fraction]


def steps(i: int, j: int) -> int:
    """Return max(|i|, |j|, |i - j|): how many steps the lattice point (i, j) is from (0, 0)."""
    return max(abs(i), abs(j), abs(i - j))


@dataclass(frozen=True)
class HexagonalLattice(Parameters):
    """A triangular lattice and its noise: all that a map signal's guarantee depends on. Public.

    step_exponent in 0..20 (s = 2**-step_exponent kilometers), inverse_rate q in 1..4096.
    Raises ParameterError outside these ranges.
    """

    step_exponent: int
    inverse_rate: int

    def __post_init__(self) -> None:
        check_lattice(self.step_exponent, self.inverse_rate)

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> HexagonalLattice:
        """Return the lattice whose epsilon per straight-line kilometer is at most `epsilon`, by
        under 0.1 %: step_exponent 10 and inverse_rate 1183 for 1.

        Raises ParameterError outside [1/1024, 1024], and for a float.
        """
        exact = exact_rational("epsilon", epsilon)
        if not Fraction(1, 1024) <= exact <= 1024:
            raise ParameterError("epsilon", exact, "between 1/1024 and 1024 per kilometer")
        return cls(*lattice_for(GAUGE / exact))

    @property
    def step(self) -> Fraction:
        """Return s, the step of the lattice in kilometers: 2**-step_exponent."""
        return Fraction(1, 1 << self.step_exponent)

    @property
    def epsilon(self) -> Fraction:
        """Return the exact epsilon per straight-line kilometer, 1.1545 / (inverse_rate * step)."""
        return GAUGE / (self.inverse_rate * self.step)

    @property
    def grain(self) -> int:
        """Return the power of two of steps, from 1 on, nearest 1 / (2 epsilon) kilometers: what
        outputs are rounded to. 512 for `for_epsilon` of 1, and of 1/2, whose step is twice as long.
        """
        target = self.inverse_rate / (2 * GAUGE)  # 1 / (2 epsilon s)
        grain = 1
        while target - grain > 2 * grain - target:
            grain *= 2
        return grain

    @property
    def mean_distance(self) -> float:
        """Return the mean straight-line distance of the noise in kilometers: the mean number of
        steps, exact, times the mean distance of the hexagon's sides. Too low by less than a part
        1 / (20 q**2).
        """
        q, rise = self.inverse_rate, float(RISE)
        steps_away = 6 * q * (q + 1) * (2 * q + 1) / (1 + 6 * q * (q + 1))
        flat = _mean_along((0.5, rise), (-0.5, rise))
        slanted = _mean_along((1.0, 0.0), (0.5, rise))
        return steps_away * (flat + 2 * slanted) / 3 * float(self.step)

    def coordinates(self, point: Plain) -> Plain:
        """Return the exact lattice coordinates (i', j') of a point (x, y) in kilometers: j' is y /
        (step * 13/15), i' is x / step + j' / 2.
        """
        x, y = point
        j = y / (RISE * self.step)
        return x / self.step + j / 2, j

    def point(self, i: int, j: int) -> Plain:
        """Return (x, y) of the lattice point (i, j), in kilometers, exact: step * (i - j / 2) and
        step * 13 j / 15.
        """
        return self.step * (i - Fraction(j, 2)), RISE * self.step * j

    def perturb(self, point: Plain, bits: RandomBits = KERNEL) -> tuple[int, int]:
        """Draw a noisy lattice point (i, j) of a point (x, y) in kilometers, both rounded to a
        multiple of the grain.

        Raises ParameterError, which repeats no coordinate, unless both are ints or Fractions.
        """
        if not all(type(coordinate) in {int, Fraction} for coordinate in point):
            kinds = tuple(type(coordinate).__name__ for coordinate in point)
            raise ParameterError("point", kinds, "ints or Fractions, such as Fraction('1.5')")
        check_bits(bits)
        near, move = self._round(point, bits), self._draw(bits)
        i, j = near[0] + move[0], near[1] + move[1]
        return _to_grain(i, self.grain), _to_grain(j, self.grain)

    def _round(self, point: Plain, bits: RandomBits) -> tuple[int, int]:
        # Both coordinates up or down by one shared uniform, so right on average. Two coins stand
        # for it: the larger fraction's, and the smaller's given the larger's.
        i, j = self.coordinates(point)
        below_i, below_j = i.numerator // i.denominator, j.numerator // j.denominator
        fraction_i, fraction_j = i - below_i, j - below_j
        high, low = max(fraction_i, fraction_j), min(fraction_i, fraction_j)
        odds = RationalOdds(high), RationalOdds(low / high if low < high else Fraction(0))
        larger, both = bits.throw(Coins(odds))[0]
        up_i = larger and (both or fraction_i == high)
        up_j = larger and (both or fraction_j == high)
        return below_i + up_i, below_j + up_j

    def _draw(self, bits: RandomBits) -> tuple[int, int]:
        # In lattice coordinates; all coins are always thrown.
        stays, opposite, first, second = bits.throw(self._sector)[0]
        side = 3 * opposite + (0 if first else 1 if second else 2)
        along, across = self._noise.one_sided(2, bits)
        (a, b), (c, d) = NEIGHBORS[side], NEIGHBORS[(side + 1) % 6]
        moved = (1 + along) * a + across * c, (1 + along) * b + across * d
        return (0, 0) if stays else moved

    @cached_property
    def _sector(self) -> Coins:
        q = self.inverse_rate
        third, half = RationalOdds(Fraction(1, 3)), RationalOdds(Fraction(1, 2))
        return Coins([RationalOdds(Fraction(1, 1 + 6 * q * (q + 1))), half, third, half])

    @cached_property
    def _noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric.with_constant_work(self.inverse_rate)


def _to_grain(coordinate: int, grain: int) -> int:
    # The nearest multiple, ties upward: post-processing.
    return (coordinate + grain // 2) // grain * grain


def _mean_along(start: tuple[float, float], end: tuple[float, float]) -> float:
    # Of the distance from (0, 0) of a point on a straight line that does not meet it.
    length = dist(start, end)
    height = abs(start[0] * end[1] - start[1] * end[0]) / length  # of the line over (0, 0)
    near, far = (
        (x * (end[0] - start[0]) + y * (end[1] - start[1])) / length for x, y in (start, end)
    )
    return (_area(far, height) - _area(near, height)) / length


def _area(t: float, height: float) -> float:
    return (t * hypot(t, height) + height**2 * asinh(t / height)) / 2
