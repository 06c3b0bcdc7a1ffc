"""Count vectors as mechanisms see them: distinct values, and who has them.

Ranks run from 0, highest count first, ties to the lower item id. Every mechanism works on the
distinct values, whose number is far below that of the items, and asks for item ids at the end.
At the end, the checks that every mechanism's public parameters pass, once, at construction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, log
from typing import cast

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    NeighboringRelation,
    PureDP,
    check_neighbors,
    exact_rational,
    positive_rational,
)
from askew.errors import ParameterError
from askew.limits import MAX_SELECTED
from askew.mechanisms.weights import Draws
from askew.noise.randomness import KERNEL, RandomBits

Integers = NDArray[np.int64]
Counts = Sequence[int] | NDArray[np.integer]
Scores = Sequence[int | Fraction] | Counts
_LIMIT = 1 << 61
_FINEST = 1 << 256  # parts of one: at any epsilon floats hold what one of them is worth
_NARROW = 256  # between the highest and the lowest count, a byte tells counts apart
_FEW = 16  # values: each is counted in a pass over bytes
_WHOLE = (int, np.integer)
_ADVICE = (
    "integers of magnitude below 2**61 (any numpy integer dtype or a list of ints); "
    "round or scale floats to integers before they meet a mechanism"
)


@dataclass(frozen=True, repr=False)
class ValueGroups:
    """Distinct values in descending order, how many items have each, and at least each: (g,)."""

    values: Integers
    sizes: Integers
    ends: Integers


class Tally:
    """Distinct values of a count vector (d,) in descending order, with how many items have each.

    values, sizes: int64, (g,). ends: int64, (g,), number of items with at least this value.
    unit: what one step of `values` is worth; 1 for counts.
    Private: never stored in a mechanism. Raises ParameterError for fewer than `least` counts, and
    for what is no vector of integers below 2**61. Complexity: O(d) or one sort, when they are asked
    for; of the values above a bound, O(d) and a sort of those.
    """

    def __init__(self, counts: Counts, least: int = 1, unit: Fraction = Fraction(1)) -> None:
        self.counts, self.unit = _whole_numbers("counts", counts, least), unit
        self.highest, self.lowest = int(self.counts.max()), int(self.counts.min())
        _check_range("counts", self.lowest, self.highest)
        nothing = np.zeros(0, dtype=np.int64)
        self._seen, self._bound = ValueGroups(nothing, nothing, nothing), self.highest + 1

    @property
    def values(self) -> Integers:
        """Return the distinct counts, descending, int64 (g,)."""
        return self.down_to(self.lowest).values

    @property
    def sizes(self) -> Integers:
        """Return how many items have each of `values`, in that order, int64 (g,)."""
        return self.down_to(self.lowest).sizes

    @property
    def ends(self) -> Integers:
        """Return how many items have at least each of `values`, in that order, int64 (g,)."""
        return self.down_to(self.lowest).ends

    def down_to(self, low: int) -> ValueGroups:
        """Return the groups of at least this value, and perhaps lower ones: those of an earlier
        bound, and all after a second bound.
        """
        if max(low, self.lowest) < self._bound:
            some = low > self.lowest and self._bound > self.highest
            counts = self.counts[self.counts >= low] if some else self.counts
            self._bound = low if some else self.lowest
            self._seen = _distinct(counts, self.highest, self._bound)
        return self._seen

    def down_to_group(self, last: int) -> ValueGroups:
        """Return the groups, or the first of them: at least those of index 0 to `last`."""
        return self._seen if last < len(self._seen.values) else self.down_to(self.lowest)

    def __len__(self) -> int:
        return len(self.counts)

    def value_at(self, rank: int) -> int:
        """Return the count of the item at a rank, 0 being the highest count's. Raises IndexError
        beyond the last.
        """
        return int(self.values[self.group_of(rank)])

    def group_of(self, rank: int) -> int:
        """Return the index in `values` of the count of the item at a rank from 0; len(values)
        beyond the last rank.
        """
        return int(np.searchsorted(self.ends, rank, side="right"))

    def top(self, count: int) -> Integers:
        """Return the `count` highest counts, in descending order. Raises IndexError where there are
        fewer.
        """
        ranks = np.arange(count)
        return self.values[np.searchsorted(self.ends, ranks, side="right")]

    def items_at(self, ranks: Sequence[int] | Integers) -> tuple[int, ...]:
        """Return the item ids at these ranks, 0 being the highest count's, in the order given; of
        equal counts the lower id has the lower rank. Raises IndexError beyond the last.
        """
        asked = np.asarray(ranks, dtype=np.int64)
        groups, deepest = self._seen, int(asked.max(initial=0))
        if not len(groups.ends) or deepest >= groups.ends[-1]:
            groups = self.down_to(self.lowest)
        places = np.searchsorted(groups.ends, asked, side="right")
        lowest = int(groups.values[places.max(initial=0)])
        if self.highest - self.lowest < _NARROW:
            items = asked - (groups.ends - groups.sizes)[places]  # places among the value's holders
            narrow = self.counts.astype(np.uint8)
            for place in np.unique(places).tolist():
                holders = np.flatnonzero(narrow == (int(groups.values[place]) & 255))
                items[places == place] = holders[items[places == place]]
            return tuple(items.tolist())
        some = None if lowest == self.lowest else np.flatnonzero(self.counts >= lowest)
        below = self.highest - (self.counts if some is None else self.counts[some])
        size = len(below)
        if (self.highest - lowest + 1) * size < _LIMIT:
            below *= size  # with the place behind it, much quicker than a stable sort of places
            below += np.arange(size)
            below.sort()
            chosen = below[asked] % size
        else:
            chosen = np.argsort(below, kind="stable")[asked]
        return tuple((chosen if some is None else some[chosen]).tolist())


def integers(counts: Counts, least: int, name: str = "counts") -> Integers:
    """Return counts, or ids, as int64 (d,), d >= least, of magnitudes below 2**61, of either sign.

    Takes sequences of ints and arrays of a dtype of integers. Raises ParameterError, which names
    types and lengths, never a count, for all else: bools, floats such as 1.0, sets, mappings.
    """
    exact = _whole_numbers(name, counts, least)
    if len(exact):
        _check_range(name, int(exact.min()), int(exact.max()))
    return exact


def _whole_numbers(name: str, counts: Counts, least: int) -> Integers:
    # Here every mechanism's counts are looked at, and nowhere else. A sequence or an array: a
    # mapping has no ids, a set no order, bytes are rarely counts, and a mask would be lost.
    if not isinstance(counts, np.ndarray):
        kinds = _kinds(name, counts)
        if not all(issubclass(kind, _WHOLE) and kind is not bool for kind in kinds):
            raise ParameterError(name, "other numbers", _ADVICE)
        try:
            counts = np.array(counts if kinds <= {int} else [*map(int, counts)], dtype=np.int64)
        except OverflowError:
            raise ParameterError(name, "larger integers", _ADVICE) from None
    if isinstance(counts, np.ma.MaskedArray):
        raise ParameterError(name, type(counts), f"{_ADVICE}; a masked array with .filled(0)")
    if counts.dtype.kind not in "iu":
        raise ParameterError(name, f"dtype {counts.dtype}", _ADVICE)
    if counts.ndim != 1 or len(counts) < least:
        limit = f"one-dimensional with at least {least} items"
        raise ParameterError(name, f"shape {counts.shape}", limit)
    if counts.dtype == np.uint64:  # before the sign bit of int64 is one of them
        _check_range(name, 0, int(counts.max(initial=0)))
    return counts.astype(np.int64, copy=False)


def _check_range(name: str, lowest: int, highest: int) -> None:
    if lowest <= -_LIMIT or highest >= _LIMIT:
        raise ParameterError(name, "larger integers", _ADVICE)


def _kinds(name: str, counts: object) -> set[type]:
    if not isinstance(counts, Sequence) or isinstance(counts, (str, bytes, bytearray, memoryview)):
        raise ParameterError(name, type(counts), _ADVICE)
    return set(map(type, counts))


def _distinct(counts: Integers, high: int, low: int) -> ValueGroups:
    # Without a sort where that is cheaper.
    if high - low <= len(counts) // 4 + 1024:
        if high - low < _FEW:
            narrow, values = counts.astype(np.uint8), range(high, low - 1, -1)
            frequencies = np.array([np.count_nonzero(narrow == (value & 255)) for value in values])
        else:
            frequencies = np.bincount(high - counts)
        behind = np.flatnonzero(frequencies)
        sizes = frequencies[behind]
        return ValueGroups(high - behind, sizes, np.cumsum(sizes))
    is_short = max(high, -low) < 1 << 31  # half as wide, they are sorted in half the time
    ordered = np.sort(counts.astype(np.int32 if is_short else np.int64))
    firsts = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)[::-1]
    ends = len(ordered) - firsts
    sizes = ends.copy()
    sizes[1:] -= ends[:-1]
    return ValueGroups(ordered[firsts].astype(np.int64), sizes, ends)


_SIZE = 2**256


def check_positive_int(name: str, value: object) -> None:
    """Raise ParameterError unless value is an int, no bool and none of numpy's, from 1 to
    2**32 - 1.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(name, value, "an int of at least 1")
    if value > MAX_SELECTED:
        raise ParameterError(name, value, f"an int of at most {MAX_SELECTED}")


