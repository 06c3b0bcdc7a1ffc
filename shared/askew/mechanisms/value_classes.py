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
        self.values, self.sizes, self.rate = tally.values, tally.sizes, rate * tally.unit
        self._shared = True
        self._lead, self._step = 0, float(self.rate)
        self._log_items = log(len(tally))

    def listing(self, depth: float) -> Listing:
        """The classes within depth + ln(items) of the best; the others weigh below exp(-depth)."""
        lead = self._lead
        cut = self._cut(depth)
        gaps = (self.values[lead] - self.values[lead:cut]).astype(np.float64) * self._step
        logs = self._log_sizes(slice(lead, cut)) - gaps
        log_error = 2.0**-48 * (depth + 2 * self._log_items + 8)
        rest = -inf
        if cut < len(self.values):
            gap = float(self.values[lead] - self.values[cut]) * self._step
            rest = self._log_items - gap * (1 - 2.0**-40)
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
        cut = self._cut(_RARE) if contest.winners == 1 else len(self.values)
        present = self._lead + np.flatnonzero(self.sizes[self._lead : cut])
        gaps = (self.values[self._lead] - self.values[present]).astype(np.float64)
        for part in parts_of(present, -gaps * self._step):
            chunk = part()
            contest.enter(chunk.keys, chunk.logs, self._log_sizes(chunk.keys))
        left = int(self.sizes[cut:].sum())
        if left:
            score = self._score(cut)

            def opened(_: int, link: Link) -> list[Noisy]:
                return contest.members((cut + np.flatnonzero(self.sizes[cut:])).tolist(), link)

            floats = np.array([float(score)]), np.array([log(left)])
            group = Groups(np.array([cut]), *floats, 0.0, lambda _: (score, left), opened)
            contest.enter_groups(group)

    def _log_sizes(self, keys: slice | Integers) -> Floats:
        """ln of how many items are left in some classes; -inf where none is."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.sizes[keys].astype(np.float64))
        return logs

    def _cut(self, depth: float) -> int:
        """The first class that weighs, with all after it, below exp(-depth) of the best."""
        reach = (depth + self._log_items + 1) / self._step
        low = int(self.values[self._lead]) - int(min(reach + 1, 2.0**62))
        return len(self.values) - int(np.searchsorted(self.values[::-1], low, side="left"))

    def remove(self, key: int) -> None:
        """Take one item out of a class."""
        if self._shared:
            self.sizes, self._shared = self.sizes.copy(), False
        self.sizes[key] -= 1
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
