"""Items in classes of equal counts: weights of a class, draws from it, and the highest noises.

`ValueClasses` are the weights of the exponential mechanism. An `Urn` draws from a class without
replacement, in memory that depends on the number of draws only. `highest` finds the k highest noisy
scores of all items, exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf, log

import numpy as np

from askew.mechanisms.contest import Contest, Floats, Link, NoiseFamily, Noisy
from askew.mechanisms.tally import Integers, Tally
from askew.mechanisms.weights import BLOCK, Draws, WeightTable, blocks_of, enclose

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

    def take_each(self, sizes: Sequence[int] | Integers, draws: Draws) -> list[int]:
        """Take out, and return, a uniform place among those left below each size, one after
        another.

        Pools grow and never shrink: places taken so far are below every size. The draws are read at
        once.
        """
        taken = np.arange(self._taken, self._taken + len(sizes))
        limits = np.asarray(sizes, dtype=np.int64) - taken
        return [self.pick(mark) for mark in draws.below_each(limits)]

    def take_fresh(self, low: int, high: int, draws: Draws) -> int:
        """Take out, and return, a uniform place in [low, high), where nothing was taken or moved so
        far.
        """
        return self.pick(low - self._taken + draws.below(high - low))

    def pick(self, mark: int) -> int:
        """Take out, and return, a place by its mark, from 0, among those left: in a new urn the
        mark itself, later in the order that Fisher and Yates' shuffle left.
        """
        here, there = self._taken, self._taken + mark
        place = self._moved.pop(there, there)
        if mark:
            self._moved[there] = self._moved.pop(here, here)
        self._taken += 1
        return place


def items_of_groups(groups: Iterable[int], tally: Tally, draws: Draws) -> tuple[int, ...]:
    """Return an item id for each of these groups, in their order: uniform among the items of the
    group's count that no earlier one took. A group is its index in `Tally.values`, 0 for the
    highest count; none comes more often than it has items, which nobody checks. Raises ValueError
    for no groups, IndexError for one that there is not.
    """
    named, urns = [*groups], defaultdict[int, Urn](Urn)
    held = tally.down_to_group(max(named))
    earlier, limits = defaultdict[int, int](int), []
    for group in named:
        limits.append(int(held.sizes[group]) - earlier[group])
        earlier[group] += 1
    places = [urns[g].pick(mark) for g, mark in zip(named, draws.below_each(limits), strict=True)]
    asked = np.array(named)
    return tally.items_at(held.ends[asked] - held.sizes[asked] + places)


def items_of_the_highest(sizes: Integers, tally: Tally, draws: Draws) -> tuple[int, ...]:
    """Return an item id for each size, in their order: uniform among the `size` items of highest
    count that no earlier one took. Sizes never fall, and divide no group of equal counts.

    Where enough are left to choose from, one is found by chance, in at most 4 tries on average;
    else by its rank.
    """
    narrow = int(np.searchsorted(sizes, max(_SHARE * len(tally) + len(sizes), _SMALL)))
    chosen = list(tally.items_at(Urn().take_each(sizes[:narrow], draws)))
    groups = np.searchsorted(tally.ends, sizes[narrow:])
    lowest, taken = tally.values[groups], set(chosen)
    tries = draws.below_each(np.full(_TRIES * len(lowest), len(tally)))
    items = np.array(tries, dtype=np.int64).reshape(-1, _TRIES)
    fits = tally.counts[items] >= lowest[:, None]
    for least, some, fit in zip(lowest.tolist(), items.tolist(), fits.tolist(), strict=True):
        fresh = (item for item, high in zip(some, fit, strict=True) if high and item not in taken)
        item = next(fresh, -1)
        while item < 0 or item in taken or tally.counts[item] < least:
            item = draws.below(len(tally))
        taken.add(item)
        chosen.append(item)
    return tuple(chosen)


def subset(size: int, count: int, draws: Draws) -> list[int]:
    """Draw `count` different places below `size`, from 0, each subset with equal probability, in
    the order of the draws; count is at most size.
    """
    return Urn().take_each([size] * count, draws)


# Classes that win with probability below exp(-14) are drawn as one; the law does not depend on it.
_RARE = 14.0


class ValueClasses:
    """Class g: the items left with the g-th highest count, weight size * exp(-rate * gap).

    gap is the distance to the highest count left. rate is per step of the tally's values.
    """

    def __init__(self, tally: Tally, rate: Fraction) -> None:
        self.rate = rate * tally.unit
        self.values = self.sizes = np.zeros(0, dtype=np.int64)
        self._tally, self._left = tally, len(tally)
        self._lead, self._step = 0, float(self.rate)
        self._log_items = log(len(tally))

    def _extend(self, low: int) -> None:
        # The tally knows more groups, never others.
        seen = self._tally.down_to(low)
        if len(seen.values) > len(self.values):
            sizes = seen.sizes
            if self._left < len(self._tally):  # what was taken out stays out
                sizes = sizes.copy()
                sizes[: len(self.sizes)] = self.sizes
            self.values, self.sizes = seen.values, sizes

    def table(self, depth: float) -> WeightTable:
        """Return the WeightTable of the classes, by their keys g, within depth + ln(items) of the
        best, whose ln weights are relative to one item of the highest count left; the others, of
        total weight below exp(-depth), only as `log_rest`.
        """
        low, cut = self._cut(depth)
        lead = self._lead
        gaps = (self.values[lead] - self.values[lead:cut]).astype(np.float64) * self._step
        logs = self._log_sizes(slice(lead, cut)) - gaps
        log_error = 2.0**-48 * (depth + 2 * self._log_items + 8)
        rest = -inf
        if self._tally.lowest < low:
            rest = self._log_items - float(int(self.values[lead]) - low) * self._step * (
                1 - 2.0**-40
            )
        return WeightTable(blocks_of(np.arange(lead, cut), logs), log_error, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Return `askew.mechanisms.weights.enclose` of a class's size * exp(-rate * its distance
        to the highest count left) * 2**shift.
        """
        return enclose(int(self.sizes[key]), -self._score(key), shift)

    def _score(self, key: int) -> Fraction:
        return -self.rate * (int(self.values[self._lead]) - int(self.values[key]))

    def exact(self, key: int) -> tuple[Fraction, int]:
        """Return -rate * a class's distance to the highest count left, and its number of items."""
        return self._score(key), int(self.sizes[key])

    def enter(self, contest: Contest) -> None:
        """Enter every class that has items left in the contest, with its best noisy score."""
        low, cut = self._cut(_RARE)
        present = self._lead + np.flatnonzero(self.sizes[self._lead : cut])
        gaps = (self.values[self._lead] - self.values[present]).astype(np.float64)
        for part in blocks_of(present, -gaps * self._step):
            block = part()
            contest.enter(block.keys, block.logs, self._log_sizes(block.keys))
        left = self._left - int(self.sizes[:cut].sum())
        if left:
            self._enter_others(contest, low, cut, left)

    def _enter_others(self, contest: Contest, low: int, cut: int, left: int) -> None:
        # All classes from `cut` on as one group; none of its items has a value of `low`.
        score = -self.rate * (int(self.values[self._lead]) - low)

        def opened(_: int, link: Link) -> list[Noisy]:
            self._extend(self._tally.lowest)
            return contest.members((cut + np.flatnonzero(self.sizes[cut:])).tolist(), link)

        floats = np.array([float(score)]), np.array([log(left)])
        contest.enter_groups(np.array([cut]), *floats, 0.0, lambda _: (score, left), opened)

    def _log_sizes(self, keys: slice | Integers) -> Floats:
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.sizes[keys].astype(np.float64))
        return logs

    def _cut(self, depth: float) -> tuple[int, int]:
        # A value and the first class below it: all classes from there on weigh below exp(-depth) of
        # the best.
        reach = (depth + self._log_items + 1) / self._step
        if 0 < len(self.values) == self._lead:  # all that were seen are taken out
            self._extend(self._tally.lowest)
        best = int(self.values[self._lead]) if len(self.values) else self._tally.highest
        low = best - int(min(reach + 1, 2.0**62))
        self._extend(low)
        return low, len(self.values) - int(np.searchsorted(self.values[::-1], low, side="left"))

    def remove(self, key: int) -> None:
        """Take one item out of a class, in place; nobody checks that it has one."""
        if self._left == len(self._tally):
            self.sizes = self.sizes.copy()
        self.sizes[key] -= 1
        self._left -= 1
        while self._lead < len(self.sizes) and not self.sizes[self._lead]:
            self._lead += 1


