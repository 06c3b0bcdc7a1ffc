"""The items that can be among the best k near any point: the upper layers of their linear scores.

Shifts w lie in a box (`Encoder.shift_limits`), which is cut into cells between knots, so that about
as many people are in each. The box is halved again and again, down to cells. In each part an item i
is dropped where k others J are better throughout it:

    F_i(w) < min_{j in J} F_j(w) - 4 margin    at every corner w of the part

Proof that no answer changes. At the corners f_i < f_j - 2 margin for each j in J, since F is off by
less than margin (`linear_scores`); f_j - f_i is linear, so that holds in the whole part; so does
s_i < s_j of the exact scores. So i is not among the best k there, whatever ties are decided by, and
an item that is anywhere among them is kept. An item whose very vector k items of lower ids have
is dropped, too: their scores are equal, and the lower id is better. Which J are tried
decides how many are dropped, never which may be: those that fall least behind the best one of any
corner, in units of how far the usual item does. Items are read in pieces, and what is best of one
is tried on the next.

A part from which little is dropped, as where all scores are equal, stays as large as it is when the
limit of work or of memory is reached: its list is long, and none is wrong.
Complexity: 2**d times (66 n + 2**26) scores at most, and for d <= 3 some 2**d 10 n; numpy only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.encoder import KNOTS, Encoder
from askew.retrieval.candidates import Candidates
from askew.retrieval.linear_scores import LinearScores

MOST_DIMENSIONS = 4  # a part of the box has 2**d corners
CELLS = 1 << 12  # at most, and as many on each axis
_PIECE = 1 << 14  # items, whose scores at corners stay in a core's own cache
_WORK, _MORE_WORK = 64, 1 << 25  # items looked at, in all parts: for each item, and besides
_MOST_LISTED = 1 << 23  # 32 MiB

Rows = NDArray[np.int32]
Place = NDArray[np.int64]
"""Of a corner, by the number of cells before it on each axis, (d,)."""


@dataclass(frozen=True, eq=False)
class UpperLayers:
    """Parts of the box, and what is kept in each. scores: of all items that are kept anywhere.

    edges: of the cells within the box, (cells - 1,) on each of the d axes. part_of: the part of
    each cell, (cells,) * d. lists: for each of SIZES, of each part, the rows of the scores that are
    kept, ascending. by_item: the numbers of the scores, (m, 1 + d): those of an item lie in one
    line of a cache. usual: for each of SIZES how many items are kept where a cell is, on average,
    or an eighth of the most that are kept anywhere, if that is more.

    All is made here, and nothing with the first question, which would take longer than others.
    """

    scores: LinearScores = field(repr=False)
    edges: tuple[NDArray[np.float64], ...] = field(repr=False)
    part_of: NDArray[np.int32] = field(repr=False)
    lists: Mapping[int, Sequence[Rows]] = field(repr=False)
    by_item: NDArray[Any] = field(init=False, repr=False)
    usual: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        long = {size: np.array([len(rows) for rows in each]) for size, each in self.lists.items()}
        usual = {size: ceil(max(n[self.part_of].mean(), n.max() / 8)) for size, n in long.items()}
        object.__setattr__(self, "usual", usual)
        object.__setattr__(self, "by_item", np.ascontiguousarray(self.scores.numbers.T))

    def near(self, shifts: NDArray[np.float64], size: int) -> Candidates:
        """Whoever may be among the best of this size at each of these shifts (n, d)."""
        cells = [edges.searchsorted(w) for edges, w in zip(self.edges, shifts.T, strict=True)]
        every = self.lists[size]
        lists = [every[part] for part in self.part_of[tuple(cells)].tolist()]
        rows, sizes = np.concatenate(lists), np.array([len(each) for each in lists])
        factors = self.scores.factors(shifts).repeat(sizes, axis=0)
        # Not by BLAS, which raises false alarms: see `LinearScores.at`.
        found = np.einsum("ij,ij->i", self.by_item.take(rows, axis=0), factors)
        return Candidates(rows, found, sizes)


def upper_layers(
    scores: LinearScores, encoder: Encoder, sizes: Sequence[int], cells: int
) -> UpperLayers:
    """Of these items, those that may be among the best of each of these sizes, ascending, by where
    in the box that is. cells: a power of 2, at least one on each axis.
    """
    edges = _edges(encoder, cells)
    part_of = np.empty((len(edges) - 1,) * encoder.dimension, np.int32)
    lists: dict[int, list[Rows]] = {size: [] for size in sizes}
    kept = np.zeros(len(scores), np.bool_)
    for number, (low, high, rows) in enumerate(_parts(scores, edges, sizes[-1])):
        part_of[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = number
        kept[rows] = True
        lists[sizes[-1]].append(rows)
        for size in sizes[:-1]:  # whoever is among the best few is among the best many
            some = rows[scores.before[rows] < size]
            lists[size].append(_survivors(scores, some, _corners(edges, low, high), size))
    place = np.cumsum(kept, dtype=np.int32) - 1
    inner = tuple(np.ascontiguousarray(axis) for axis in edges[1:-1].T)
    fewer = scores.only(np.flatnonzero(kept))
    placed = {size: tuple([place[rows] for rows in each]) for size, each in lists.items()}
    return UpperLayers(fewer, inner, part_of, placed)


def _edges(encoder: Encoder, cells: int) -> NDArray[np.float64]:
    """Where cells end on each axis: after as many knots each, (cells on an axis + 1, d)."""
    on_axis = min(KNOTS - 1, 1 << ((cells.bit_length() - 1) // encoder.dimension))
    ranks = np.tile(np.arange(1, on_axis)[:, None] / on_axis, encoder.dimension)
    low, high = encoder.shift_limits
    return np.vstack([low, encoder.shifts(encoder.unit * ranks), high])


def _parts(
    scores: LinearScores, edges: NDArray[np.float64], k: int
) -> Iterator[tuple[Place, Place, Rows]]:
    """Parts of the box from a corner to another, and what survives in each; the part of which most
    does is halved first, as long as there is work to spend.
    """
    low, high = np.zeros(scores.dimension, np.int64), np.full(scores.dimension, len(edges) - 1)
    rows = np.flatnonzero(scores.before < k).astype(np.int32)
    rows = _survivors(scores, rows, _corners(edges, low, high), k)
    parts, turn = [(-len(rows), 0, low, high, rows)], count(1)
    spent, limit, listed = len(scores), _WORK * len(scores) + _MORE_WORK, len(rows)
    while parts:
        _, _, low, high, rows = heapq.heappop(parts)
        spent += 2 * len(rows)
        if len(rows) <= k or (high - low).max() == 1 or spent > limit or listed > _MOST_LISTED:
            yield low, high, rows
            continue
        listed -= len(rows)
        for half in _halves(low, high):
            left = _survivors(scores, rows, _corners(edges, *half), k)
            heapq.heappush(parts, (-len(left), next(turn), *half, left))
            listed += len(left)


def _survivors(scores: LinearScores, rows: Rows, corners: NDArray[np.float64], k: int) -> Rows:
    """Which of these items may be among the best k somewhere between these corners."""
    kept, better = [rows[:0]], rows[:0]
    for start in range(0, len(rows), _PIECE):
        tried = np.concatenate([better, rows[start : start + _PIECE]])
        found = scores.at(corners, tried)  # (2**d, items)
        most, usual = found.max(axis=1, keepdims=True), found.mean(axis=1, keepdims=True)
        behind = (found - most) / np.maximum(most - usual, scores.margin)
        best = _last(behind.min(axis=0), k)
        least = found[:, best].min(axis=1, keepdims=True) if len(best) == k else -np.inf
        alive: NDArray[np.bool_] = np.any(found >= least - 4 * scores.margin, axis=0)
        kept.append(tried[len(better) :][alive[len(better) :]])
        better = tried[best]
    return np.concatenate(kept)


def _last(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The places of the k largest, or of all."""
    return np.argpartition(values, -min(k, len(values)))[-k:]


def _corners(edges: NDArray[np.float64], low: Place, high: Place) -> NDArray[np.float64]:
    """The corners of a part of the box, (2**d, d)."""
    d = len(low)
    ends = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    corners: NDArray[np.float64] = edges[np.where(ends, high, low), np.arange(d)]
    return corners


def _halves(low: Place, high: Place) -> list[tuple[Place, Place]]:
    """A part in two, across an axis on which it has the most cells."""
    axis = int((high - low).argmax())
    before, after = high.copy(), low.copy()
    before[axis] = after[axis] = (low[axis] + high[axis]) // 2
    return [(low, before), (after, high)]
