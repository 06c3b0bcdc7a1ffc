"""One exact draw from weights that are not rational: a lazy inverse CDF with a float filter.

    P(i) = w_i / T,   T = w_1 + w_2 + ...,   every w_i a positive real known by enclosures

U is uniform on [0, 1) and is read bit by bit; the draw is the bucket of U * T among the prefix
sums. Float64 looks first and answers only where U is farther from every bucket's edge than the
float sums can be wrong; otherwise more bits of U are read and the same edges are enclosed by
integers, twice as closely each time. So the law is exactly P: no float decides anything that an
exact computation would decide otherwise. It ends with probability one.

What the filter rests on. IEEE arithmetic, and an `exp` whose relative error is below 2**-45 (the
libraries in use are within 2**-51). Then with n terms a block and m blocks every prefix sum, and
T, has a relative error below

    error = expm1(log_error) + 2**-44 + (n + m + 8) * 2**-52 + exp(log_rest) / T,

so an edge as a fraction of T is within 3 * error of its float value.

Complexity: O(number of classes) time, O(one block) memory; the exact look is needed with
probability about 6 * error * (classes that matter), near 1e-9 for a hundred classes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import exp, expm1, inf, log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askew.dp.intervals import exp_minus, ln2
from askew.noise.randomness import RandomBits, check_bits

BLOCK = 1 << 16
_EXP_ERROR = 2.0**-45
_DEPTHS = 18.0, 32.0  # nats: mostly enough; what is left out weighs less than `exp` may be wrong
_ULP = 2.0**-52
_LN2 = log(2)


@dataclass(frozen=True, repr=False)
class WeightBlock:
    """A run of consecutive classes. keys: int64 (n,). logs: float64 (n,), ln of their weights."""

    keys: NDArray[np.int64]
    logs: NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class WeightTable:
    """The classes that matter at some depth, in the order of the buckets.

    parts: each makes one block, afresh at every call, so that only one need be in memory.
    log_error bounds the error of every entry of `logs` but of those that weigh below 2**-80 of all,
    which are off by a few units of their last place. log_rest is at least ln of the total
    weight of the classes that are left out, wherever in the order they belong.
    """

    parts: Sequence[Callable[[], WeightBlock]]
    log_error: float
    log_rest: float = -inf


class Classes(Protocol):
    """Weighted classes: a float view to decide quickly, integer enclosures to decide surely."""

    def table(self, depth: float) -> WeightTable:
        """List all classes but some that weigh below about exp(-depth) of all, together."""

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Return integers (below, above) of weight * 2**shift, at most about 2**-60 of T apart."""


