"""The noise on the wire: exact, integer, constant work.

A coordinate u is rounded at random onto the lattice step * Z and moved by a two-sided geometric
draw; what leaves the device is an integer.

    step = 2**-step_exponent,    epsilon = 1 / (inverse_rate * step) = 2**step_exponent / q
    J = floor(u / step) + Bernoulli(frac(u / step))
    Z = J + G1 - G2,             P(G = n) = (1 - r) r**n,    r = q / (q + 1)

Guarantee: Z is exactly epsilon-geographic differentially private in |u - v|, and a vector with
independent noise on each coordinate in the l1 metric; no slack, off the lattice too.

Proof. Write p_j(z) = P(Z = z | J = j), which is c r**|z - j|. For u between the lattice points j
and j + 1, at t = u / step - j, the law of Z is the mixture p_u(z) = (1 - t) p_j(z) + t p_{j+1}(z):
linear in u. p_{j+1}(z) / p_j(z) is r or 1 / r. So

    |d log p_u(z) / du| = |p_{j+1}(z) - p_j(z)| / (step * p_u(z))
                       <= (1 / r - 1) / step = 1 / (q step) = epsilon,

because the denominator is least at the end where it equals the smaller of the two. p_u(z) is
continuous in u, so integrating gives p_u(z) <= exp(epsilon |u - v|) p_v(z). Independent coordinates
multiply, which adds their distances: the l1 metric. Clamping Z to the width of the wire is
post-processing. (The rate epsilon itself, r = exp(-epsilon step), would break this off the lattice:
there (1 / r - 1) / step > epsilon.)

Source: Ghosh, Roughgarden, Sundararajan 2009 (geometric mechanism); Andrés et al. 2013 (metric);
the mixture argument is ours. Complexity: a fixed number of coins a coordinate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from askew.dp.privacy import Reach, SignalLoss, exact_rational
from askew.errors import ParameterError
from askew.noise.geometric import TwoSidedGeometric, check_lattice, lattice_for
from askew.noise.randomness import Coins, RandomBits, RationalOdds

COORDINATE_LIMIT = 2**31 - 1  # the wire carries 32-bit signed integers


@dataclass(frozen=True)
class LatticeLaplace:
    """A lattice and its noise: all that a signal's guarantee depends on. Public.

    step_exponent in 0..20 (step = 2**-step_exponent, in units of distance), inverse_rate q >= 1.
    Raises ParameterError outside these ranges.
    """

    step_exponent: int
    inverse_rate: int

    def __post_init__(self) -> None:
        check_lattice(self.step_exponent, self.inverse_rate)

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> LatticeLaplace:
        """The lattice whose epsilon per unit distance is at most `epsilon`, by under 0.1 %.

        Powers of two are met exactly. step_exponent is never 0, which would take no bytes on the
        wire. Raises ParameterError outside [1/1024, 1024], and for a float.
        """
        exact = exact_rational("epsilon", epsilon)
        if not Fraction(1, 1024) <= exact <= 1024:
            raise ParameterError("epsilon", exact, "between 1/1024 and 1024")
        return cls(*lattice_for(1 / exact))

    @property
    def epsilon(self) -> Fraction:
        """Exact epsilon per unit distance."""
        return Fraction(1 << self.step_exponent, self.inverse_rate)

    @property
    def step(self) -> float:
        """Distance between neighboring lattice points; a power of two, so exact."""
        return 2.0**-self.step_exponent

    @cached_property
    def noise(self) -> TwoSidedGeometric:
        """The law of the noise, in lattice steps."""
        return TwoSidedGeometric.with_constant_work(self.inverse_rate)

    def privacy_loss(self, reach: Reach) -> SignalLoss:
        """What one fresh signal costs in a space of this reach."""
        return SignalLoss.metric(self.epsilon, reach)

    def perturb(self, point: Iterable[float | Fraction], bits: RandomBits) -> tuple[int, ...]:
        """The noisy lattice coordinates of a point (d,), as integers; the only thing to send.

        The point is inside its space, which `Profile` has checked. Raises ParameterError, which
        repeats no coordinate, for one that is not finite.
        """
        nearby = self._round(point, bits)
        noise = self.noise.draw(len(nearby), bits)
        return tuple([clamped(near + move) for near, move in zip(nearby, noise, strict=True)])

    def _round(self, point: Iterable[float | Fraction], bits: RandomBits) -> list[int]:
        """Randomized rounding: up with the probability of the fraction, so right on average."""
        below, odds = [], []
        for coordinate in point:
            try:
                numerator, denominator = (
                    coordinate.as_integer_ratio()
                )  # exact: floats are rationals
            except (AttributeError, ValueError, OverflowError):  # no number, NaN, an infinity
                raise ParameterError("point", type(coordinate), "finite numbers") from None
            whole, rest = divmod(numerator << self.step_exponent, denominator)
            below.append(whole)
            odds.append(RationalOdds(Fraction(rest, denominator)))
        up = bits.throw(Coins(odds))[0]
        return [under + heads for under, heads in zip(below, up, strict=True)]


def clamped(coordinate: int) -> int:
    """The nearest integer that the wire carries: post-processing."""
    return max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, coordinate))
