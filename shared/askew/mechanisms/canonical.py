"""The canonical Lipschitz mechanism: a k-subset at one stroke, without composition.

It works on classes of k-subsets that have one loss. Ranks run from 1 here. A subset other than the
top k has a first rank that it misses, h + 1 with h < k, and a lowest rank that it has, t > k; its
loss depends on the two counts x_{h+1} and x_t only. There are C(t-h-2, k-h-1) such subsets, and

    C(t1-h-1, k-h) - C(t0-h-2, k-h)     with t in t0..t1,

so ranks t of equal count are one column (hockey-stick identity). gamma = 1 ignores x_{h+1}: one row
suffices, with C(t1, k) - C(t0-1, k) subsets. gamma = 0 ignores x_t: one column suffices.
(The recurrence printed in the paper's Algorithm 2 multiplies by (t-h-1) where (t-h-2) is right.)

Blocks of columns are bounded first, by their best value and their whole size. Only blocks that can
matter are looked at cell by cell, with one block in memory at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb, exp, inf, isqrt, log

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import BoundedRange, exact_rational
from askew.errors import ParameterError
from askew.mechanisms.contest import Contest, Floats, Link, NoiseFamily, Noisy, check_family
from askew.mechanisms.shortfall import LOG_ERROR, Shortfall, canonical, log_runs
from askew.mechanisms.tally import Counted, Counts, Integers, Tally, halved
from askew.mechanisms.value_classes import subset
from askew.mechanisms.weights import BLOCK, Draws, WeightBlock, WeightTable, enclose, log_total


@dataclass(frozen=True, repr=False)
class _RankColumns:
    """First and last rank of each column, and how far its count is below x_k. All (n,).

    A block is a run of `width` columns in one row; blocks are numbered row by row.
    """

    firsts: Integers
    lasts: Integers
    below: Integers

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def width(self) -> int:
        return max(64, isqrt(len(self)))

    def borders(self) -> tuple[Integers, Integers]:
        # The first and the last columns of the blocks of a row, [0, 64] and [63, 99] of 100.
        starts = np.arange(0, len(self), self.width)
        return starts, np.append(starts[1:], len(self)) - 1

    def block(self, number: int) -> tuple[int, int, int]:
        # The row, first column and last column of a block, from 0.
        row, block = divmod(number, -(-len(self) // self.width))
        return row, block * self.width, min((block + 1) * self.width, len(self)) - 1

    def cells(self, blocks: Integers) -> tuple[Integers, Integers]:
        # The rows and the columns, (n,), of all cells in blocks (b, 2) of a row and a place in it.
        columns = (blocks[:, 1, None] * self.width + np.arange(self.width)).ravel()
        rows = np.repeat(blocks[:, 0], self.width)
        real = columns < len(self)
        return (rows, columns) if real.all() else (rows[real], columns[real])


def _columns_of(tally: Tally, k: int, edge: int, *, merged: bool) -> _RankColumns:
    # A column for each run of equal counts beyond the k highest, of which `edge` is the last.
    # merged: all of them as one, `below` 0, since the loss does not see their counts.
    d = len(tally)
    if d == k:
        nothing = np.zeros(0, dtype=np.int64)
        return _RankColumns(nothing, nothing, nothing)
    if merged:
        return _RankColumns(np.array([k + 1]), np.array([d]), np.zeros(1, dtype=np.int64))
    lasts = tally.ends[tally.group_of(k) :]
    firsts = np.append(k, lasts[:-1]) + 1
    return _RankColumns(firsts, lasts, edge - tally.values[tally.group_of(k) :])


TOP = 0  # the key of the class that holds the top k alone
_RARE = 40.0
_SMALL = 64  # of whose binomial coefficients several take less time than one draw a rank


class CanonicalClasses:
    """The classes of one tally: a k-subset of loss L weighs exp(-rate * L), gamma and clipped as in
    `Canonical`.
    """

    def __init__(
        self, tally: Tally, k: int, gamma: Fraction, rate: Fraction, *, clipped: bool
    ) -> None:
        self.k, self.gamma, self.rate = k, gamma, rate
        self._seen = gamma != 1
        best = tally.top(k)
        edge = int(best[-1])
        self._above: Integers = best - edge if self._seen else np.zeros(1, dtype=np.int64)
        self._offset = np.arange(1, k + 1) if self._seen else np.zeros(1, dtype=np.int64)
        self._choose = k + 1 - self._offset if self._seen else np.array([k])
        self.columns = _columns_of(tally, k, edge, merged=gamma == 0)
        lead = 0 if clipped or len(tally) == k else int(edge - tally.value_at(k))
        self._ahead = rate * (1 - gamma) * lead  # what the clip would take from the top
        self._up, self._down = float(rate * (1 - gamma)), float(rate * gamma)

    def cell(self, key: int) -> tuple[int | None, int, int]:
        """Return (h, first, last) of the class of a key from 1 on, (h, column) = divmod(key - 1,
        columns): its subsets have the ranks 1..h, not h + 1, and a lowest rank in first..last, from
        1, the column's. h is None at gamma = 1, which tells nothing of the ranks above the lowest.
        """
        row, column = divmod(key - 1, len(self.columns))
        h = row if self._seen else None
        return h, int(self.columns.firsts[column]), int(self.columns.lasts[column])

    def size(self, key: int) -> int:
        """Return how many subsets a class holds; 1 for key 0, the top k alone."""
        if key == TOP:
            return 1
        row, column = divmod(key - 1, len(self.columns))
        return self._subsets(row, column, column)

    def _subsets(self, row: int, first: int, last: int) -> int:
        offset, r = int(self._offset[row]), int(self._choose[row])
        below = int(self.columns.firsts[first]) - 1 - offset
        return comb(int(self.columns.lasts[last]) - offset, r) - (
            comb(below, r) if below > 0 else 0
        )

    def exponent(self, key: int) -> Fraction:
        """Return rate * loss of a class, relative to the loss of the top, whose own is 0."""
        if key == TOP:
            return Fraction(0)
        row, column = divmod(key - 1, len(self.columns))
        up, down = int(self._above[row]), int(self.columns.below[column])
        return self._ahead + self.rate * ((1 - self.gamma) * up + self.gamma * down)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Return `askew.mechanisms.weights.enclose` of the class: size, exponent and shift."""
        return enclose(self.size(key), self.exponent(key), shift)

    def exact(self, key: int) -> tuple[Fraction, int]:
        """Return the exact score of a class, which is -exponent, and its size."""
        return -self.exponent(key), self.size(key)

    def table(self, depth: float) -> WeightTable:
        """Return the WeightTable of all classes, without some that together weigh below exp(-depth)
        of all; ln weights are relative to the top's.
        """
        top = np.array([TOP]), np.zeros(1)
        parts: list[Callable[[], WeightBlock]] = [partial(WeightBlock, *top)]
        if not len(self.columns):
            return WeightTable(parts, 2.0**-50)
        keep, _, least = self._near(depth)
        pairs, dropped = self._pairs(keep), -inf if keep.all() else least - depth + 2.0**-20
        magnitude = self._magnitude(self._choose[keep.any(axis=1)])
        parts += [partial(self._block, cells) for cells in pairs]
        error = LOG_ERROR * (magnitude + 40) + 2.0**-48 * (magnitude + abs(depth) + 40)
        return WeightTable(parts, error if depth < inf else 2.0**-20, dropped)

    def enter(self, contest: Contest) -> None:
        """Enter every class in the contest with the best noisy score of its subsets.

        Blocks that win with probability below exp(-40) are groups; the law is the same.
        """
        contest.enter(np.array([TOP]), np.zeros(1), np.zeros(1))
        if not len(self.columns):
            return
        keep, scores, _ = self._near(_RARE)
        log_error = LOG_ERROR * (self._magnitude(self._choose) + 40)
        for pairs in self._pairs(keep):
            rows, columns = self.columns.cells(pairs)
            keys = 1 + rows * len(self.columns) + columns
            sizes = self._log_sizes(rows, columns)
            contest.enter(keys, -self._losses(rows, columns), sizes, log_error)

        def opened(key: int, link: Link) -> list[Noisy]:
            row, first, last = self.columns.block(key)
            begin = 1 + row * len(self.columns)
            return contest.members([*range(begin + first, begin + last + 1)], link)

        others = np.flatnonzero(~keep)
        for i in range(0, len(others), BLOCK):
            keys = others[i : i + BLOCK]
            sizes = self._log_blocks(*np.divmod(keys, keep.shape[1]))
            best = scores.ravel()[keys]
            contest.enter_groups(keys, best, sizes, log_error, self._group, opened)

    def _group(self, key: int) -> tuple[Fraction, int]:
        row, first, last = self.columns.block(key)
        best = -self.exponent(1 + row * len(self.columns) + first)
        return best, self._subsets(row, first, last)

    def _near(self, depth: float) -> tuple[NDArray[np.bool_], Floats, float]:
        # Of every block, (rows, blocks): whether it may matter, and its best score. Last, a lower
        # bound of the heaviest block's ln weight; all others weigh exp(-depth) of it. Most blocks
        # are told by C(n, r) <= (e n / r)**r, which is quick; the rest by their size.
        starts, ends = self.columns.borders()
        r = self._choose[:, None].astype(np.float64)
        above = self._up * self._above[:, None].astype(np.float64) + float(self._ahead)
        scores = -above - self._down * self.columns.below[starts]
        at_most = r * (1 - np.log(r) + np.log(self.columns.lasts[ends].astype(np.float64))) + scores
        least, keep = 0.0, at_most == at_most.max()
        for _ in range(2):  # first of the block that may be the heaviest, then of all beside it
            rows, blocks = np.nonzero(keep)
            best = self._log_blocks(rows, blocks) + scores[rows, blocks]
            rest = self._down * (self.columns.below[ends] - self.columns.below[starts])[blocks]
            least = float((best - rest).max(initial=least))
            keep = at_most > least - depth - log(scores.size)
        keep[rows, blocks] &= best > least - depth - log(scores.size)
        return keep, scores, least

    def _log_blocks(self, rows: Integers, blocks: Integers) -> Floats:
        starts, ends = self.columns.borders()
        first, last = self.columns.firsts[starts[blocks]], self.columns.lasts[ends[blocks]]
        return self._log_runs(self._offset[rows], self._choose[rows], first, last)

    def _magnitude(self, r: Integers) -> float:
        # At least ln C(n, r) for each of these r and every n here.
        some = np.maximum(r, 1).astype(np.float64)
        return float(
            (some * (1 + np.log(float(self.columns.lasts[-1])) - np.log(some))).max(initial=0.0)
        )

    def _pairs(self, keep: NDArray[np.bool_]) -> list[Integers]:
        pairs, step = np.argwhere(keep), max(1, BLOCK // self.columns.width)
        return [pairs[i : i + step] for i in range(0, len(pairs), step)]

    def _block(self, pairs: Integers) -> WeightBlock:
        rows, columns = self.columns.cells(pairs)
        logs = self._log_sizes(rows, columns) - self._losses(rows, columns)
        return WeightBlock(1 + rows * len(self.columns) + columns, logs)

    def _losses(self, rows: Integers, columns: Integers) -> Floats:
        up = self._above.astype(np.float64) * self._up + float(self._ahead)
        down = self.columns.below.astype(np.float64) * self._down
        losses: Floats = up[rows] + down[columns]
        return losses

    def _log_sizes(self, rows: Integers, columns: Integers) -> Floats:
        offset, r = self._offset[rows], self._choose[rows]
        return self._log_runs(offset, r, self.columns.firsts[columns], self.columns.lasts[columns])

    def _log_runs(self, offset: Integers, r: Integers, first: Integers, last: Integers) -> Floats:
        high, low = (last - offset).astype(np.float64), (first - 1 - offset).astype(np.float64)
        return log_runs(high, low, r.astype(np.float64))


@dataclass(frozen=True, kw_only=True)
class Canonical(Counted):
    """A set of k items, the more probable the fewer units must change to make it the top k.

        noisy score of a subset S = -rate * L(S) + Z_S,    Z_S independent, of one family
        L(S) = (1 - gamma) M(S) - gamma m(S)
        M(S) = highest count outside S,    m(S) = lowest count inside S
        rate = epsilon (ADD_OR_REMOVE_ONE),    epsilon / 2 (REPLACE_ONE)

    `clipped=True` is the paper's form: the top k itself is scored as if M were m, that is with
    M = max(M, m) for every S. `clipped=False`, the default, scores the top k by the M that it has.
    The guarantee is the same; the top k gains a factor exp(rate (1 - gamma) (x_[k] - x_[k+1])) in
    weight and so needs 1.6 to 1.9 times less epsilon for the same probability on real counts.

    Privacy unit: one person's whole history, changing each count by at most 1.
    Guarantee: pure epsilon-DP, no slack; with Gumbel noise also (epsilon^2 / 8)-zCDP.

    Proof, for either form. A maximum or a minimum of counts moves by at most 1 between neighbors,
    and the way the counts move. Adding one unit: M and m each rise by 0..1, so L changes by a step
    in [-gamma, 1 - gamma], an interval of width 1, for every S; max(M, m) is a maximum of counts
    too. Replacing one: L changes by a step in [-1, 1], of width 2, and the rate is half. So a
    common shift apart, all scores move by at most rate * width / 2 either way, and the threshold
    that S must beat moves against its score by at most rate * width = epsilon; ln P(Z > z) is
    1-Lipschitz in z; hence ln P(S is selected) moves by at most epsilon. Nothing in this needs the
    clip: it only lowers the weight of the top k.

    gamma: 1/2 weighs both errors alike; 1 looks at the lowest count inside only and costs O(d).
    select(counts): counts (d,), integers, d >= k. Returns item ids, ascending. d = k: all items.
    Raises ParameterError. Complexity: O(d) or one sort, then one pass over the classes that matter,
    at most k times the number of distinct values, in O(d + k) memory.
    Source: Shekelyan, Loukides 2022, Algorithms 1 and 2 as corrected above; the
    unclipped form is Askew's.
    """

    gamma: Fraction | int = Fraction(1, 2)
    noise: NoiseFamily = "gumbel"
    clipped: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_family(self.noise)
        if not 0 <= exact_rational("gamma", self.gamma) <= 1:
            raise ParameterError("gamma", self.gamma, "from 0 to 1")

    @property
    def rate(self) -> Fraction:
        """Return epsilon, or epsilon / 2 under REPLACE_ONE: a unit of loss is so many of noise."""
        return halved(self.epsilon, self.neighbors)

    @property
    def shortfall(self) -> Shortfall | None:
        """Return Shortfall(`canonical` with gamma and clipped, rate); None unless the noise is
        "gumbel" and gamma is above 0.
        """
        if self.noise != "gumbel" or not self.gamma:
            return None
        formula = partial(canonical, gamma=float(self.gamma), clipped=self.clipped)
        return Shortfall(formula, self.rate)

    def ranged_loss(self) -> BoundedRange:
        """Return the BoundedRange of one round of epsilon, delta 0. Raises ParameterError for noise
        other than "gumbel".
        """
        if self.noise != "gumbel":
            limit = "gumbel: other families are not bounded-range; charge the pure epsilon"
            raise ParameterError("noise", self.noise, limit)
        return BoundedRange(Fraction(self.epsilon), 1, Fraction(0), self.neighbors)

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally, ascending."""
        classes = self._classes(tally)
        if self.noise == "gumbel":
            key = draws.choose(classes)
        else:
            contest = Contest(self.noise, draws, classes.exact)
            classes.enter(contest)
            key = contest.ranked()[0]
        places = range(self.k) if key == TOP else _member(*classes.cell(key), self.k, draws)
        return tuple(sorted(tally.items_at([*places])))

    def _classes(self, tally: Tally) -> CanonicalClasses:
        return CanonicalClasses(
            tally, self.k, Fraction(self.gamma), self.rate, clipped=self.clipped
        )

    def probability_of_top(self, counts: Counts) -> float:
        """Return the probability that the k highest counts are selected, within 1e-9 of it; ties to
        the lower id.

        Private: it describes the counts. Raises ParameterError for noise other than "gumbel".
        """
        if self.noise != "gumbel":
            raise ParameterError("noise", self.noise, "gumbel, whose law has a closed form")
        classes = self._classes(Tally(counts, self.k))
        return exp(-log_total(classes.table(60.0)))


def _member(h: int | None, first: int, last: int, k: int, draws: Draws) -> list[int]:
    skip = 0 if h is None else h + 1  # ranks 1..h are in, h + 1 is out
    left = k if h is None else k - h
    lowest = _lowest_rank(first - skip, last - skip, left, draws) + skip
    free = lowest - 1 - skip
    inside = [] if h is None else [*range(h)]
    return [*inside, *(skip + place for place in subset(free, left - 1, draws)), lowest - 1]


def _lowest_rank(first: int, last: int, left: int, draws: Draws) -> int:
    # t in first..last with probability proportional to C(t - 1, left - 1).
    size = last - first + 1
    if size == 1:
        return first
    if left < _SMALL:
        before = comb(max(first - 1, 0), left)
        mark = before + draws.below(comb(last, left) - before)
        return first + bisect_right(range(first, last), mark, key=lambda t: comb(t, left))
    # Of the t ranks up to t, t is the highest that is in with probability left / t. So the first
    # hit from the last rank down; where there is none, the subset is of another class, and all
    # begins again.
    start, step = 0, 2 * last // left + 16
    while True:
        behind = np.arange(start, start + step) % size
        hits = np.flatnonzero(np.array(draws.below_each(last - behind)) < left)
        if len(hits):
            return last - int(behind[hits[0]])
        start += step
