"""Top-k from the top kbar + 1 counts of an unknown domain: what an existing engine returns.

Source: Durfee, Rogers 2019, Algorithms 1 (Gumbel), 4 (Laplace), 5 (strict domain) and 6 (optimal
threshold, corrected: see `OptimalThreshold`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log
from typing import Literal, get_args

import numpy as np

from askew.errors import ParameterError
from askew.exact import Draws
from askew.mechanisms.exponential_classes import ExponentialClasses
from askew.mechanisms.noise import Contest
from askew.mechanisms.parameters import (
    check_k,
    check_neighbors,
    check_positive,
    check_positive_int,
    check_probability,
)
from askew.mechanisms.tally import Counts, tally
from askew.privacy import ADD_OR_REMOVE_ONE, ApproximateDP, NeighboringRelation
from askew.randomness import RandomBits

Domain = Literal["positive", "top", "strict"]
_STOP = -1


class Selection(tuple[int, ...]):
    """Selected item ids, best first, and whether the threshold ended them before k."""

    stopped: bool

    def __new__(cls, items: Sequence[int], stopped: bool) -> Selection:
        """The ids in `items`."""
        made = super().__new__(cls, items)
        made.stopped = stopped
        return made

    @property
    def outcomes(self) -> int:
        """How many symbols were released, the stop among them: what pay-what-you-get charges."""
        return len(self) + self.stopped


@dataclass(frozen=True, kw_only=True)
class LimitedDomain:
    """At most k items in rank order, from the top kbar; stops at a noisy threshold.

        weights of the exponential mechanism, peeled until the stop is drawn or k items are:
        item i: exp(epsilon * count_i)        stop: exp(epsilon * (c + 1)) * m / delta
        c = the (kbar+1)-th highest count, 0 if there is none

    so the threshold is c + 1 + ln(m / delta) / epsilon. Ties are ordered by item id, lower first.
    domain="positive" (default): the items of the top kbar with a positive count, m = min(kbar,
    max_items_per_unit): the answer when an engine returns fewer than kbar + 1 positive items.
    domain="top": zeros may be selected too, same m; the domain of items is then known.
    domain="strict" (Algorithm 5): the items with a count above c only, m = kbar.

    epsilon is **per round**, as in the paper; `privacy_loss` gives the total.
    Privacy unit: one person's whole history, changing at most `max_items_per_unit` counts (all of
    them if None), by at most 1 each. ADD_OR_REMOVE_ONE only: a replacement is two such steps.
    Guarantee: (k * epsilon, delta)-DP, and by bounded range `composed_loss`.

    Proof sketch. Let D and D' be the domains under neighbors. On outputs inside D and D', the
    mechanism is k rounds of the exponential mechanism over the same candidates, whose scores all
    move one way, by at most 1 (c too): epsilon a round. An item of D outside D' was overtaken, so
    its count is at most c + 1, and in each round it is drawn before the stop with probability at
    most delta / m; there are at most m of them. Under domain="top" and "positive" the tie order by
    id bounds their number by max_items_per_unit; under "strict" one unit can push all kbar out.
    Exact audits by enumeration are in the tests, with the variants that break: data-dependent ties,
    a threshold without the + 1, ln(1 / delta), and min(kbar, max_items_per_unit) with "strict".

    select(counts): counts (d,), integers >= 0. Raises ParameterError.
    Complexity: O(d) to find the top kbar + 1, then O(kbar * k).
    """

    k: int
    kbar: int
    epsilon: Fraction | int
    delta: Fraction
    neighbors: NeighboringRelation
    max_items_per_unit: int | None = None
    domain: Domain = "positive"

    def __post_init__(self) -> None:
        _check(self)
        check_positive_int("kbar", self.kbar)
        if self.domain not in get_args(Domain):
            raise ParameterError("domain", self.domain, "one of " + ", ".join(get_args(Domain)))

    @property
    def spread(self) -> int:
        """m: how many items one unit can push out of the domain."""
        limited = self.max_items_per_unit is not None and self.domain != "strict"
        return min(self.kbar, self.max_items_per_unit or self.kbar) if limited else self.kbar

    def privacy_loss(self) -> ApproximateDP:
        """(k * epsilon, delta)."""
        return ApproximateDP(Fraction(self.epsilon) * self.k, self.delta, self.neighbors)

    def composed_loss(self, slack: Fraction) -> ApproximateDP:
        """The least of the bounds for k bounded-range rounds, at delta + slack. See `composed`."""
        total = composed(Fraction(self.epsilon), self.k, slack)
        return ApproximateDP(total, self.delta + slack, self.neighbors)

    def select(self, counts: Counts, *, bits: RandomBits) -> Selection:
        """The selected item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, cutoff = _top(counts, self.kbar)
        return self.draw(items, values, cutoff, Draws(bits))

    def select_from_top(
        self, items: Sequence[int], counts: Sequence[int], *, bits: RandomBits
    ) -> Selection:
        """As `select`, from the top kbar + 1 items (or all, if fewer) of an engine, in any order.

        Their item ids must break ties as the engine did: lower first.
        """
        ranked = sorted(zip((-int(count) for count in counts), items, strict=True))
        kept, rest = ranked[: self.kbar], ranked[self.kbar :]
        ids, values = [item for _, item in kept], [-negative for negative, _ in kept]
        return self.draw(ids, values, -rest[0][0] if rest else 0, Draws(bits))

    def draw(
        self, items: Sequence[int], values: Sequence[int], cutoff: int, draws: Draws
    ) -> Selection:
        """As `select`, from the top kbar items in order and the next count."""
        least = {"top": cutoff, "positive": max(cutoff, 1), "strict": cutoff + 1}[self.domain]
        kept = [value for value in values if value >= least]
        stop = Fraction(self.spread) / self.delta
        sizes: list[Fraction | int] = [*[1] * len(kept), stop]
        classes = ExponentialClasses([*kept, cutoff + 1], sizes, Fraction(self.epsilon))
        chosen: list[int] = []
        while len(chosen) < self.k:
            key = draws.choose(classes)
            if key == len(kept):
                return Selection(chosen, stopped=True)
            chosen.append(int(items[key]))
            classes.remove(key)
        return Selection(chosen, stopped=False)


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
        _check(self)
        check_positive_int("kbar", self.kbar)
        check_positive_int("max_items_per_unit", self.max_items_per_unit)

    @property
    def threshold(self) -> Fraction:
        """tau, rounded up, with room for the float error of its equation."""
        share = (
            float(self.delta) / (1 + exp(self.epsilon)) / min(self.kbar, self.max_items_per_unit)
        )
        low, high = 0.0, 10.0 - 2 * log(share)
        for _ in range(100):
            middle = (low + high) / 2
            enough = (0.5 + middle / 4) * exp(-middle) <= share
            low, high = (low, middle) if enough else (middle, high)
        return Fraction(ceil(high * 2**20) + 1, 2**20)

    def privacy_loss(self) -> ApproximateDP:
        """(epsilon, delta) for the whole output."""
        return ApproximateDP(Fraction(self.epsilon), self.delta, self.neighbors)

    def select(self, counts: Counts, *, bits: RandomBits) -> Selection:
        """The selected item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, cutoff = _top(counts, self.kbar)
        return self.draw(items, values, cutoff, Draws(bits))

    def draw(
        self, items: Sequence[int], values: Sequence[int], cutoff: int, draws: Draws
    ) -> Selection:
        """As `select`, from the top kbar items in order and the next count."""
        rate = Fraction(self.epsilon) / self.max_items_per_unit
        kept = [value for value in values if value >= max(cutoff, 1)]
        scores = [rate * (value - cutoff - 1) for value in kept] + [self.threshold]
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
        _check(self)
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

    def classes(self, ranked: Sequence[int]) -> ExponentialClasses:
        """Class j is kbar = k + j, from the top dbar counts in order."""
        kbars = range(self.k, self.dbar)
        sizes = [self.delta / self.mechanism(kbar).spread for kbar in kbars]
        return ExponentialClasses([-ranked[kbar] for kbar in kbars], sizes, Fraction(self.epsilon))

    def select(self, counts: Counts, *, bits: RandomBits) -> Selection:
        """The selected item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, _ = _top(counts, self.dbar)
        ranked = values + [0] * (self.dbar - len(values))
        draws = Draws(bits)
        kbar = self.k + draws.choose(self.classes(ranked))
        return self.mechanism(kbar).draw(items[:kbar], values[:kbar], ranked[kbar], draws)