class Draws:
    """The exact random choices that mechanisms are made of, from one source of bits.

    Raises ParameterError for what is none.
    """

    def __init__(self, bits: RandomBits) -> None:
        check_bits(bits)
        self.bits = bits

    def below(self, limit: int) -> int:
        """Draw a uniform integer in [0, limit), limit >= 1, exactly."""
        return self.bits.below(limit)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform 64-bit words, uint64 (count,)."""
        return np.frombuffer(self.bits.read(8 * count), dtype=">u8").astype(np.uint64)

    def below_each(self, limits: Sequence[int] | NDArray[np.int64]) -> list[int]:
        """Draw independent uniform integers, the i-th in [0, limits[i]), limits >= 1, exactly.

        A word modulo the limit. The 2**64 mod limit lowest words would be more than a multiple of
        the limit, and are drawn again.
        """
        sizes = np.asarray(limits, dtype=np.int64).astype(np.uint64)
        excess = np.negative(sizes) % sizes  # of 2**64, which is 0 here
        words = self.words(len(sizes))
        again = np.flatnonzero(words < excess)
        while len(again):
            words[again] = self.words(len(again))
            again = again[words[again] < excess[again]]
        drawn: list[int] = (words % sizes).astype(np.int64).tolist()
        return drawn

    def choose(self, classes: Classes) -> int:
        """Draw the key of one class, with probability exactly proportional to its weight."""
        word = int.from_bytes(self.bits.read(8))
        for depth in _DEPTHS:
            key = _filtered(classes.table(depth), word)
            if key is not None:
                return key
        return _refined(classes, word, self.bits)


def enclose(multiplicity: Fraction | int, exponent: Fraction, shift: int) -> tuple[int, int]:
    """Return integers strictly below and above multiplicity * exp(-exponent) * 2**shift, each off
    by at most 1 and 2**-60 of it: (376, 377) for 1, 1 and 10, (255, 257) for 1, 0 and 8.

    exponent may be negative. exp(-x) = 2**-n exp(-r) with n near x / ln 2 and r in [0, 1).
    """
    n = (exponent * (1 << 64) / ln2(64)).__floor__() - 1
    size = multiplicity.numerator.bit_length() - multiplicity.denominator.bit_length() + 1
    if n > 2 * max(size + shift, 0) + 64:  # far below one unit, by more bits than memory may have
        return 0, 1
    precision = max(size - n + shift, 0) + 64 + n.bit_length() + 2
    fixed = (exponent * (1 << precision)).__floor__()
    rest = fixed - n * ln2(precision)  # off by one for the floor, and by 2 |n| for ln 2
    low = exp_minus(max(rest + 1 + 2 * abs(n), 0), precision)[0] * multiplicity.numerator
    high = exp_minus(max(rest - 2 * abs(n), 0), precision)[1] * multiplicity.numerator
    move, below = shift - n - precision, multiplicity.denominator
    if move >= 0:
        return (low << move) // below, -(-(high << move) // below)
    return low // (below << -move), -(-high // (below << -move))


def blocks_of(
    keys: NDArray[np.int64], logs: NDArray[np.float64]
) -> list[Callable[[], WeightBlock]]:
    """Cut arrays (n,) into blocks of at most 2**16 classes; return a list of functions, each of
    which makes the WeightBlock of one.
    """
    starts = range(0, len(keys), BLOCK)
    return [partial(WeightBlock, keys[i : i + BLOCK], logs[i : i + BLOCK]) for i in starts]


def log_total(table: WeightTable) -> float:
    """Return ln of the sum of the weights listed, one or more, by float64."""
    top, sums, *_ = _sums(table)
    return top + log(float(sums[-1]))


def _sums(
    table: WeightTable,
) -> tuple[float, NDArray[np.float64], WeightBlock, NDArray[np.float64], int]:
    # The highest log-weight, the running sum over parts of the weights relative to it, the last
    # part, the running sum within it relative to that part's highest, and the longest part's
    # length.
    tops, sums, longest = [], [], 0
    for part in table.parts:
        block = part()
        logs = block.logs
        top = float(logs.max())
        edges = np.cumsum(np.exp(logs - top)) if top > -inf else np.zeros(len(logs))
        tops.append(top)
        sums.append(float(edges[-1]))
        longest = max(longest, len(logs))
    highest = max(tops)
    running = np.cumsum(np.array(sums) * np.exp(np.array(tops) - highest))
    return highest, running, block, edges, longest


def _filtered(table: WeightTable, word: int) -> int | None:
    # The key whose bucket surely holds U in [word, word + 1) / 2**64, or None if unsure.
    top, sums, block, edges, longest = _sums(table)
    total, u = float(sums[-1]), word / 2**64
    index = min(int(np.searchsorted(sums, u * total, side="right")), len(sums) - 1)
    block = block if index == len(sums) - 1 else table.parts[index]()
    rest = exp(min(table.log_rest - top, 700.0)) / total
    terms = len(sums) + longest + 8
    error = expm1(min(table.log_error, 700.0)) + 2 * _EXP_ERROR + terms * _ULP + rest
    margin = 3 * error + 2 * _ULP
    before = float(sums[index - 1]) if index else 0.0
    if len(sums) > 1:  # the last part need not be the one; a part by itself is not summed twice
        edges = before + np.cumsum(np.exp(block.logs - top))
    place = min(int(np.searchsorted(edges, u * total, side="right")), len(edges) - 1)
    low = (float(edges[place - 1]) if place else before) / total
    high = float(edges[place]) / total
    first = index == 0 and place == 0 and table.log_rest == -inf
    last = index == len(sums) - 1 and place == len(edges) - 1 and table.log_rest == -inf
    sure = (first or low + margin < u) and (last or u < high - margin)
    return int(block.keys[place]) if sure else None


def _refined(classes: Classes, word: int, bits: RandomBits) -> int:
    length, precision = 64, 128
    while True:
        word = (word << (precision - length)) | int.from_bytes(bits.read((precision - length) // 8))
        length = precision
        key = _enclosed(classes, word, precision)
        if key is not None:
            return key
        precision *= 2


def _enclosed(classes: Classes, word: int, precision: int) -> int | None:
    # The key whose bucket surely holds U in [word, word + 1) / 2**precision, or None.
    table = classes.table((precision + 32) * _LN2)
    top = max(float(part().logs.max()) for part in table.parts)
    shift = precision + 64 - int(top / _LN2)
    floor = -shift * _LN2 - 1.0 - table.log_error
    keys, lows, highs = [], [], []
    for part in table.parts:
        block = part()
        for key, weight in zip(block.keys.tolist(), block.logs.tolist(), strict=True):
            low, high = (0, 1) if weight < floor else classes.enclose(key, shift)
            keys.append(key)
            lows.append(low)
            highs.append(high)
    # An integer that is at least its share, with room for the error of log_rest.
    rest = 0 if table.log_rest == -inf else 1 << max(0, int(table.log_rest / _LN2 + shift) + 2)
    low_edges, high_edges = list(accumulate(lows)), list(accumulate(highs))
    total_low, total_high = low_edges[-1], high_edges[-1] + rest
    least, most = word * total_low >> precision, -(-(word + 1) * total_high >> precision)
    place = min(bisect_right(low_edges, (least + most) // 2), len(keys) - 1)
    before = high_edges[place - 1] + rest if place else rest
    sure = before <= least and (most <= low_edges[place] or (place == len(keys) - 1 and not rest))
    return keys[place] if sure else None
