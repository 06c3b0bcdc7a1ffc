"""A limited domain whose size is chosen privately."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askew.errors import ParameterError
from askew.exact import Draws
from askew.mechanisms.exponential_classes import ExponentialClasses
from askew.mechanisms.limited_domain import (
    Domain,
    LimitedDomain,
    Selection,
    check_limited,
    top_of,
    top_of_rows,
)
from askew.mechanisms.parameters import check_positive_int
from askew.mechanisms.tally import Counts, Integers
from askew.privacy import ApproximateDP, NeighboringRelation
from askew.randomness import RandomBits


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
