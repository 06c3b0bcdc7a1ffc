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
crow's (Euclidean) distance in kilometers and epsilon = 1.1545 / (q s), no slack, off the lattice
too. Draws about one position add. No plain local epsilon: far points are meant to be told apart.

Proof. The shared uniform rounds (i', j') to the corners of one triangle: the floor, the floor plus
(1, 1), and plus (1, 0) or (0, 1), whichever fraction is larger; its edges are steps of the lattice,
and the odds of the corners are the barycentric coordinates of the point. So P(z | .) is linear on
every triangle and continuous. At two corners, which are one step apart, it takes values whose
ratio is r, 1 or 1 / r = 1 + 1/q. Move a point within a triangle by v, of n(v) steps (n extended to
the plane; its unit ball is the hexagon of the six neighbors). v is a combination a w1 + b w2 of two
neighboring edge directions of the lattice, a, b >= 0, a + b = n(v); along an edge direction the
linear function changes by at most the difference of its values at the two corners of that edge, of
which the larger is at most (1 + 1/q) times the smaller. Of the three values two are equal up to
the factor, and all three lie in [m, (1 + 1/q) m], m the least of them; a linear function that lies
in an interval of length m / q on a triangle changes by at most m / q a step along each of its edges
and, since every direction's two neighboring edge directions are edges of the triangle, by at most
n(v) m / q; the function itself is at least m. So |d log P| <= n(v) / q, and n(v) <= 1.1545 |v| / s:
the hexagon's inradius is s (13/15) / sqrt(1/4 + (13/15)**2) > s / 1.1545.

Source: the K-norm idea of Hardt and Talwar 2010 for the hexagon's norm on a lattice; metric: Andrés
et al. 2013; the exact form is ours. Complexity: a fixed number of coins a draw, whatever is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final

from askew.errors import ParameterError
from askew.geometric import TwoSidedGeometric
from askew.randomness import Coins, RandomBits, RationalOdds

MAX_STEP_EXPONENT: Final = 20
MAX_INVERSE_RATE: Final = 4096
GAUGE: Final = Fraction(11545, 10000)  # steps a crow's distance of s takes, at most
RISE: Final = Fraction(13, 15)  # of a row of the lattice over the one below it, in units of s
NEIGHBORS: Final = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))
_LEAST_INVERSE_RATE = 1024  # finer lattices buy nothing

Plain = tuple[Fraction, Fraction]


def steps(i: int, j: int) -> int:
    """n(i, j): how many steps (i, j) is from (0, 0)."""
    return max(abs(i), abs(j), abs(i - j))


@dataclass(frozen=True)
class HexagonalLattice:
    """A triangular lattice and its noise: all that a map signal's guarantee depends on. Public.

    step_exponent in 0..20 (s = 2**-step_exponent kilometers), inverse_rate q in 1..4096.
    Raises ParameterError outside these ranges.
    """

    step_exponent: int
    inverse_rate: int

    def __post_init__(self) -> None:
        if not 0 <= self.step_exponent <= MAX_STEP_EXPONENT:
            limit = f"an integer from 0 to {MAX_STEP_EXPONENT}"
            raise ParameterError("step_exponent", self.step_exponent, limit)
        if not 1 <= self.inverse_rate <= MAX_INVERSE_RATE:
            limit = f"an integer from 1 to {MAX_INVERSE_RATE}"
            raise ParameterError("inverse_rate", self.inverse_rate, limit)

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> HexagonalLattice:
        """The lattice whose epsilon per crow's kilometer is at most `epsilon`, by under 0.1 %.

        Raises ParameterError outside [1/1024, 1024].
        """
        if not Fraction(1, 1024) <= epsilon <= 1024:
            raise ParameterError("epsilon", epsilon, "between 1/1024 and 1024 per kilometer")
        exponent = next(
            e
            for e in range(1, MAX_STEP_EXPONENT + 1)
            if GAUGE * (1 << e) / epsilon >= _LEAST_INVERSE_RATE
        )
        return cls(exponent, ceil(GAUGE * (1 << exponent) / epsilon))

    @property
    def step(self) -> Fraction:
        """s, in kilometers."""
        return Fraction(1, 1 << self.step_exponent)

    @property
    def epsilon(self) -> Fraction:
        """Exact epsilon per crow's kilometer."""
        return GAUGE / (self.inverse_rate * self.step)

    @property
    def grain(self) -> int:
        """The power of two of steps nearest 1 / (2 epsilon): what outputs are rounded to."""
        target = self.inverse_rate / (2 * GAUGE)  # 1 / (2 epsilon s)
        grain = 1
        while target - grain > 2 * grain - target:
            grain *= 2
        return grain

    def coordinates(self, point: Plain) -> Plain:
        """The lattice coordinates (i', j') of a point (x, y) in kilometers, exact."""
        x, y = point
        j = y / (RISE * self.step)
        return x / self.step + j / 2, j

    def point(self, i: int, j: int) -> Plain:
        """Where the lattice point (i, j) lies, in kilometers, exact."""
        return self.step * (i - Fraction(j, 2)), RISE * self.step * j

    def perturb(self, point: Plain, bits: RandomBits) -> tuple[int, int]:
        """A noisy lattice point of a point (x, y), both coordinates rounded to the grain."""
        near, move = self._round(point, bits), self._draw(bits)
        i, j = near[0] + move[0], near[1] + move[1]
        return _to_grain(i, self.grain), _to_grain(j, self.grain)

    def _round(self, point: Plain, bits: RandomBits) -> tuple[int, int]:
        """Both coordinates up or down by one shared uniform, so right on average.

        Two coins stand for it: the larger fraction's, and the smaller's given the larger's.
        """
        i, j = self.coordinates(point)
        below_i, below_j = i.numerator // i.denominator, j.numerator // j.denominator
        fraction_i, fraction_j = i - below_i, j - below_j
        high, low = max(fraction_i, fraction_j), min(fraction_i, fraction_j)
        odds = RationalOdds(high), RationalOdds(low / high if low < high else Fraction(0))
        larger, both = bits.throw(Coins(odds))[0].tolist()
        up_i = larger and (both or fraction_i == high)
        up_j = larger and (both or fraction_j == high)
        return below_i + up_i, below_j + up_j

    def _draw(self, bits: RandomBits) -> tuple[int, int]:
        """A draw of the law, in lattice coordinates; all coins are always thrown."""
        stays, opposite, first, second = bits.throw(self._sector)[0].tolist()
        side = 3 * opposite + (0 if first else 1 if second else 2)
        along, across = self._noise.one_sided(2, bits).tolist()
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
    """The nearest multiple of the grain, ties upward: post-processing."""
    return (coordinate + grain // 2) // grain * grain