def check_positive(name: str, value: object) -> None:
    """Raise ParameterError unless value is an int or a Fraction above 0, from 2**-256 to
    2**256: floats, through which exact laws are looked at first, hold its products with counts.
    """
    if not 1 <= positive_rational(name, value) * _SIZE <= _SIZE**2:
        raise ParameterError(name, value, "from 2**-256 to 2**256")


def check_probability(name: str, value: object) -> None:
    """Raise ParameterError unless value is a Fraction strictly between 0 and 1."""
    if not 0 < exact_rational(name, value) < 1:
        raise ParameterError(name, value, "strictly between 0 and 1")


def ln(x: Fraction | int) -> float:
    """Return ln x as a float for x above 0, also where x is beyond float64's range."""
    return log(x.numerator) - log(x.denominator)


def one_way(neighbors: NeighboringRelation) -> bool:
    """Return True for ADD_OR_REMOVE_ONE: all counts that change move the same way."""
    return neighbors is ADD_OR_REMOVE_ONE


def halved(epsilon: Fraction | int, neighbors: NeighboringRelation) -> Fraction:
    """Return epsilon under ADD_OR_REMOVE_ONE, half of epsilon under REPLACE_ONE."""
    return Fraction(epsilon) if one_way(neighbors) else Fraction(epsilon) / 2