def composed(epsilon: Fraction, rounds: int, slack: Fraction) -> Fraction:
    """An epsilon for `rounds` bounded-range rounds at an extra delta of `slack`, rounded up.

    min of k e; k e (e^e - 1)/(e^e + 1) + e sqrt(2 k ln(1/slack)); k e^2/2 + e sqrt(k ln(1/slack)/2)
    (Durfee, Rogers 2019, equation 3); and rho + 2 sqrt(rho ln(1/slack)), rho = k e^2 / 8 (zCDP).
    """
    check_probability("slack", slack)
    e, k, ln_slack = float(epsilon), rounds, -log(slack)
    rho = k * e * e / 8
    advanced = k * e * (1 - exp(-e)) / (1 + exp(-e)) + e * (2 * k * ln_slack) ** 0.5
    ranged = k * e * e / 2 + e * (k * ln_slack / 2) ** 0.5
    concentrated = rho + 2 * (rho * ln_slack) ** 0.5
    best = min(advanced, ranged, concentrated)
    return min(epsilon * rounds, Fraction(ceil(best * 2**30) + 1, 2**30))


def _top(counts: Counts, kbar: int) -> tuple[list[int], list[int], int]:
    """Ids and counts of the top kbar by (count, lower id), and the next count or 0."""
    view = tally(counts, 1)
    if int(view.values[-1]) < 0:
        raise ParameterError("counts", "negative integers", "integers of at least 0")
    size = min(len(view), kbar + 1)
    items = view.items_at(range(size))
    values = view.top(size).tolist()
    cutoff = values[kbar] if size > kbar else 0
    return list(items[:kbar]), values[:kbar], cutoff


def _check(mechanism: LimitedDomain | LaplaceLimitedDomain | OptimalThreshold) -> None:
    check_k(mechanism.k)
    check_positive("epsilon", mechanism.epsilon)
    check_probability("delta", mechanism.delta)
    check_neighbors(mechanism.neighbors)
    if mechanism.max_items_per_unit is not None:
        check_positive_int("max_items_per_unit", mechanism.max_items_per_unit)
    if mechanism.neighbors is not ADD_OR_REMOVE_ONE:
        limit = "ADD_OR_REMOVE_ONE: a replacement is one removal and one addition, so charge both"
        raise ParameterError("neighbors", mechanism.neighbors.name, limit)