ONE_PASS = 4  # from this k on, one pass is quicker than k choices


def highest(
    tally: Tally, rate: Fraction, noise: NoiseFamily, k: int, draws: Draws
) -> tuple[int, ...]:
    """Return the item ids of the k highest noisy scores, highest first: one draw an item.

    Those that are so low that one is among the k with probability about exp(-14) are drawn as one;
    the law does not depend on it. Complexity: O(d), O(k log k).
    """
    counts, unit, d = tally.counts, rate * tally.unit, len(tally)
    edge = int(np.partition(counts, d - k)[d - k])
    low = edge - int(min((_RARE + 2 * log(d) + 1) / float(unit) + 1, 2.0**62))
    near = np.flatnonzero(counts > low)

    def exact(item: int) -> tuple[Fraction, int]:
        return unit * (int(counts[item]) - edge), 1

    contest = Contest(noise, draws, exact, winners=k)
    for i in range(0, len(near), BLOCK):
        some = near[i : i + BLOCK]
        scores = (counts[some] - edge).astype(np.float64) * float(unit)
        contest.enter(some, scores, np.zeros(len(some)))
    if far := d - len(near):
        score = unit * (low - edge)

        def opened(_: int, link: Link) -> list[Noisy]:
            return contest.members(np.flatnonzero(counts <= low).tolist(), link)

        floats = np.array([float(score)]), np.array([log(far)])
        contest.enter_groups(np.array([-1]), *floats, 0.0, lambda _: (score, far), opened)
    return tuple(contest.ranked()[:k])


def peeled_gumbel(tally: Tally, rate: Fraction, k: int, draws: Draws) -> tuple[int, ...]:
    """Return the item ids, best first, of k runs of the exponential mechanism without replacement.

    One Gumbel noise an item, in descending order of score, has the same law (Durfee, Rogers 2019,
    Lemma 4.2), and takes one pass instead of k.
    """
    if k >= ONE_PASS:
        return highest(tally, rate, "gumbel", k, draws)
    classes, groups = ValueClasses(tally, rate), []
    for _ in range(k):
        groups.append(draws.choose(classes))
        classes.remove(groups[-1])
    return items_of_groups(groups, tally, draws)
