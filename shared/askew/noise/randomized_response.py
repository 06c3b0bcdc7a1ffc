"""Randomized response: one of M buckets on the wire, pure local DP for every pair of people.

    P(b | true bucket b) = odds / (odds + M - 1),    P(other | b) = 1 / (odds + M - 1)

Guarantee: ln(odds)-local differential privacy for every pair of profiles, near or far, with no
slack: a ratio of two probabilities is 1, odds or 1 / odds. It is not metric: near people are not
protected more than far ones. odds is a rational number at most exp(epsilon), and both choices, to
tell the truth and which other bucket to name, are drawn exactly and in full every time, so that
neither their law nor their work depends on the true bucket.

Source: Warner 1965; Kairouz, Oh, Viswanath 2014 (k-ary). Complexity: one coin and one integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.dp.intervals import exp_minus, log_ratio
from askew.dp.privacy import Reach, SignalLoss, exact_rational
from askew.errors import ParameterError
from askew.limits import MAX_BUCKETS
from askew.noise.randomness import Coins, RandomBits, RationalOdds

ODDS_BITS = 32  # odds are multiples of 2**-32
MAX_EPSILON = 20
_LEAST_EPSILON = Fraction(1, 1024)
_PRECISION = 128
_LOSS_BITS = 40  # a loss is rounded up to a multiple of 2**-40


@dataclass(frozen=True)
class RandomizedResponse:
    """The number M of buckets and the odds of the truth against each lie. Public.

    odds: a multiple of 2**-32 above 1, at most exp(20). Raises ParameterError outside the ranges.
    """

    buckets: int
    odds: Fraction

    def __post_init__(self) -> None:
        exact_rational("odds", self.odds)
        if type(self.buckets) is not int or not 2 <= self.buckets <= MAX_BUCKETS:
            raise ParameterError("buckets", self.buckets, f"an integer from 2 to {MAX_BUCKETS}")
        most = _largest_odds(Fraction(MAX_EPSILON))
        if not 1 < self.odds <= most or (self.odds * 2**ODDS_BITS).denominator != 1:
            limit = f"a multiple of 2**-{ODDS_BITS} above 1 and at most e**{MAX_EPSILON}"
            raise ParameterError("odds", self.odds, limit)

    @classmethod
    def for_epsilon(cls, buckets: int, epsilon: Fraction) -> RandomizedResponse:
        """The response whose epsilon is at most `epsilon`, with odds within 2**-30 of exp(epsilon).

        Raises ParameterError outside [1/1024, 20], and for a float.
        """
        exact = exact_rational("epsilon", epsilon)
        if not _LEAST_EPSILON <= exact <= MAX_EPSILON:
            raise ParameterError("epsilon", exact, f"between 1/1024 and {MAX_EPSILON}")
        return cls(buckets, _largest_odds(exact))

    @property
    def epsilon(self) -> Fraction:
        """ln(odds), rounded up to a multiple of 2**-40."""
        _, high = log_ratio(self.odds.numerator, self.odds.denominator, _PRECISION)
        return Fraction(-(-high >> (_PRECISION - _LOSS_BITS)), 1 << _LOSS_BITS)

    def privacy_loss(self, _: Reach) -> SignalLoss:
        """What one fresh signal costs, whatever the space."""
        return SignalLoss.uniform(self.epsilon)

    def perturb(self, bucket: int, bits: RandomBits) -> tuple[int]:
        """The noisy bucket; the only thing to send. 0 <= bucket < M."""
        odds = RationalOdds(self.odds / (self.odds + self.buckets - 1))
        ((truth,),) = bits.throw(Coins([odds]))
        other = bits.below(self.buckets - 1)
        moved = (not truth) * (1 + other)
        return ((bucket + moved) % self.buckets,)


def _largest_odds(epsilon: Fraction) -> Fraction:
    """The largest multiple of 2**-32 that is certainly at most exp(epsilon), epsilon being rounded
    down to what a loss can be.
    """
    rounded = (epsilon.numerator << _LOSS_BITS) // epsilon.denominator
    _, high = exp_minus(rounded << (_PRECISION - _LOSS_BITS), _PRECISION)
    # exp(epsilon) >= 2**_PRECISION / high
    return Fraction((1 << (ODDS_BITS + _PRECISION)) // high, 1 << ODDS_BITS)
