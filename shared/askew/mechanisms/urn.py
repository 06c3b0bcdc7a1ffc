"""Uniform draws without replacement, in memory that depends on how many are drawn only."""

from __future__ import annotations

from collections.abc import Iterable

from askew.exact import Draws
from askew.mechanisms.tally import Tally


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
        here = self._taken
        return self._swap(here + draws.below(size - here))

    def take_fresh(self, low: int, high: int, draws: Draws) -> int:
        """A uniform place in [low, high), where nothing was taken or moved so far."""
        return self._swap(low + draws.below(high - low))

    def _swap(self, there: int) -> int:
        here = self._taken
        place = self._moved.pop(there, there)
        if there != here:
            self._moved[there] = self._moved.pop(here, here)
        self._taken += 1
        return place


def items_of_groups(groups: Iterable[int], tally: Tally, draws: Draws) -> tuple[int, ...]:
    """One fresh uniform item for each group named; a group named n times gives n of its items."""
    urns: dict[int, Urn] = {}
    ranks = []
    for group in groups:
        size = int(tally.sizes[group])
        place = urns.setdefault(group, Urn()).take(size, draws)
        ranks.append(int(tally.ends[group]) - size + place)
    return tally.items_at(ranks)


def subset(size: int, count: int, draws: Draws) -> list[int]:
    """A uniform subset of `count` of the places below `size`."""
    urn = Urn()
    return [urn.take(size, draws) for _ in range(count)]
