"""Uniform draws without replacement, in memory that depends on how many are drawn only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from askew.exact import Draws
from askew.mechanisms.tally import Integers, Tally

_SHARE = 0.25  # of all items: one of so many that are left is found by chance
_SMALL = 1 << 12  # items: of fewer, one is found by its rank
_TRIES = 4  # that are read at once


class Urn:
    """Places 0, 1, 2, ... of which some are taken: a Fisher-Yates shuffle that is never stored.

    The order of the places taken so far is a prefix of a uniform permutation.
    """

    def __init__(self) -> None:
        self._moved: dict[int, int] = {}
        self._taken = 0

    def take(self, size: int, draws: Draws) -> int:
        """A uniform place among those below `size` that are left; takes it out.

        Every place taken so far must have been below `size`: pools may grow, never shrink.
        """
        return self.pick(draws.below(size - self._taken))

    def take_each(self, sizes: Sequence[int] | Integers, draws: Draws) -> list[int]:
        """As `take`, for one size after the other; the draws are read at once."""
        taken = np.arange(self._taken, self._taken + len(sizes))
        limits = np.asarray(sizes, dtype=np.int64) - taken
        return [self.pick(mark) for mark in draws.below_each(limits)]

    def take_fresh(self, low: int, high: int, draws: Draws) -> int:
        """A uniform place in [low, high), where nothing was taken or moved so far."""
        return self.pick(low - self._taken + draws.below(high - low))

    def pick(self, mark: int) -> int:
        """The place that a mark among those left stands for; takes it out."""
        here, there = self._taken, self._taken + mark
        place = self._moved.pop(there, there)
        if mark:
            self._moved[there] = self._moved.pop(here, here)
        self._taken += 1
        return place


def items_of_groups(groups: Iterable[int], tally: Tally, draws: Draws) -> tuple[int, ...]:
    """One fresh uniform item for each group named; a group named n times gives n of its items."""
    named, urns = [*groups], defaultdict[int, Urn](Urn)
    known = tally.down_to_group(max(named))
    earlier, limits = defaultdict[int, int](int), []
    for group in named:
        limits.append(int(known.sizes[group]) - earlier[group])
        earlier[group] += 1
    places = [urns[g].pick(mark) for g, mark in zip(named, draws.below_each(limits), strict=True)]
    asked = np.array(named)
    return tally.items_at(known.ends[asked] - known.sizes[asked] + places)


def items_of_the_highest(sizes: Integers, tally: Tally, draws: Draws) -> tuple[int, ...]:
    """For one size after the other a fresh uniform item of that many highest; sizes never fall.

    Where enough are left to choose from, one is found by chance, in at most 1 / _SHARE tries on
    average; else by its rank.
    A size divides no group of equal counts.
    """
    narrow = int(np.searchsorted(sizes, max(_SHARE * len(tally) + len(sizes), _SMALL)))
    chosen = list(tally.items_at(Urn().take_each(sizes[:narrow], draws)))
    groups = np.searchsorted(tally.ends, sizes[narrow:])
    lowest, taken = tally.values[groups], set(chosen)
    tries = draws.below_each(np.full(_TRIES * len(lowest), len(tally)))
    items = np.array(tries, dtype=np.int64).reshape(-1, _TRIES)
    fits = tally.counts[items] >= lowest[:, None]
    for least, some, among in zip(lowest.tolist(), items, fits, strict=True):
        fresh = [item for item in some[among].tolist() if item not in taken]
        item = fresh[0] if fresh else draws.below(len(tally))
        while item in taken or tally.counts[item] < least:
            item = draws.below(len(tally))
        taken.add(item)
        chosen.append(item)
    return tuple(chosen)


def subset(size: int, count: int, draws: Draws) -> list[int]:
    """A uniform subset of `count` of the places below `size`."""
    return Urn().take_each([size] * count, draws)
