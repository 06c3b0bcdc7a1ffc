"""Limited domains for people who change few counts: Laplace noise, one epsilon for the whole.

A limited domain whose size is chosen privately.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, exp, log, log1p

import numpy as np

from askew.dp.privacy import ApproximateDP, NeighboringRelation
from askew.errors import ParameterError
from askew.mechanisms.limited_domain import (
    Domain,
    ExponentialClasses,
    LimitedDomain,
    Selection,
    check_limited,
    top_of,
    top_of_rows,
)
from askew.mechanisms.noise import Contest
from askew.mechanisms.parameters import check_positive_int, ln
from askew.mechanisms.shortfall import LAPLACE, Shortfall, one_shot
from askew.mechanisms.tally import Counts, Integers
from askew.noise.exact import Draws
from askew.noise.randomness import RandomBits


@dataclass(frozen=True, kw_only=True)
class LaplaceLimitedDomain:
    """At most k items in rank order by Laplace noise, for units that change few counts.

        noisy score = epsilon * count / Delta + Z,    Z independent, standard Laplace
        stop's score = epsilon * (c + 1) / Delta + tau + Z,    Delta = max_items_per_unit
        tau: the least multiple of 2**-20 with m (1/2 + tau/4) exp(-tau) <= delta / (1 + e^epsilon)

    c, m and the domain (positive counts among the top kbar, ties by id): `LimitedDomain`. The
    whole noisy order is post-processing of noisy counts, so epsilon is the **total**, whatever k.

    Privacy unit: one person's whole history, changing at most Delta counts by at most 1.
    ADD_OR_REMOVE_ONE only. Guarantee: (epsilon, delta)-DP.
    Proof. On D and D' in common, counts and c together change by at most Delta in l1: c rises only
    if one of the changed items leaves the common domain or was never in it. An item outside the
    common domain has a count of at most c + 1 and beats the stop with probability at most
    P(Z - Z' > tau) = (1/2 + tau/4) exp(-tau); there are at most m. Let B be that any does. Then
    P(S) <= e^epsilon (P'(S) + P'(B)) + P(B), and tau is such that (1 + e^epsilon) P(B) <= delta.
    Raises ParameterError. Complexity: O(d) + O(kbar log kbar).
    Source: Durfee, Rogers 2019, Algorithm 4; this threshold is exact for the difference of two
    Laplace draws.
    """

    k: int
    kbar: int
    epsilon: Fraction | int
    delta: Fraction
    neighbors: NeighboringRelation
    max_items_per_unit: int

    def __post_init__(self) -> None:
        check_limited(self.k, self.epsilon, self.delta, self.neighbors, self.max_items_per_unit)
        check_positive_int("kbar", self.kbar)
        check_positive_int("max_items_per_unit", self.max_items_per_unit)

    @property
    def rate(self) -> Fraction:
        """Noise units per unit of count."""
        return Fraction(self.epsilon) / self.max_items_per_unit

    @property
    def shortfall(self) -> Shortfall:
        """That of one noise for each item, among the kbar; a stop ends a list before it misses."""
        return Shortfall(partial(one_shot, law=LAPLACE), self.rate, self.kbar)

    @property
    def threshold(self) -> Fraction:
        """tau, rounded up, with room for the float error of its equation."""
        spread, epsilon = min(self.kbar, self.max_items_per_unit), float(self.epsilon)
        share = ln(self.delta / spread) - epsilon - log1p(exp(-epsilon))
        low, high = 0.0, 10.0 - 2 * share
        for _ in range(100):
            middle = (low + high) / 2
            enough = log(0.5 + middle / 4) - middle <= share
            low, high = (low, middle) if enough else (middle, high)
        return Fraction(ceil(high * (1 + 2.0**-44) * 2**20) + 1, 2**20)

    def privacy_loss(self) -> ApproximateDP:
        """(epsilon, delta) for the whole output."""
        return ApproximateDP(Fraction(self.epsilon), self.delta, self.neighbors)

    def select(self, counts: Counts, *, bits: RandomBits) -> Selection:
        """The selected item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, cutoff = top_of(counts, self.kbar)
        return self.draw(items, values, cutoff, Draws(bits))

    def select_from_top(self, items: Counts, counts: Counts, *, bits: RandomBits) -> Selection:
        """As `LimitedDomain.select_from_top`."""
        ids, values, cutoff = top_of_rows(items, counts, self.kbar)
        return self.draw(ids, values, cutoff, Draws(bits))

    def draw(self, items: Integers, values: Integers, cutoff: int, draws: Draws) -> Selection:
        """As `select`, from the top kbar items in order, (n,) each, and the next count."""
        kept = values[values >= max(cutoff, 1)].tolist()
        scores = [self.rate * (value - cutoff - 1) for value in kept] + [self.threshold]
        contest = Contest("laplace", draws, lambda key: (scores[key], 1), winners=self.k + 1)
        floats = np.array([float(score) for score in scores])
        contest.enter(np.arange(len(scores)), floats, np.zeros(len(scores)))
        chosen: list[int] = []
        for noisy in contest.ranked()[: self.k + 1]:
            if noisy.key == len(kept):
                return Selection(chosen, stopped=len(chosen) < self.k)
            chosen.append(int(items[noisy.key]))
        return Selection(chosen[: self.k], stopped=False)


@dataclass(frozen=True, kw_only=True)
class OptimalThreshold:
    """`LimitedDomain` with kbar chosen privately from k..dbar-1, for one round more.

        P(kbar = i - 1) ~ exp(epsilon * q_i),    i = k + 1..dbar
        q_i = -(count at rank i) - ln(m_i / delta) / epsilon
        m_i = min(i - 1, max_items_per_unit)

    Privacy unit, neighbors, domains and shapes: `LimitedDomain`. epsilon is per round.
    Guarantee: ((k + 1) * epsilon, delta)-DP: counts at a rank move one way by at most 1, so the
    choice is epsilon-DP and bounded-range.
    The paper's Algorithm 6 takes the argmin of v + Gumbel noise, which is not the exponential
    mechanism and leaks without bound; and it is off by one between its text (kbar + 1) and its loop
    (kbar = i). Source: Durfee, Rogers 2019, corrected.
    """

    k: int
    dbar: int
    epsilon: Fraction | int
    delta: Fraction
    neighbors: NeighboringRelation
    max_items_per_unit: int | None = None
    domain: Domain = "positive"

    def __post_init__(self) -> None:
        check_limited(self.k, self.epsilon, self.delta, self.neighbors, self.max_items_per_unit)
        check_positive_int("dbar", self.dbar)
        if self.dbar <= self.k:
            raise ParameterError("dbar", self.dbar, "above k")

    def privacy_loss(self) -> ApproximateDP:
        """((k + 1) * epsilon, delta)."""
        return ApproximateDP(Fraction(self.epsilon) * (self.k + 1), self.delta, self.neighbors)

    def mechanism(self, kbar: int) -> LimitedDomain:
        """The mechanism that runs once kbar is chosen."""
        shared = {name: value for name, value in vars(self).items() if name != "dbar"}
        return LimitedDomain(kbar=kbar, **shared)

    def classes(self, ranked: Integers) -> ExponentialClasses:
        """Class j is kbar = k + j, from the top dbar counts in order, (dbar,)."""
        kbars = range(self.k, self.dbar)
        sizes = {kbar - self.k: self.delta / self.mechanism(kbar).spread for kbar in kbars}
        return ExponentialClasses(-ranked[self.k :], sizes, Fraction(self.epsilon))

    def select(self, counts: Counts, *, bits: RandomBits) -> Selection:
        """The selected item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, _ = top_of(counts, self.dbar)
        return self.draw(items, values, Draws(bits))

    def select_from_top(self, items: Counts, counts: Counts, *, bits: RandomBits) -> Selection:
        """As `LimitedDomain.select_from_top`, from the top dbar items of an engine."""
        ids, values, _ = top_of_rows(items, counts, self.dbar)
        return self.draw(ids, values, Draws(bits))

    def draw(self, items: Integers, values: Integers, draws: Draws) -> Selection:
        """As `select`, from the top dbar items in order, (n,) each."""
        ranked = np.append(values, np.zeros(self.dbar - len(values), dtype=np.int64))
        kbar = self.k + draws.choose(self.classes(ranked))
        return self.mechanism(kbar).draw(items[:kbar], values[:kbar], int(ranked[kbar]), draws)
