"""Top-k from the top kbar + 1 counts of an unknown domain: what an existing engine returns.

Source: Durfee, Rogers 2019, Algorithms 1, 4 and 5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, exp, inf, log, log1p
from typing import Literal, get_args

import numpy as np

from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    check_neighbors,
)
from askew.errors import ParameterError
from askew.mechanisms.contest import Contest
from askew.mechanisms.shortfall import Shortfall, one_shot, peeled
from askew.mechanisms.tally import (
    Counts,
    Integers,
    Tally,
    check_positive,
    check_positive_int,
    check_probability,
    integers,
    ln,
)
from askew.mechanisms.value_classes import ONE_PASS
from askew.mechanisms.weights import Draws, WeightTable, blocks_of, enclose
from askew.noise.randomness import KERNEL, RandomBits


class ExponentialClasses:
    """Candidate i has weight sizes.get(i, 1) * exp(epsilon * scores[i]); `remove` takes one out.

    scores: int64, (n,), below 2**62 in magnitude.
    """

    def __init__(
        self, scores: Integers, sizes: Mapping[int, Fraction | int], epsilon: Fraction
    ) -> None:
        self.scores, self.sizes, self.epsilon = scores, dict(sizes), epsilon
        self._log_sizes, self._largest_size = np.zeros(len(scores)), 0.0
        for key, size in sizes.items():
            self._log_sizes[key] = ln(size)
            self._largest_size = max(self._largest_size, log(size.numerator * size.denominator))
        self._rank()

    def _rank(self) -> None:
        # Relative to the best one left, so that floats are exact where it matters.
        left = self._log_sizes > -inf
        self._best = int(self.scores[left].max())
        self._logs = self._log_sizes + (self.scores - self._best) * float(self.epsilon)

    def remove(self, key: int) -> None:
        """Set a candidate's weight to zero, in place. Raises ValueError for the last one left."""
        self.sizes[key] = 0
        self._log_sizes[key] = -inf
        if int(self.scores[key]) == self._best:
            self._rank()
        else:
            self._logs[key] = -inf

    def table(self, depth: float) -> WeightTable:
        """Return the WeightTable of the candidates within depth + ln(candidates) of the heaviest,
        in their order, ln weights relative to one of size 1 and the best score left.
        """
        top = float(self._logs.max())
        near = np.flatnonzero(self._logs > top - depth - log(len(self._logs)))
        # No candidate within `depth` of the best log-weight has a larger term in it.
        largest = abs(top) + self._largest_size + depth + 8
        rest = -inf if len(near) == len(self._logs) else top - depth + 1
        return WeightTable(blocks_of(near, self._logs[near]), 2.0**-48 * largest, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Return `askew.mechanisms.weights.enclose` of a candidate's size * exp(epsilon * (its
        score - the best score left)) * 2**shift.
        """
        score, size = self.exact(key)
        return enclose(size, -score, shift)

    def exact(self, key: int) -> tuple[Fraction, Fraction | int]:
        """Return epsilon times how far a candidate's score is above the best that is left, 0 or
        less, and its size, 1 unless one was given.
        """
        return self.epsilon * (int(self.scores[key]) - self._best), self.sizes.get(key, 1)

    def peeled(self, k: int, draws: Draws) -> Iterator[int]:
        """Yield k candidates, drawn without replacement, each when it is asked for; there must be
        more than k.

        From k = 4 on, in one pass: Gumbel noise on ln weight, in descending order, has the same law
        (Durfee, Rogers 2019, Lemma 4.2).
        """
        if k < ONE_PASS:
            for _ in range(k):
                key = draws.choose(self)
                yield key
                self.remove(key)
            return
        contest = Contest("gumbel", draws, self.exact, winners=k)
        scores = (self.scores - self._best).astype(np.float64) * float(self.epsilon)
        log_error = 2.0**-48 * (self._largest_size + 8)
        contest.enter(np.arange(len(scores)), scores, self._log_sizes, log_error)
        yield from contest.ranked()[:k]


Domain = Literal["positive", "top", "strict"]


class Selection(tuple[int, ...]):
    """Selected item ids, best first, and whether the threshold ended them before k."""

    stopped: bool

    def __new__(cls, items: Iterable[int], stopped: bool) -> Selection:
        """Hold the ids in `items`."""
        selection = super().__new__(cls, items)
        selection.stopped = stopped
        return selection

    def __getnewargs__(self) -> tuple[tuple[int, ...], bool]:
        return tuple(self), self.stopped

    @property
    def outputs(self) -> int:
        """Return how many symbols were released, the ids and 1 more where it stopped: what
        pay-what-you-get charges.
        """
        return len(self) + self.stopped


@dataclass(frozen=True, kw_only=True)
class _Limited(ABC):
    """What the limited domains share: public parameters, and the two doors to private counts."""

    k: int
    kbar: int
    epsilon: Fraction | int
    delta: Fraction
    neighbors: NeighboringRelation
    max_items_per_unit: int | None

    def __post_init__(self) -> None:
        check_positive_int("k", self.k)
        check_positive_int("kbar", self.kbar)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_neighbors(self.neighbors)
        if self.max_items_per_unit is not None:
            check_positive_int("max_items_per_unit", self.max_items_per_unit)
        if self.neighbors is not ADD_OR_REMOVE_ONE:
            limit = "ADD_OR_REMOVE_ONE: a replacement is one removal and one addition: charge both"
            raise ParameterError("neighbors", REPLACE_ONE.name, limit)

    @abstractmethod
    def draw(self, items: Integers, values: Integers, cutoff: int, draws: Draws) -> Selection:
        """Select from the top kbar items and counts in order, (n,), and the next count or 0."""

    def select(self, counts: Counts, *, bits: RandomBits = KERNEL) -> Selection:
        """Return item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, cutoff = top_of(counts, self.kbar)
        return self.draw(items, values, cutoff, Draws(bits))

    def select_from_top(
        self, items: Counts, counts: Counts, *, bits: RandomBits = KERNEL
    ) -> Selection:
        """Select from the top kbar + 1 items (or all, if fewer) of an engine, in any order.

        Their item ids must break ties as the engine did: lower first.
        """
        ids, values, cutoff = top_of_rows(items, counts, self.kbar)
        return self.draw(ids, values, cutoff, Draws(bits))