@dataclass(frozen=True, kw_only=True)
class Counted(ABC):
    """A mechanism over counts: its public parameters, and the one door to private counts.

    Raises ParameterError for parameters out of range.
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation

    def __post_init__(self) -> None:
        check_positive_int("k", self.k)
        check_positive("epsilon", self.epsilon)
        check_neighbors(self.neighbors)

    def privacy_loss(self) -> PureDP:
        """Return epsilon for the whole selection, whatever k."""
        return PureDP(Fraction(self.epsilon), self.neighbors)

    @abstractmethod
    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally: best first, or ascending for a set."""

    def select(self, counts: Counts, *, bits: RandomBits = KERNEL) -> tuple[int, ...]:
        """Return k item ids, the places of their counts: best first, or ascending for a set. Raises
        ParameterError for fewer than k counts, and where `integers` does.
        """
        return self.draw(Tally(counts, self.k), Draws(bits))


@dataclass(frozen=True, kw_only=True)
class Scored(Counted):
    """A mechanism over counts, or over scores of a stated sensitivity.

    linf_sensitivity: how far a score can move; None for counts, which a unit moves by at most 1. Of
    scores that move both ways: between neighbors, so under REPLACE_ONE when one unit's events
    become another's, up to twice what a unit moves that comes. Of monotone ones: when a unit comes;
    under REPLACE_ONE that is as far as a score moves, up or down.
    monotone: whether a unit that comes moves no score down; None: counts yes, scores no.
    """

    linf_sensitivity: Fraction | int | None = None
    monotone: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linf_sensitivity is not None:
            check_positive("linf_sensitivity", self.linf_sensitivity)
        if self.monotone is not None and not isinstance(self.monotone, bool):
            raise ParameterError("monotone", self.monotone, "True, False or None")

    def select(self, counts: Scores, *, bits: RandomBits = KERNEL) -> tuple[int, ...]:
        """Return k item ids, as `Counted.select` does, of counts or of scores."""
        return self.draw(tally_for(self, counts), Draws(bits))


def rate_of(mechanism: Scored) -> Fraction:
    """Return epsilon / sensitivity, which is linf_sensitivity, or 1 for counts; halved where scores
    may move both ways: unless they are monotone and under ADD_OR_REMOVE_ONE.
    """
    counts = mechanism.linf_sensitivity is None
    monotone = counts if mechanism.monotone is None else mechanism.monotone
    sensitivity = Fraction(1 if mechanism.linf_sensitivity is None else mechanism.linf_sensitivity)
    epsilon = Fraction(mechanism.epsilon)
    return (halved(epsilon, mechanism.neighbors) if monotone else epsilon / 2) / sensitivity


def tally_for(mechanism: Scored, scores: Scores) -> Tally:
    """Return scores of a mechanism as a Tally, of either sign; Fractions as ints over their common
    denominator: of 1/2 and 3 the values are 6 and 1, the `unit` 1/2.

    Raises ParameterError for fewer than k, for floats and mappings, for Fractions where the
    mechanism states no linf_sensitivity, and for a common denominator above 2**256.
    """
    kinds = set() if isinstance(scores, np.ndarray) else _kinds("scores", scores)
    if Fraction not in kinds:
        return Tally(cast("Counts", scores), mechanism.k)
    if not all(issubclass(kind, (*_WHOLE, Fraction)) and kind is not bool for kind in kinds):
        raise ParameterError("scores", "other numbers", "ints and Fractions")
    if mechanism.linf_sensitivity is None:
        raise ParameterError("scores", "Fractions", "counts, unless linf_sensitivity is stated")
    exact = [score if isinstance(score, Fraction) else Fraction(int(score)) for score in scores]
    scale = lcm(*(score.denominator for score in exact))
    if scale > _FINEST:
        limit = "of a common denominator of at most 2**256"
        raise ParameterError("scores", "finer Fractions", limit)
    return Tally([int(score * scale) for score in exact], mechanism.k, Fraction(1, scale))
