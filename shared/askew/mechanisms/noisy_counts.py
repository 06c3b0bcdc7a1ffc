"""Numbers beside names: exact discrete noise on the counts of k items that were selected.

`NoisyCounts` adds an independent draw to each of at most k counts. Of two laws it takes the one
that errs less, all k counts looked at together:

    geometric    P(n) proportional to r**|n|,  -ln r <= epsilon / s            delta not spent
    gaussian     P(n) proportional to exp(-n**2 / (2 v)),  v = ceil(s / (2 rho))
    s = min(k, m)  (ADD_OR_REMOVE_ONE),    min(k, 2 m)  (REPLACE_ONE)
    m = max_items_per_unit, or k;   rho = the largest zCDP that is (epsilon, delta)-DP

Guarantee: epsilon-DP by the geometric law, rho-zCDP and so (epsilon, delta)-DP by the Gaussian one,
for items that are fixed, or selected by a mechanism whose loss is added. No slack but the rounding
of r and v, which is toward privacy. Privacy unit: one person's whole history.

Proof. Fix the k items. A unit that comes or goes changes each count by at most 1, and at most
min(k, m) of them. A unit in another's place is one that goes and one that comes: a count that both
change stays, so each moves by at most 1, and at most min(k, 2 m) of them move. So the l1 and the
squared l2 distance of the k counts are both at most s. Geometric noise costs -ln r per unit of the
l1 distance, Gaussian noise the squared l2 distance over 2 v, and independent draws add. This holds
for every fixed set of items, an item that a data set lacks counting 0, so by adaptive composition
also for a set that was selected: the losses add (`askew.dp.composition.basic`).

Source: Ghosh, Roughgarden, Sundararajan 2009 (geometric); Canonne, Kamath, Steinke 2020 (discrete
Gaussian, conversion, and the tail: P(n >= t) is at most that of the normal law at t - 1).
Complexity: one draw for each count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, erfc, exp, expm1, log1p, sqrt

import numpy as np

from askew.dp.composition import rho_for
from askew.dp.intervals import log_ratio
from askew.dp.privacy import (
    ApproximateDP,
    NeighboringRelation,
    PureDP,
    check_neighbors,
    exact_rational,
)
from askew.errors import ParameterError
from askew.mechanisms.shortfall import CHANCE
from askew.mechanisms.tally import (
    Counts,
    check_positive,
    check_positive_int,
    check_probability,
    integers,
    one_way,
)
from askew.noise.gaussian import DiscreteGaussian
from askew.noise.lattice import TwoSidedGeometric
from askew.noise.randomness import KERNEL, Parameters, RandomBits

_PARTS = 2**16  # q of the geometric law is a multiple of one of these
_WIDEST = 2**32  # standard deviations or so: wider noise says nothing of any count
_TOO_WIDE = "larger: the noise would hide any count"
_PRECISION = 128
_SUMMED = 2**20  # up to this variance the Gaussian tail is a sum, above it the normal law's
_ROOM = 1 + 1e-9  # floats are rounded up by this


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(Parameters):
    """Noise for at most k counts, for all of them together epsilon- or (epsilon, delta)-DP. Public.

    max_items_per_unit: how many counts one unit changes at most; None: all. delta: what may be
    spent, 0 for the geometric law alone. Raises ParameterError out of range, and where the noise
    would be wider than any count. Formulas, guarantee and proof: above.
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation
    max_items_per_unit: int | None = None
    delta: Fraction | int = 0

    def __post_init__(self) -> None:
        check_positive_int("k", self.k)
        check_positive("epsilon", self.epsilon)
        check_neighbors(self.neighbors)
        if self.max_items_per_unit is not None:
            check_positive_int("max_items_per_unit", self.max_items_per_unit)
        if exact_rational("delta", self.delta):
            check_probability("delta", self.delta)
        _ = self.noise  # so that noise which is too wide is refused before any data

    @property
    def sensitivity(self) -> int:
        """Return s, how far the k counts move between neighbors, in l1 and in squared l2 distance:
        min(k, max_items_per_unit), or min(k, 2 max_items_per_unit) under REPLACE_ONE; k without a
        bound.
        """
        units = 1 if one_way(self.neighbors) else 2
        most = self.k if self.max_items_per_unit is None else units * self.max_items_per_unit
        return min(self.k, most)

    @cached_property
    def noise(self) -> TwoSidedGeometric | DiscreteGaussian:
        """Return the law of each draw: TwoSidedGeometric, or with a delta DiscreteGaussian where
        its `error_bound` of all k counts is smaller.
        """
        geometric = _geometric(Fraction(self.epsilon) / self.sensitivity)
        if not self.delta:
            return geometric
        gaussian = _gaussian(self.sensitivity, Fraction(self.epsilon), Fraction(self.delta))
        bounds = [_bound(law, float(1 - CHANCE), self.k) for law in (geometric, gaussian)]
        return geometric if bounds[0] <= bounds[1] else gaussian

    def privacy_loss(self) -> PureDP | ApproximateDP:
        """Return ApproximateDP of epsilon and all of delta where `noise` is Gaussian, PureDP of
        epsilon where it is geometric.
        """
        if isinstance(self.noise, DiscreteGaussian):
            return ApproximateDP(Fraction(self.epsilon), Fraction(self.delta), self.neighbors)
        return PureDP(Fraction(self.epsilon), self.neighbors)

    def error_bound(self, chance: Fraction = CHANCE, *, of: int = 1) -> int:
        """Return the least M such that, with at least this chance, 95 % by default, `of` noisy
        counts are all within M of the true ones.

        `of=k` bounds all at once. Reads no count. Raises ParameterError unless chance is a Fraction
        strictly between 0 and 1 and `of` an int from 1 to 2**32 - 1.
        """
        check_probability("chance", chance)
        check_positive_int("of", of)
        return _bound(self.noise, float(1 - chance), of)

    def perturb(self, counts: Counts, *, bits: RandomBits = KERNEL) -> tuple[int, ...]:
        """Return noisy copies of at most k counts, as ints, in their order; negative ones are left
        so, since they are right on average. Raises ParameterError, which repeats no count, for more
        than k, and where `integers` does.
        """
        exact = integers(counts, 0).tolist()
        if len(exact) > self.k:
            raise ParameterError("counts", f"{len(exact)} counts", f"at most k, {self.k}")
        drawn = self.noise.draw(len(exact), bits)
        return tuple(count + int(move) for count, move in zip(exact, drawn, strict=True))


