"""What people may care about besides distance: the wants of a collection, as rows of costs and as
candidates.

A row stands for some of the people who may have sent a signal: at a position p, with a want. What
an item i costs a row is

    none        d(i, p)
    a rate r    d(i, p) + r * number of i
    a word      d(i, p) where i has it

less the least of its row among the candidates: a regret. With a want it is at most 4 / epsilon,
about twice as far as the noise reaches, and that is what an item without the word costs, or without
a known number. A row's weight is the share of people whom it stands for: of a want's weight, or of
what all wants leave, as much as of the people at the want's positions is at this one.

*Rows.* Every position has a row without a want. Rows with a rate are 120 together, at most 24 a
rate, and rows with a word 200 together, at most 48 a word; no want has fewer than 3. The positions
of a want stand evenly in the sample, which is sorted by place, and each want begins elsewhere.

*Candidates* come from a k-d tree of pairs of a group and an item in it. Its points have the group
as one more coordinate, so far apart that the nearest pair is of the group. Groups are: the items of
a word, unless a tenth of all have it; where there are two words or more, the 3 % and the percent of
items that have the rarest and the most; of a rate, the best 30, 10, 3 and 1 % by number.

Everything is a function of the signal and of what is public: post-processing, the same for all.
Shapes: n items, m positions, r rows, c candidates. Memory: 8 bytes an item for words, 4 for each
number, and about a hundred for a pair. Complexity: O((r + q) log n) for q <= 400 questions to the
tree, O(r c) for costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import Column, Flags, Numbers, Words
from askew.errors import OutOfRange
from askew.protocol.cards import Want
from askew_server.retrieval.density import SAMPLES
from askew_server.retrieval.index import IndexPart, MetricIndex, Points, Rows

Columns = Mapping[str, Column]
Costs = NDArray[np.float32]
LOST = 4.0  # the most that a regret counts, and what none of a word costs, in 1 / epsilon
_COMMON = 0.1  # of all items: a word that some of the nearest items have anyway
_RICH, _BEST = (0.03, 0.01), (0.3, 0.1, 0.03, 0.01)  # of all items: groups
_OF_RATES, _OF_WORDS = (120, 24), (200, 48)  # rows of all wants together, and of one at most
_LEAST = 3  # rows of a want
_POSITIONS = 192  # where there are wants
_ASKED = 24  # positions at which a group is looked up
_HUGE = np.float32(1e12)  # times a rate it is still a number
_GOLDEN = 0.6180339887


class Wants:
    """wants: of a collection, at most 64. columns: by attribute. size: how many positions a sample
    has, m: fewer where rows with a want are added.
    """

    def __init__(
        self, index: MetricIndex, wants: Sequence[Want] = (), columns: Columns | None = None
    ) -> None:
        columns, self._wants = columns or {}, wants
        self.size = size = _POSITIONS if wants else SAMPLES
        words = [want for want in wants if want.word]
        rates = [want for want in wants if not want.word]
        signed = sorted({(rate.attribute, rate.rate > 0) for rate in rates})
        self._has = np.zeros(len(index), np.uint64)  # bit i of an item stands for the i-th word
        for bit, want in enumerate(words):
            accepts = _has_word(columns[want.attribute], want.word)
            self._has |= accepts.astype(np.uint64) << np.uint64(bit)
        numbers = [_price(columns[name], low_is_good=low) for name, low in signed]
        self._numbers = np.array(numbers, np.float32).reshape(-1, len(index))

        of_rate, of_word = _rows_of(_OF_RATES, rates), _rows_of(_OF_WORDS, words)
        counts = [size, *[of_rate] * len(rates), *[of_word] * len(words)]
        shares = [1 - sum(want.weight for want in wants)]
        shares += [want.weight for want in (*rates, *words)]
        self._shares, self._counts = np.array(shares), counts
        parts = [_spread_evenly(count, size, shift) for shift, count in enumerate(counts)]
        self._position_of_row = np.concatenate(parts)
        self._rate = np.repeat([abs(rate.rate) for rate in rates], of_rate).astype(np.float32)
        columns_of = [signed.index((rate.attribute, rate.rate > 0)) for rate in rates]
        self._column = np.repeat(np.array(columns_of, np.int64), of_rate)
        self._bit = np.repeat(np.arange(len(words), dtype=np.uint64), of_word)

        groups = _groups(self._has, len(words), self._numbers)
        beside = [parts[1 + len(rates) + word] for word in range(len(words))]
        beside += [_spread_evenly(_ASKED, size, shift) for shift in range(len(groups) - len(words))]
        self._position_of_question, self._group, self._pairs = _looked_up(index, groups, beside)

    def with_columns(self, index: MetricIndex, columns: Columns) -> Wants:
        """Return the same wants over other values of the columns."""
        return Wants(index, self._wants, columns)

    def weights(self, shares: Points) -> Points:
        """Return the weights of rows of costs, (r,), which add to 1, in the order of `costs`: the m
        rows without a want, those of each rate, those of each word. shares: of the people, at each
        position, (m,).
        """
        of_rows = shares[self._position_of_row]
        together = np.add.reduceat(of_rows, np.cumsum([0, *self._counts[:-1]]))
        return np.asarray(of_rows * np.repeat(self._shares / together, self._counts))

    def candidates(self, points: Points) -> Rows:
        """Return the ids of items of each group near positions (m, e), tree points, for those who
        have a want; an id may come twice. Empty where no want has a group.
        """
        if self._pairs is None:
            return np.empty(0, np.int64)
        asked = np.column_stack((points[self._position_of_question], self._group))
        return self._pairs.nearest(asked)[:, 0]

    def costs(self, distances: Costs, items: Rows, most: float) -> Costs:
        """Return regrets (r, c) of items (c,), ids: what an item costs a row less the least of its
        row, at most `most` in rows with a want. An item without the row's word or a known number
        has `most`. Rows: m without a want, then of rates, then of words. distances: of positions
        from items, (m, c).
        """
        costs = distances[self._position_of_row]
        rated = slice(len(distances), len(distances) + len(self._rate))
        costs[rated] += self._rate[:, None] * self._numbers[:, items][self._column]
        has = self._has[items] >> self._bit[:, None] & np.uint64(1)
        costs[rated.stop :][has == 0] = np.inf
        least = costs.min(axis=1, keepdims=True)
        costs -= np.minimum(least, np.finfo(np.float32).max)  # where nothing has the word
        wanted = costs[rated.start :]
        np.minimum(wanted, np.float32(most), out=wanted)
        return costs


def _rows_of(budget: tuple[int, int], wants: Sequence[Want]) -> int:
    together, most = budget
    return max(_LEAST, min(most, together // max(1, len(wants))))


def _spread_evenly(count: int, size: int, shift: int) -> Rows:
    # Positions stand evenly in a sample of this size, and begin elsewhere by shift.
    places = (np.arange(count) + shift * _GOLDEN % 1) * size / count
    return places.astype(np.int64)


def _has_word(column: Column, word: str) -> NDArray[np.bool_]:
    # Items that a person who accepts this word alone accepts.
    match column:
        case Flags():
            return np.asarray(column.values == (word == "yes"))
        case Words():
            codes = [code for code, other in enumerate(column.vocabulary) if other == word]
            return np.isin(column.codes, codes)
        case Numbers():
            raise OutOfRange("a want of a number", "a rate")


def _price(column: Column, *, low_is_good: bool) -> NDArray[np.float32]:
    # Below zero where high ones are wanted; an unknown number is the worst.
    if not isinstance(column, Numbers):
        raise OutOfRange("a rate", "of a number")
    values = np.clip(column.values if low_is_good else -column.values, -_HUGE, _HUGE)
    return np.where(np.isnan(values), np.float32(np.inf), values)


def _groups(has: NDArray[np.uint64], n_words: int, numbers: Costs) -> list[Rows]:
    # Those of the words first; a common word's group is empty.
    n, groups, worth = len(has), list[Rows](), np.zeros(len(has))
    for bit in range(n_words):
        rows = np.flatnonzero(has >> np.uint64(bit) & np.uint64(1))
        groups.append(rows if len(rows) < _COMMON * n else rows[:0])
        worth[rows] += log(n / max(1, len(rows)))
    if n_words > 1:
        richest = np.argsort(-worth, kind="stable")
        groups += [richest[: int(share * n)] for share in _RICH]
    for number in numbers:
        cheapest = np.argsort(number, kind="stable")[: np.isfinite(number).sum()]
        groups += [cheapest[: int(share * n)] for share in _BEST]
    return groups


def _looked_up(
    index: MetricIndex, groups: Sequence[Rows], beside: Sequence[Rows]
) -> tuple[Rows, Points, IndexPart | None]:
    """Return the positions that ask, by number, the groups that they ask for, as one more
    coordinate, and the index of pairs; none and None where all groups are empty.
    """
    kept = [(rows, at) for rows, at in zip(groups, beside, strict=True) if len(rows)]
    if not kept:
        return np.empty(0, np.int64), np.empty(0), None
    rows, at = (np.concatenate(part) for part in zip(*kept, strict=True))
    sizes, asked = ([len(group) for group in part] for part in zip(*kept, strict=True))
    # More than any two places of a space are apart: a map's points are those of a sphere.
    far = 4 * float(np.abs(index.frame.tree(index.frame.extent[None])).sum())
    group = far * np.arange(len(kept))
    points = np.column_stack((index.points[rows], np.repeat(group, sizes)))
    return at, np.repeat(group, asked), IndexPart(index.frame, points, rows)
