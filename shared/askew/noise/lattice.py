"""The Laplace noise of a signal: discrete, exact, from integers, in constant work.

`TwoSidedGeometric` is the law

    P(n) = (1 - r) / (1 + r) * r**|n|   for integers n,    r = q / (q + 1),    q = inverse_rate > 0

the difference of two independent geometric draws G, P(G = n) = (1 - r) r**n. r**n factors
over the binary digits of n, so the digits of G are independent and digit i is one with probability
r**(2**i) / (1 + r**(2**i)), a rational. Digits 0..levels-1 are thrown together with a last coin of
probability r**(2**levels) <= 2**-128, which says whether G lies beyond them. If it does, 2**levels
is added and that coin is thrown again, since geometric laws have no memory.

Complexity: 2 * (levels + 1) coins a draw, whatever the value drawn.

`LatticeLaplace` rounds a coordinate u at random onto the lattice step * Z and moves it by such a
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
from functools import cached_property, partial
from math import ceil, log, log1p, log2
from operator import mul

from askew.dp.privacy import SignalCharge, exact_rational, positive_rational
from askew.errors import ParameterError
from askew.noise.randomness import (
    KERNEL,
    WORD_BITS,
    Coins,
    Parameters,
    RandomBits,
    RationalOdds,
    check_bits,
)

MAX_STEP_EXPONENT = 20
MAX_INVERSE_RATE = 4096
# Finer lattices buy nothing: 1 / (2 q) of extra noise is already below 0.05 %.
_LEAST_INVERSE_RATE = 1024
_GUARD_BITS = 64


def check_lattice(step_exponent: int, inverse_rate: int) -> None:
    """Raise ParameterError unless these are ints of a lattice: step_exponent from 0 to 20, its step
    being 2**-step_exponent, and inverse_rate, the q of its noise, from 1 to 4096.
    """
    if type(step_exponent) is not int or not 0 <= step_exponent <= MAX_STEP_EXPONENT:
        limit = f"an integer from 0 to {MAX_STEP_EXPONENT}"
        raise ParameterError("step_exponent", step_exponent, limit)
    if type(inverse_rate) is not int or not 1 <= inverse_rate <= MAX_INVERSE_RATE:
        limit = f"an integer from 1 to {MAX_INVERSE_RATE}"
        raise ParameterError("inverse_rate", inverse_rate, limit)


def lattice_for(reach: Fraction) -> tuple[int, int]:
    """Return the least step exponent from 1 to 20 with q = ceil(2**exponent reach) at least 1024,
    and that q: (10, 1024) for 1. The reach, in units of distance, is at least 2**-10.
    """
    exponents = range(1, MAX_STEP_EXPONENT + 1)
    exponent = next(e for e in exponents if (1 << e) * reach >= _LEAST_INVERSE_RATE)
    return exponent, ceil((1 << exponent) * reach)


def digit(inverse_rate: int | Fraction, level: int, precision: int) -> tuple[int, int]:
    """Return integers (below, above) of 2**precision times the odds that binary digit `level` of a
    geometric draw is one: x / (1 + x) with x = r**(2**level), r = q / (q + 1), q the inverse rate.
    """
    scale = precision + _GUARD_BITS
    low, high = _power_of_ratio(inverse_rate, level, scale)
    one = 1 << scale
    return (low << precision) // (one + low), -(-(high << precision) // (one + high))


def beyond(inverse_rate: int | Fraction, levels: int, precision: int) -> tuple[int, int]:
    """Return integers (below, above) of 2**precision times the odds that a geometric draw is at
    least 2**levels: r**(2**levels), r = q / (q + 1), q the inverse rate.
    """
    low, high = _power_of_ratio(inverse_rate, levels, precision + _GUARD_BITS)
    return low >> _GUARD_BITS, -(-high >> _GUARD_BITS)


@dataclass(frozen=True)
class TwoSidedGeometric(Parameters):
    """The law P(n) = (1 - r) / (1 + r) * r**|n| on the integers, r = inverse_rate / (1 + same).

    `levels` is how many binary digits are thrown at once; it changes the work, never the law.
    Raises ParameterError unless inverse_rate is an int or a Fraction from 2**-64 to 2**64, and
    levels an int of at least 1.
    """

    inverse_rate: int | Fraction
    levels: int

    def __post_init__(self) -> None:
        _check_inverse_rate(self.inverse_rate)
        if type(self.levels) is not int or self.levels < 1:
            raise ParameterError("levels", self.levels, "an integer of at least 1")

    @classmethod
    def with_constant_work(cls, inverse_rate: int | Fraction) -> TwoSidedGeometric:
        """Return the law of this rate, with enough digits, 17 for 1024, that going beyond these has
        a probability of at most 2**-128. Raises ParameterError outside 2**-64 to 2**64.
        """
        _check_inverse_rate(inverse_rate)
        draws = WORD_BITS * log(2) / log1p(1 / inverse_rate)
        return cls(inverse_rate, ceil(log2(draws)))

    @cached_property
    def _coins(self) -> Coins:
        digits = [partial(digit, self.inverse_rate, level) for level in range(self.levels)]
        return Coins([*digits, partial(beyond, self.inverse_rate, self.levels)])

    @cached_property
    def _beyond(self) -> Coins:
        return Coins([partial(beyond, self.inverse_rate, self.levels)])

    def draw(self, count: int, bits: RandomBits = KERNEL) -> list[int]:
        """Draw `count` independent integers of this law, of either sign."""
        one_sided = self.one_sided(2 * count, bits)
        return [up - down for up, down in zip(one_sided[::2], one_sided[1::2], strict=True)]

    def one_sided(self, count: int, bits: RandomBits = KERNEL) -> list[int]:
        """Draw `count` independent integers of the geometric law G, at least 0."""
        check_bits(bits)
        faces = bits.throw(self._coins, count)  # each levels + 1
        worth = [1 << level for level in range(self.levels + 1)]
        values = [sum(map(mul, row, worth)) for row in faces]
        for place, row in enumerate(faces):
            while row[-1] and bits.throw(self._beyond)[0][0]:
                values[place] += 1 << self.levels
        return values


def _check_inverse_rate(value: object) -> None:
    if not 1 <= positive_rational("inverse_rate", value) * 2**64 <= 2**128:
        raise ParameterError("inverse_rate", value, "from 2**-64 to 2**64")


def _power_of_ratio(inverse_rate: int | Fraction, level: int, scale: int) -> tuple[int, int]:
    # Integers low <= r**(2**level) * 2**scale <= high, by repeated squaring.
    numerator, denominator = inverse_rate.as_integer_ratio()
    low = (numerator << scale) // (numerator + denominator)
    high = -(-(numerator << scale) // (numerator + denominator))
    for _ in range(level):
        low = low * low >> scale
        high = -(-high * high >> scale)
    return low, high


COORDINATE_LIMIT = 2**31 - 1  # the wire carries 32-bit signed integers


@dataclass(frozen=True)
class LatticeLaplace(Parameters):
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
        """Return the lattice whose epsilon per unit distance is at most `epsilon`, by under 0.1 %:
        step_exponent 10 and inverse_rate 1280 for 4/5.

        Powers of two are met exactly. step_exponent is never 0, which would take no bytes on the
        wire. Raises ParameterError outside [1/1024, 1024], and for a float.
        """
        exact = exact_rational("epsilon", epsilon)
        if not Fraction(1, 1024) <= exact <= 1024:
            raise ParameterError("epsilon", exact, "between 1/1024 and 1024")
        return cls(*lattice_for(1 / exact))

    @property
    def epsilon(self) -> Fraction:
        """Return the exact epsilon per unit distance: 2**step_exponent / inverse_rate."""
        return Fraction(1 << self.step_exponent, self.inverse_rate)

    @property
    def step(self) -> float:
        """Return the distance between neighboring lattice points: 2**-step_exponent, exact."""
        return 2.0**-self.step_exponent

    @cached_property
    def noise(self) -> TwoSidedGeometric:
        """Return the law of the noise, in lattice steps."""
        return TwoSidedGeometric.with_constant_work(self.inverse_rate)

    @property
    def charge(self) -> SignalCharge:
        """Return what one fresh signal of a taste costs, where one rating moves a point by at most
        1: `epsilon` per rating, whatever else a server says of its space, and none per kilometer.
        """
        return SignalCharge(self.epsilon)

    def perturb(
        self, point: Iterable[float | Fraction], bits: RandomBits = KERNEL
    ) -> tuple[int, ...]:
        """Draw the noisy lattice coordinates of a point (d,), as integers; the only thing to
        send.

        The point is inside its space, which `Profile` has checked. Raises ParameterError, which
        repeats no coordinate, for one that is not finite.
        """
        check_bits(bits)
        nearby = self._round(point, bits)
        noise = self.noise.draw(len(nearby), bits)
        return tuple([clamped(near + move) for near, move in zip(nearby, noise, strict=True)])

    def _round(self, point: Iterable[float | Fraction], bits: RandomBits) -> list[int]:
        # Up with the probability of the fraction, so right on average.
        below, odds = [], []
        for coordinate in point:
            try:
                if isinstance(coordinate, bool):
                    raise ValueError
                ratio = coordinate.as_integer_ratio()  # exact: floats are rationals
            except (AttributeError, ValueError, OverflowError):  # no number, NaN, an infinity
                raise ParameterError("point", type(coordinate), "finite numbers") from None
            numerator, denominator = ratio
            whole, rest = divmod(numerator << self.step_exponent, denominator)
            below.append(whole)
            odds.append(RationalOdds(Fraction(rest, denominator)))
        up = bits.throw(Coins(odds))[0]
        return [under + heads for under, heads in zip(below, up, strict=True)]


def clamped(coordinate: int) -> int:
    """Return the nearest integer from -(2**31 - 1) to 2**31 - 1: post-processing."""
    return max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, coordinate))