def _geometric(rate: Fraction) -> TwoSidedGeometric:
    # r = q / (q + 1) for about the least q, in 2**-16, with -ln r <= rate.
    if rate * _WIDEST < 1:
        raise ParameterError("epsilon", rate, _TOO_WIDE)
    parts = max(1, int(_PARTS / expm1(min(float(rate), 64.0))))
    while log_ratio(parts + _PARTS, parts, _PRECISION)[1] > rate * 2**_PRECISION:
        parts += 1
    return TwoSidedGeometric.with_constant_work(Fraction(parts, _PARTS))


def _gaussian(sensitivity: int, epsilon: Fraction, delta: Fraction) -> DiscreteGaussian:
    variance = ceil(sensitivity / (2 * rho_for(epsilon, delta)))
    if variance > _WIDEST**2:
        raise ParameterError("epsilon", epsilon, _TOO_WIDE)
    return DiscreteGaussian.of_variance(variance)


def _bound(law: TwoSidedGeometric | DiscreteGaussian, miss: float, draws: int) -> int:
    # The least M that some of so many draws pass with probability at most `miss`.
    def passed(most: int) -> float:
        return -expm1(draws * log1p(-min(_beyond(law, most) * _ROOM, 1 - 2**-53)))

    low, high = -1, 1
    while passed(high) > miss:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passed(middle) > miss else (low, middle)
    return high


def _beyond(law: TwoSidedGeometric | DiscreteGaussian, most: int) -> float:
    # P(|n| > most) of the noise n, or a number just above it.
    if isinstance(law, TwoSidedGeometric):
        log_r = -log1p(float(1 / Fraction(law.inverse_rate)))
        return 2 * exp((most + 1) * log_r) / (1 + exp(log_r))
    if law.variance > _SUMMED:
        return erfc(most / sqrt(2 * law.variance))
    weights = np.exp(-(np.arange(most + 1.0) ** 2) / (2 * law.variance))
    rest = np.exp(-((most + np.arange(1.0, 12 * sqrt(law.variance) + 2)) ** 2) / (2 * law.variance))
    inside, outside = 2 * float(weights.sum()) - 1, 2 * float(rest.sum())
    return outside / (inside + outside)