@dataclass(frozen=True, kw_only=True)
class LimitedDomain(_Limited):
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
    Guarantee: (k * epsilon, delta)-DP, and less by `zcdp` of `ranged_loss`.

    Proof. Let D and D' be the domains under neighbors. The counts of the items in both move one
    way, by at most 1, and so does c. An item of D outside D' was overtaken, and one of D' outside D
    has just come up, so its count is at most c + 1, that of the stop, and m of them weigh at most
    delta times the stop. Under domain="top" and "positive" the tie order by id bounds their number
    by max_items_per_unit; under "strict" one unit can push all kbar out. That is all that the proof
    of `askew.dp.privacy.BoundedRange` needs.
    Exact audits by enumeration are in the tests, with the variants that break: data-dependent ties,
    a threshold without the + 1, ln(1 / delta), and min(kbar, max_items_per_unit) with "strict".

    select(counts): counts (d,), integers >= 0. Raises ParameterError.
    Complexity: O(d) to find the top kbar + 1, then O(kbar + k log k).
    """

    max_items_per_unit: int | None = None
    domain: Domain = "positive"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain not in get_args(Domain):
            raise ParameterError("domain", self.domain, "one of " + ", ".join(get_args(Domain)))

    @property
    def spread(self) -> int:
        """Return m, how many items one unit can push out of the domain: kbar, or max_items_per_unit
        where that is less and the domain is not strict.
        """
        limited = self.max_items_per_unit is not None and self.domain != "strict"
        return min(self.kbar, self.max_items_per_unit or self.kbar) if limited else self.kbar

    @property
    def shortfall(self) -> Shortfall:
        """Return Shortfall(`peeled`, epsilon, kbar): the stop ends a list before it misses."""
        return Shortfall(peeled, Fraction(self.epsilon), self.kbar)

    def privacy_loss(self) -> ApproximateDP:
        """Return the ApproximateDP (k * epsilon, delta), under ADD_OR_REMOVE_ONE."""
        return ApproximateDP(Fraction(self.epsilon) * self.k, self.delta, self.neighbors)

    def ranged_loss(self) -> BoundedRange:
        """Return the BoundedRange of k rounds of epsilon, and delta once."""
        return BoundedRange(Fraction(self.epsilon), self.k, self.delta, self.neighbors)

    def draw(self, items: Integers, values: Integers, cutoff: int, draws: Draws) -> Selection:
        """Draw at most k ids, best first, as a Selection; its `stopped` is True if the stop came
        before k. items, values: ids and counts of the top kbar, (n,), highest first; cutoff: the
        next count, or 0.
        """
        least = {"top": cutoff, "positive": max(cutoff, 1), "strict": cutoff + 1}[self.domain]
        kept = int(np.count_nonzero(values >= least))
        scores = np.append(values[:kept], cutoff + 1)
        stop = {kept: Fraction(self.spread) / self.delta}
        classes = ExponentialClasses(scores, stop, Fraction(self.epsilon))
        chosen: list[int] = []
        for key in classes.peeled(self.k, draws):
            if key == kept:
                return Selection(chosen, stopped=True)
            chosen.append(int(items[key]))
        return Selection(chosen, stopped=False)


def top_of(counts: Counts, kbar: int) -> tuple[Integers, Integers, int]:
    """Return ids, from 0, and counts, (n,) each, of the top kbar, highest first, ties to the lower
    id, and the next count, or 0 without one; nothing and 0 of no counts. Raises ParameterError for
    counts below 0, and where `integers` does.
    """
    whole = _whole(counts)
    size = min(len(whole), kbar + 1)
    if not size:  # no error: that nobody is there is as private as any count
        return whole, whole, 0
    view = Tally(whole)
    return _cut(np.array(view.items_at(range(size))), view.top(size), kbar)


def top_of_rows(items: Counts, counts: Counts, kbar: int) -> tuple[Integers, Integers, int]:
    """Return what `top_of` does, from ids and counts of an engine's top kbar + 1 in any order.

    Raises ParameterError for ids that are not distinct or not as many as counts, and for counts
    below 0.
    """
    ids, values = integers(items, 0, "items"), _whole(counts)
    by_id = np.argsort(ids)
    if len(ids) != len(values) or not np.diff(ids[by_id]).all():
        raise ParameterError("items", "other ids", "distinct, and as many as counts")
    order = by_id[np.argsort(-values[by_id], kind="stable")]
    return _cut(ids[order], values[order], kbar)


def _whole(counts: Counts) -> Integers:
    values = integers(counts, 0)
    if (values < 0).any():
        raise ParameterError("counts", "negative integers", "integers of at least 0")
    return values


def _cut(items: Integers, values: Integers, kbar: int) -> tuple[Integers, Integers, int]:
    return items[:kbar], values[:kbar], int(values[kbar]) if len(values) > kbar else 0


@dataclass(frozen=True, kw_only=True)
class LaplaceLimitedDomain(_Limited):
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

    max_items_per_unit: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive_int("max_items_per_unit", self.max_items_per_unit)

    @property
    def rate(self) -> Fraction:
        """Return epsilon / max_items_per_unit: a person counted more is so many units of noise."""
        return Fraction(self.epsilon) / self.max_items_per_unit

    @property
    def shortfall(self) -> Shortfall:
        """Return Shortfall(`one_shot` of "laplace", rate, kbar): a stop ends a list before it
        misses.
        """
        return Shortfall(partial(one_shot, noise="laplace"), self.rate, self.kbar)

    @property
    def threshold(self) -> Fraction:
        """Return tau, in units of noise: the least multiple of 2**-20, or one or two more, with m
        (1/2 + tau/4) exp(-tau) <= delta / (1 + e^epsilon), m = min(kbar, max_items_per_unit).
        """
        spread, epsilon = min(self.kbar, self.max_items_per_unit), float(self.epsilon)
        share = ln(self.delta / spread) - epsilon - log1p(exp(-epsilon))
        low, high = 0.0, 10.0 - 2 * share
        for _ in range(100):
            middle = (low + high) / 2
            enough = log(0.5 + middle / 4) - middle <= share
            low, high = (low, middle) if enough else (middle, high)
        return Fraction(ceil(high * (1 + 2.0**-44) * 2**20) + 1, 2**20)

    def privacy_loss(self) -> ApproximateDP:
        """Return ApproximateDP(epsilon, delta) of the whole output."""
        return ApproximateDP(Fraction(self.epsilon), self.delta, self.neighbors)

    def draw(self, items: Integers, values: Integers, cutoff: int, draws: Draws) -> Selection:
        """Draw at most k ids, best first, as a Selection; its `stopped` is True if the stop came
        before k. items, values: ids and counts of the top kbar, (n,), highest first; cutoff: the
        next count, or 0.
        """
        kept = values[values >= max(cutoff, 1)].tolist()
        scores = [self.rate * (value - cutoff - 1) for value in kept] + [self.threshold]
        contest = Contest("laplace", draws, lambda key: (scores[key], 1), winners=self.k + 1)
        floats = np.array([float(score) for score in scores])
        contest.enter(np.arange(len(scores)), floats, np.zeros(len(scores)))
        chosen: list[int] = []
        for key in contest.ranked()[: self.k + 1]:
            if key == len(kept):
                return Selection(chosen, stopped=len(chosen) < self.k)
            chosen.append(int(items[key]))
        return Selection(chosen[: self.k], stopped=False)
