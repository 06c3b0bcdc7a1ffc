"""A short list of candidates with rational multiplicities, for the exponential mechanism.

Top-k from the top kbar + 1 counts of an unknown domain: what an existing engine returns.

Source: Durfee, Rogers 2019, Algorithms 1 (Gumbel) and 5 (strict domain). Algorithm 4 (Laplace) is
and Algorithm 6 (optimal threshold, corrected) in `laplace_domain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import Literal, get_args

import numpy as np

from askew.dp.composition import zcdp
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
)
from askew.errors import ParameterError
from askew.mechanisms.parameters import (
    check_k,
    check_neighbors,
    check_positive,
    check_positive_int,
    check_probability,
    ln,
)
from askew.mechanisms.shortfall import Shortfall, peeled
from askew.mechanisms.tally import Counts, Integers, Tally, integers
from askew.noise.exact import Draws, WeightTable, blocks_of, enclose
from askew.noise.randomness import RandomBits


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
        """Scores relative to the best that is left, so that floats are exact where it matters."""
        left = self._log_sizes > -inf
        self._best = int(self.scores[left].max())
        self._logs = self._log_sizes + (self.scores - self._best) * float(self.epsilon)

    def remove(self, key: int) -> None:
        """Give a candidate weight zero."""
        self.sizes[key] = 0
        self._log_sizes[key] = -inf
        if int(self.scores[key]) == self._best:
            self._rank()
        else:
            self._logs[key] = -inf

    def table(self, depth: float) -> WeightTable:
        """The candidates within depth + ln(candidates) of the heaviest; the others weigh below
        exp(-depth) of it.
        """
        top = float(self._logs.max())
        near = np.flatnonzero(self._logs > top - depth - log(len(self._logs)))
        # No candidate within `depth` of the best log-weight has a larger term in it.
        largest = abs(top) + self._largest_size + depth + 8
        rest = -inf if len(near) == len(self._logs) else top - depth + 1
        return WeightTable(blocks_of(near, self._logs[near]), 2.0**-48 * largest, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Integer bounds of one candidate's weight."""
        exponent = self.epsilon * (self._best - int(self.scores[key]))
        return enclose(self.sizes.get(key, 1), exponent, shift)


Domain = Literal["positive", "top", "strict"]


class Selection(tuple[int, ...]):
    """Selected item ids, best first, and whether the threshold ended them before k."""

    stopped: bool

    def __new__(cls, items: Iterable[int], stopped: bool) -> Selection:
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

    Proof. Let D and D' be the domains under neighbors. The counts of the items in both move one
    way, by at most 1, and so does c. An item of D outside D' was overtaken, and one of D' outside D
    has just come up, so its count is at most c + 1, that of the stop, and m of them weigh at most
    delta times the stop. Under domain="top" and "positive" the tie order by id bounds their number
    by max_items_per_unit; under "strict" one unit can push all kbar out. That is all that the proof
    of `askew.dp.privacy.BoundedRange` needs.
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
        check_limited(self.k, self.epsilon, self.delta, self.neighbors, self.max_items_per_unit)
        check_positive_int("kbar", self.kbar)
        if self.domain not in get_args(Domain):
            raise ParameterError("domain", self.domain, "one of " + ", ".join(get_args(Domain)))

    @property
    def spread(self) -> int:
        """m: how many items one unit can push out of the domain."""
        limited = self.max_items_per_unit is not None and self.domain != "strict"
        return min(self.kbar, self.max_items_per_unit or self.kbar) if limited else self.kbar

    @property
    def shortfall(self) -> Shortfall:
        """That of peeling, among the kbar items: the stop can only end a list before it misses."""
        return Shortfall(peeled, Fraction(self.epsilon), self.kbar)

    def privacy_loss(self) -> ApproximateDP:
        """(k * epsilon, delta)."""
        return ApproximateDP(Fraction(self.epsilon) * self.k, self.delta, self.neighbors)

    def ranged_loss(self) -> BoundedRange:
        """k bounded-range rounds."""
        return BoundedRange(Fraction(self.epsilon), self.k, self.delta, self.neighbors)

    def composed_loss(self, slack: Fraction) -> ApproximateDP:
        """The lesser of the sum and `zcdp`, at delta + slack. Raises ParameterError."""
        return zcdp([self.ranged_loss()], slack)

    def select(self, counts: Counts, *, bits: RandomBits) -> Selection:
        """The selected item ids, best first; `.stopped` says whether the threshold ended them."""
        items, values, cutoff = top_of(counts, self.kbar)
        return self.draw(items, values, cutoff, Draws(bits))

    def select_from_top(self, items: Counts, counts: Counts, *, bits: RandomBits) -> Selection:
        """As `select`, from the top kbar + 1 items (or all, if fewer) of an engine, in any order.

        Their item ids must break ties as the engine did: lower first.
        """
        ids, values, cutoff = top_of_rows(items, counts, self.kbar)
        return self.draw(ids, values, cutoff, Draws(bits))

    def draw(self, items: Integers, values: Integers, cutoff: int, draws: Draws) -> Selection:
        """As `select`, from the top kbar items in order, (n,) each, and the next count."""
        least = {"top": cutoff, "positive": max(cutoff, 1), "strict": cutoff + 1}[self.domain]
        kept = int(np.count_nonzero(values >= least))
        scores = np.append(values[:kept], cutoff + 1)
        stop = {kept: Fraction(self.spread) / self.delta}
        classes = ExponentialClasses(scores, stop, Fraction(self.epsilon))
        chosen: list[int] = []
        while len(chosen) < self.k:
            key = draws.choose(classes)
            if key == kept:
                return Selection(chosen, stopped=True)
            chosen.append(int(items[key]))
            classes.remove(key)
        return Selection(chosen, stopped=False)


def top_of(counts: Counts, kbar: int) -> tuple[Integers, Integers, int]:
    """Ids and counts of the top kbar by (count, lower id), and the next count or 0."""
    whole = _whole(counts)
    size = min(len(whole), kbar + 1)
    if not size:  # no error: that nobody is there is as private as any count
        return whole, whole, 0
    view = Tally(whole)
    return _cut(np.array(view.items_at(range(size))), view.top(size), kbar)


def top_of_rows(items: Counts, counts: Counts, kbar: int) -> tuple[Integers, Integers, int]:
    """As `top_of`, from an engine's rows: the item ids and the counts of its top kbar + 1."""
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


def check_limited(
    k: object, epsilon: object, delta: object, neighbors: object, max_items_per_unit: object
) -> None:
    """The checks that all limited-domain mechanisms share. Raises ParameterError."""
    check_k(k)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_neighbors(neighbors)
    if max_items_per_unit is not None:
        check_positive_int("max_items_per_unit", max_items_per_unit)
    if neighbors is not ADD_OR_REMOVE_ONE:
        limit = "ADD_OR_REMOVE_ONE: a replacement is one removal and one addition, so charge both"
        raise ParameterError("neighbors", REPLACE_ONE.name, limit)
