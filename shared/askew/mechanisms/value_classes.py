"""The exponential mechanism over items, as weighted classes of equal counts, with removal."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np

from askew.exact import Draws, Listing, enclose, parts_of
from askew.mechanisms.contest import Contest, Groups
from askew.mechanisms.noise import Floats, Link, Noisy
from askew.mechanisms.tally import Integers, Tally
from askew.mechanisms.urn import items_of_groups

# Classes that win with probability below exp(-24) are drawn as one; the law does not depend on it.
_RARE = 24.0


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
        """See the classes of values from `low` on. The tally knows more groups, never others."""
        known = self._tally.down_to(low)
        if len(known.values) > len(self.values):
            sizes = known.sizes
            if self._left < len(self._tally):  # what was taken out stays out
                sizes = sizes.copy()
                sizes[: len(self.sizes)] = self.sizes
            self.values, self.sizes = known.values, sizes

    def listing(self, depth: float) -> Listing:
        """The classes within depth + ln(items) of the best; the others weigh below exp(-depth)."""
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
        return Listing(parts_of(np.arange(lead, cut), logs), log_error, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Integer bounds of one class's weight."""
        return enclose(int(self.sizes[key]), -self._score(key), shift)

    def _score(self, key: int) -> Fraction:
        return -self.rate * (int(self.values[self._lead]) - int(self.values[key]))

    def exact(self, key: int) -> tuple[Fraction, int]:
        """A class's exact score, relative to the highest left, and its size."""
        return self._score(key), int(self.sizes[key])

    def enter(self, contest: Contest) -> None:
        """Let every class that has items left draw its best noisy score."""
        low, cut = self._cut(_RARE if contest.winners == 1 else inf)
        present = self._lead + np.flatnonzero(self.sizes[self._lead : cut])
        gaps = (self.values[self._lead] - self.values[present]).astype(np.float64)
        for part in parts_of(present, -gaps * self._step):
            chunk = part()
            contest.enter(chunk.keys, chunk.logs, self._log_sizes(chunk.keys))
        left = self._left - int(self.sizes[:cut].sum())
        if left:
            contest.enter_groups(self._others(contest, low, cut, left))

    def _others(self, contest: Contest, low: int, cut: int, left: int) -> Groups:
        """All classes from `cut` on as one group; none of its items has a value of `low`."""
        score = -self.rate * (int(self.values[self._lead]) - low)

        def opened(_: int, link: Link) -> list[Noisy]:
            self._extend(self._tally.lowest)
            return contest.members((cut + np.flatnonzero(self.sizes[cut:])).tolist(), link)

        floats = np.array([float(score)]), np.array([log(left)])
        return Groups(np.array([cut]), *floats, 0.0, lambda _: (score, left), opened)

    def _log_sizes(self, keys: slice | Integers) -> Floats:
        """ln of how many items are left in some classes; -inf where none is."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.sizes[keys].astype(np.float64))
        return logs

    def _cut(self, depth: float) -> tuple[int, int]:
        """A value, and the first class below it; all such weigh below exp(-depth) of the best."""
        reach = (depth + self._log_items + 1) / self._step
        if 0 < len(self.values) == self._lead:  # all that were seen are taken out
            self._extend(self._tally.lowest)
        best = int(self.values[self._lead]) if len(self.values) else self._tally.highest
        low = best - int(min(reach + 1, 2.0**62))
        self._extend(low)
        return low, len(self.values) - int(np.searchsorted(self.values[::-1], low, side="left"))

    def remove(self, key: int) -> None:
        """Take one item out of a class."""
        if self._left == len(self._tally):
            self.sizes = self.sizes.copy()
        self.sizes[key] -= 1
        self._left -= 1
        while self._lead < len(self.sizes) and not self.sizes[self._lead]:
            self._lead += 1


def peel(tally: Tally, rate: Fraction, k: int, draws: Draws) -> tuple[int, ...]:
    """The exponential mechanism without replacement, k times."""
    classes = ValueClasses(tally, rate)
    groups = []
    for _ in range(k):
        groups.append(draws.choose(classes))
        classes.remove(groups[-1])
    return items_of_groups(groups, tally, draws)
