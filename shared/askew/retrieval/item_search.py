"""The best items at points, exactly, without looking at most of them.

The exact score of an item is the float64 product of its vector with the taste that a point is
decoded to, and of equal scores the lower id is better: what a plain loop over all items finds is
what is found here. Of items that can be among the best k anywhere there are lists, by where in the
box that is (`upper_layers`, up to 4 dimensions and 64 items); linear scores with a proved margin
leave those that may be the best at a probe (`LinearScores`); exact scores decide between these
alone. All is made beforehand and nothing is kept of a question, so no answer is sooner because
somebody asked the same; answers of more items need `prepare`, or make all numbers anew.

**Linear scores** say nearly what an item is worth at any point, by d + 1 numbers an item. A point
is decoded to a taste that is linear in d shifts w (`Encoder.tastes`), so a score is, too:

    f_i(w) = <v_i, origin> + sum_j w_j <v_i, p_j>,    p_j the taste that a shift of 1 adds

The exact score of an item, which decides, is the float64 product s_i = <v_i, taste> of its vector
with the decoded taste, summed in the same order for every item. What is computed here is F_i.

Slack. Let V be the largest |v_i|_2, and R = |origin|_2 + sum_j max|w_j| |p_j|_2, so that no taste
is longer than R and no |f_i| is above V R. By the bound of any sum of n products, n u / (1 - n u),
with u = 2**-53 and s = 2**-24, the unit roundoff of float32, in which F is computed:

    |s_i - f_i| <= ((d + 2) u + D u) V R (1 + ...)    the taste is rounded, then the product
    |F_i - f_i| <= (D u + (d + 4) s) V R (1 + ...)    numbers, their cast, shifts' cast, the sum

so |F_i - s_i| < margin := (2 (D + d + 8) u + (d + 8) s) V R + 2**-80, where the rest of 8 covers
the second order (D, d <= 256) and the rounding of one threshold F - 2 margin, and 2**-80 underflow.
So an item whose F is more than 2 margin below another's has the lower exact score. Where V R is
beyond 2**80, F is 0 for all, which tells nothing and is never wrong, whatever the margin: it is
that of 2**80, which float32 can say.

**Upper layers** are the items that can be among the best k near a point. Shifts w lie in a box
(`Encoder.shift_limits`), which is cut into cells between knots, so that about
as many people are in each. The box is halved again and again, down to cells. In each part an item i
is dropped where k others J are better throughout it:

    F_i(w) < min_{j in J} F_j(w) - 4 margin    at every corner w of the part

Proof that no answer changes. At the corners f_i < f_j - 2 margin for each j in J, since F is off by
less than margin; f_j - f_i is linear, so that holds in the whole part; so does
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.spaces.vectors import KNOTS, Encoder

_PIECE = 1 << 16  # items
_ODD = 0x9E3779B97F4A7C15
_BITS = np.uint32

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]


def doubles_before(vectors: Vectors, many: int) -> NDArray[np.int32]:
    """Return for every item (n, D) how many of lower ids have the same vector, bit by bit; (n,).

    The count is 0 for all items of a vector that no more than `many` have. O(n D + n log n) time;
    24 n bytes.
    """
    keys, before = _keys(vectors), np.zeros(len(vectors), np.int32)
    ascending = np.sort(keys)
    often = np.unique(ascending[many:][ascending[many:] == ascending[: len(keys) - many]])
    rows = np.flatnonzero(np.isin(keys, often)) if len(often) else often.astype(np.int64)
    rows = rows[np.argsort(keys[rows], kind="stable")]  # of one key together, by id
    for group in np.split(rows, np.flatnonzero(np.diff(keys[rows])) + 1):
        first = vectors[group[:1]].view(_BITS)
        parts = (group[at : at + _PIECE] for at in range(0, len(group), _PIECE))
        if all((vectors[part].view(_BITS) == first).all() for part in parts):  # keys prove nothing
            before[group] = np.arange(len(group))
    return before


def _keys(vectors: Vectors) -> NDArray[np.uint64]:
    # Equal for equal bits, and hardly ever else.
    factors = np.cumprod(np.full(vectors.shape[1], _ODD, np.uint64))  # modulo 2**64
    keys = np.empty(len(vectors), np.uint64)
    for start in range(0, len(vectors), _PIECE):
        some = slice(start, start + _PIECE)
        keys[some] = np.ascontiguousarray(vectors[some]).view(_BITS) @ factors
    return keys


_BLOCK = 256  # items whose best one stands for them
_AT_ONCE = 1 << 19  # scores: 2 MiB, which stay in a core's own cache
_LARGEST = 2.0**80


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Some items. numbers: (1 + d, m). items: (m,), their ascending ids. margin: see above. before:
    as `doubles_before`, (m,).
    """

    numbers: NDArray[Any] = field(repr=False)
    items: NDArray[np.int64] = field(repr=False)
    margin: float
    before: NDArray[np.int32] = field(repr=False)

    def __len__(self) -> int:
        """Return the number m of items."""
        return len(self.items)

    @property
    def dimension(self) -> int:
        """Return the number d of shifts."""
        return len(self.numbers) - 1

    def at(self, shifts: NDArray[np.float64], some: slice | NDArray[np.int64]) -> NDArray[Any]:
        """Return the linear scores, `factors` @ numbers, of some of the items at these shifts (n,
        d): (n, number of those items).

        All numbers are finite. OpenBLAS 0.3.31 calls a row times columns of 5 invalid now and then,
        by what its registers held before; the product is right.
        """
        with np.errstate(invalid="ignore"):
            values: NDArray[Any] = self.factors(shifts) @ self.numbers[:, some]
        return values

    def factors(self, shifts: NDArray[np.float64]) -> NDArray[Any]:
        """Return what the numbers are multiplied with at these shifts (n, d), (n, 1 + d): a 1, then
        the shift.
        """
        moved = np.ones((len(shifts), 1 + self.dimension), self.numbers.dtype)
        moved[:, 1:] = shifts
        return moved

    def only(self, rows: NDArray[np.int64]) -> LinearScores:
        """Return the LinearScores of these rows alone, an array of ascending places in `items`, no
        ids.
        """
        return LinearScores(self.numbers[:, rows], self.items[rows], self.margin, self.before[rows])

    def leading(self, shifts: NDArray[np.float64], k: int) -> LinearScores:
        """Return items among which are, for each of these shifts (n, d), the k of the best exact
        scores and all that may be as good: a part of the items, or all of these scores where
        m n <= 2**19 or m < 256 k.

        O(m n d) time, O(n m / 256) memory. The k-th largest of the maxima of blocks is reached by k
        items.
        """
        if len(self) * len(shifts) <= _AT_ONCE or len(self) < k * _BLOCK:
            return self
        most = self._most_of_blocks(shifts)  # (n, blocks)
        reached = np.partition(most, -k, axis=1)[:, -k:].min(axis=1, keepdims=True)
        least = reached - 2 * self.margin
        blocks = np.flatnonzero((most >= least).any(axis=0))
        kept = []
        for part in np.array_split(blocks, 1 + len(blocks) * _BLOCK * len(shifts) // _AT_ONCE):
            rows = (part[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
            rows = rows[rows < len(self)]
            kept.append(rows[(self.at(shifts, rows) >= least).any(axis=0)])
        return self.only(np.concatenate(kept))

    def _most_of_blocks(self, shifts: NDArray[np.float64]) -> NDArray[Any]:
        # The largest F of every block of items, (n, blocks).
        n, size = len(shifts), _BLOCK * max(_AT_ONCE // (_BLOCK * len(shifts)), 1)
        parts = []
        for start in range(0, len(self), size):
            values = self.at(shifts, slice(start, start + size))
            whole = values.shape[1] // _BLOCK * _BLOCK
            parts.append(values[:, :whole].reshape(n, -1, _BLOCK).max(axis=2))
            if whole < values.shape[1]:
                parts.append(values[:, whole:].max(axis=1, keepdims=True))
        return np.concatenate(parts, axis=1)


def numbers_of(encoder: Encoder, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the numbers of every item (m, D), (1 + d, m): its products with the mean taste, and
    with what a shift of 1 in each coordinate adds.
    """
    along = np.vstack([encoder.origin, encoder.per_shift])
    numbers: NDArray[np.float64] = along @ vectors.T.astype(np.float64)
    return numbers


def largest_score(encoder: Encoder, vectors: NDArray[np.float32]) -> float:
    """Return the length of the longest of these vectors times (|origin| + the sum over coordinates
    of the larger |`shift_limits`| * the length of its row of `per_shift`), rounded up.
    """
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    shifts = np.abs(encoder.shift_limits).max(axis=0)
    tastes = np.linalg.norm(encoder.origin.astype(np.float64))
    tastes += shifts @ np.linalg.norm(encoder.per_shift, axis=1)
    return float(np.sqrt(squares.max()) * tastes) * (1 + 2.0**-40)


def margin_of(encoder: Encoder, largest: float) -> float:
    """Return how far a score that is computed from shifts can be off where none is above `largest`:
    (2 (D + d + 8) 2**-53 + (d + 8) 2**-24) min(largest, 2**80) + 2**-80, D being the encoder's
    `ranking_dimension`, d its `dimension`.
    """
    d, sizes = encoder.dimension, encoder.dimension + encoder.ranking_dimension
    unit, own = 2.0**-53, 2.0**-24
    return (2 * (sizes + 8) * unit + (d + 8) * own) * min(largest, _LARGEST) + 2.0**-80


Exact = Callable[[int, NDArray[np.integer[Any]]], int]
"""For a turn and some rows, the one of the best exact score."""


Candidates = tuple[NDArray[np.integer[Any]], NDArray[Any], NDArray[np.int64]]
"""Rows of items, ascending at each point, of one point after the other; what each is worth there,
nearly; and how many rows each point has, at least 1, (n,).
"""


def taken(candidates: Candidates, k: int, slack: float, exact: Exact) -> NDArray[np.int64]:
    """Return the best row of every point in turn that no earlier point took, (k,).

    The turn begins again at the first point until there are k. Where several rows are within the
    slack of the best one left, exact(the point, from 0, those rows) decides. Every point has at
    least as many rows as are taken.
    """
    rows_of, values, sizes = candidates
    ends = sizes.cumsum()
    starts = ends - sizes
    least = np.maximum.reduceat(values, starts) - slack
    near = (values >= least.repeat(sizes)).nonzero()[0]
    tied: set[int] = set()
    if len(near) > len(starts):
        first = near.searchsorted(starts)
        tied.update(np.flatnonzero(near.searchsorted(ends) - first > 1).tolist())
        near = near[first]
    best, gone = rows_of[near].tolist(), np.zeros(1 + int(rows_of.max()), np.bool_)
    chosen = []
    for turn in islice(cycle(range(len(best))), k):
        row = best[turn]
        if gone[row] or turn in tied:
            part = slice(starts[turn], ends[turn])
            left = np.where(gone[rows_of[part]], -np.inf, values[part])
            rows = rows_of[part][left >= left[left.argmax()] - slack]
            row = int(rows[0]) if len(rows) == 1 else exact(turn, rows)
        gone[row] = True
        chosen.append(row)
    return np.array(chosen)


MOST_DIMENSIONS = 4  # a part of the box has 2**d corners
CELLS = 1 << 12  # at most, and as many on each axis
_CORNERS_PIECE = 1 << 14  # items, whose scores at corners stay in a core's own cache
_WORK, _MORE_WORK = 64, 1 << 25  # items looked at, in all parts: for each item, and besides
_MOST_LISTED = 1 << 23  # 32 MiB

RowNumbers = NDArray[np.int32]
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
    lists: Mapping[int, Sequence[RowNumbers]] = field(repr=False)
    by_item: NDArray[Any] = field(init=False, repr=False)
    usual: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        long = {size: np.array([len(rows) for rows in parts]) for size, parts in self.lists.items()}
        usual = {size: ceil(max(n[self.part_of].mean(), n.max() / 8)) for size, n in long.items()}
        object.__setattr__(self, "usual", usual)
        object.__setattr__(self, "by_item", np.ascontiguousarray(self.scores.numbers.T))

    def near(self, shifts: NDArray[np.float64], size: int) -> Candidates:
        """Return as Candidates the rows of `scores` that may be among the `size` best at each of
        these shifts (n, d), their linear scores there, and how many rows each shift has. size: 16
        or 64.
        """
        cells = [edges.searchsorted(w) for edges, w in zip(self.edges, shifts.T, strict=True)]
        every = self.lists[size]
        lists = [every[part] for part in self.part_of[tuple(cells)].tolist()]
        rows, sizes = np.concatenate(lists), np.array([len(part) for part in lists])
        factors = self.scores.factors(shifts).repeat(sizes, axis=0)
        # Not by BLAS, which raises false alarms: see `LinearScores.at`.
        values = np.einsum("ij,ij->i", self.by_item.take(rows, axis=0), factors)
        return rows, values, sizes


def upper_layers(
    scores: LinearScores, encoder: Encoder, sizes: Sequence[int], cells: int
) -> UpperLayers:
    """List the items that may be among the best of these sizes, ascending, by part of the box.

    cells: a power of 2, at least one on each axis.
    """
    edges = _edges(encoder, cells)
    part_of = np.empty((len(edges) - 1,) * encoder.dimension, np.int32)
    lists: dict[int, list[RowNumbers]] = {size: [] for size in sizes}
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
    placed = {size: tuple([place[rows] for rows in parts]) for size, parts in lists.items()}
    return UpperLayers(fewer, inner, part_of, placed)


def _edges(encoder: Encoder, cells: int) -> NDArray[np.float64]:
    # After as many knots in every cell: (cells on an axis + 1, d).
    on_axis = min(KNOTS - 1, 1 << ((cells.bit_length() - 1) // encoder.dimension))
    ranks = np.tile(np.arange(1, on_axis)[:, None] / on_axis, encoder.dimension)
    low, high = encoder.shift_limits
    return np.vstack([low, encoder.shifts(encoder.unit * ranks), high])


def _parts(
    scores: LinearScores, edges: NDArray[np.float64], k: int
) -> Iterator[tuple[Place, Place, RowNumbers]]:
    # Of the box, from a corner to another, and what survives in them. The part in which most
    # survives is halved first, as long as there is work to spend.
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
        axis = int((high - low).argmax())  # the axis on which the part has the most cells
        before, after = high.copy(), low.copy()
        before[axis] = after[axis] = (low[axis] + high[axis]) // 2
        for half in ((low, before), (after, high)):
            left = _survivors(scores, rows, _corners(edges, *half), k)
            heapq.heappush(parts, (-len(left), next(turn), *half, left))
            listed += len(left)


def _survivors(
    scores: LinearScores, rows: RowNumbers, corners: NDArray[np.float64], k: int
) -> RowNumbers:
    # Rows that may be among the best k somewhere between these corners.
    kept, better = [rows[:0]], rows[:0]
    for start in range(0, len(rows), _CORNERS_PIECE):
        tried = np.concatenate([better, rows[start : start + _CORNERS_PIECE]])
        values = scores.at(corners, tried)  # (2**d, items)
        most, usual = values.max(axis=1, keepdims=True), values.mean(axis=1, keepdims=True)
        behind = (values - most) / np.maximum(most - usual, scores.margin)
        best = np.argpartition(behind.min(axis=0), -min(k, len(tried)))[-k:]
        least = values[:, best].min(axis=1, keepdims=True) if len(best) == k else -np.inf
        alive: NDArray[np.bool_] = np.any(values >= least - 4 * scores.margin, axis=0)
        kept.append(tried[len(better) :][alive[len(better) :]])
        better = tried[best]
    return np.concatenate(kept)


def _corners(edges: NDArray[np.float64], low: Place, high: Place) -> NDArray[np.float64]:
    d = len(low)
    ends = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    corners: NDArray[np.float64] = edges[np.where(ends, high, low), np.arange(d)]
    return corners


SIZES = (16, 64)  # of answers, for which items are left out beforehand
_FEW = 1024  # items, of which none is left out
_EXACT = 1024  # items whose vectors are widened at once

Scores = NDArray[np.float64]


class ItemSearch:
    """Of scoring vectors (n_items, D). Complexity: O(n_items D d) beforehand; for an answer of k
    items O(k (d m + D)) with m the items of a list, a few hundred, else O(k d n_items).

    cells: for how many parts of the box there are lists. Fewer are made sooner, and are longer.
    """

    def __init__(self, encoder: Encoder, scoring: NDArray[np.float32], cells: int = CELLS) -> None:
        self._encoder, self._scoring = encoder, scoring
        self._largest = largest_score(encoder, scoring) if len(scoring) else 0.0
        pays = len(scoring) > _FEW and encoder.dimension <= MOST_DIMENSIONS
        before = doubles_before(scoring, SIZES[0]) if pays else None
        every = self._every_item(before)
        self._layers = upper_layers(every, encoder, SIZES, cells) if pays else None
        self._all = None if pays else every  # no memory for what is asked for rarely, if ever

    def prepare(self, most: int) -> None:
        """Make what answers of up to `most` items need beyond the lists, if `most` is above 64."""
        if most > SIZES[-1] and self._all is None:
            self._all = self._every_item()

    def looked_at(self, k: int) -> int:
        """Return how many items a probe usually looks at, never over eight times that; all of them
        for a k above 64, up to 1024 items, or more than 4 dimensions.
        """
        layers = self._layers_for(k)
        return len(self._scoring) if layers is None else layers.usual[_size_of(k)]

    def best(self, points: Scores, k: int) -> NDArray[np.int64]:
        """Return the best item of every point (n, d) that no earlier point took, by its row in the
        scoring vectors, (k,), 1 <= k <= n_items, in the order of the points.

        The turn begins again at the first point until there are k.
        """
        shifts = self._encoder.shifts(points)
        layers = self._layers_for(k)
        if layers is None:
            few = (self._all or self._every_item()).leading(shifts, k)
        else:
            few = layers.scores

        def exact(turn: int, rows: NDArray[np.integer[Any]]) -> int:
            return self._first_best(few.items, rows, self._encoder.tastes(shifts)[turn])

        if layers is None:
            values = few.at(shifts, slice(None))
            n, m = values.shape
            rows = np.broadcast_to(np.arange(m), (n, m)).ravel()
            near: Candidates = rows, values.ravel(), np.full(n, m)
        else:
            near = layers.near(shifts, _size_of(k))
        return few.items[taken(near, k, 2 * few.margin, exact)]

    def _layers_for(self, k: int) -> UpperLayers | None:
        return self._layers if k <= SIZES[-1] else None

    def _first_best(
        self, items: NDArray[np.int64], rows: NDArray[np.integer[Any]], taste: Scores
    ) -> int:
        best, score = 0, -np.inf
        for start in range(0, len(rows), _EXACT):
            some = rows[start : start + _EXACT]
            vectors = self._scoring[items[some]].astype(np.float64)
            scores = np.vecdot(vectors, taste)  # each summed in the same order
            if scores.max() > score:
                best, score = int(some[scores.argmax()]), float(scores.max())
        return best

    def _every_item(self, before: NDArray[np.int32] | None = None) -> LinearScores:
        # Read some at a time: all vectors at once in float64 are twice as large as they are.
        n = len(self._scoring)
        numbers = np.zeros((1 + self._encoder.dimension, n), np.float32)
        for start in range(0, n, _PIECE) if self._largest <= _LARGEST else ():
            some = slice(start, start + _PIECE)
            numbers[:, some] = numbers_of(self._encoder, self._scoring[some])
        margin = margin_of(self._encoder, self._largest)
        before = np.zeros(n, np.int32) if before is None else before
        return LinearScores(numbers, np.arange(n), margin, before)


def _size_of(k: int) -> int:
    return next(size for size in SIZES if k <= size)
