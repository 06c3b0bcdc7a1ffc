"""How good a selection is, against the counts that it was made from. For evaluation, never release.

selected: item ids, ranked or not. counts: (d,), integers. x_1 >= x_2 >= ... are the counts sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from askew.mechanisms.tally import Counts, Integers, tally


@dataclass(frozen=True)
class Quality:
    """A class of subsets: it holds the best ceil(must * k) items, none beyond rank within * k.

    Source: Shekelyan, Loukides 2022 (TOP, GREAT and GOOD).
    """

    must_percent: int
    within_percent: int

    def ranks(self, k: int) -> tuple[int, int]:
        """How many of the best must be selected, and the lowest rank that may be."""
        return ceil(self.must_percent * k / 100), floor(self.within_percent * k / 100)

    def holds(self, selected: Sequence[int], counts: Counts) -> bool:
        """Whether a selection is of this quality; ties in its favor."""
        must, within = self.ranks(len(selected))
        values = _values(selected, counts)
        best = tally(counts, 1).top(within)
        return bool((values[:must] >= best[:must]).all() and values[-1] >= best[-1])


TOP = Quality(100, 100)
GREAT = Quality(10, 110)
GOOD = Quality(1, 150)


def linf_error(selected: Sequence[int], counts: Counts) -> int:
    """max over ranks r of x_r - count of the r-th selected item, in the order given; 0 at best."""
    return int(_shortfalls(selected, counts).max())


def l1_error(selected: Sequence[int], counts: Counts) -> int:
    """Sum over ranks r of |x_r - count of the r-th selected item|, in the order given."""
    return int(np.abs(_shortfalls(selected, counts)).sum())


def k_relative_error(selected: Sequence[int], counts: Counts) -> int:
    """x_k - the lowest selected count; 0 exactly for a true top k."""
    return int(tally(counts, 1).value_at(len(selected) - 1) - _values(selected, counts)[-1])


def precision_at_k(selected: Sequence[int], counts: Counts) -> float:
    """The share of the selected items with at least the k-th highest count."""
    edge = tally(counts, 1).value_at(len(selected) - 1)
    return float((_values(selected, counts) >= edge).mean())


def _values(selected: Sequence[int], counts: Counts) -> Integers:
    """Selected counts in descending order."""
    return np.sort(tally(counts, 1).counts[np.asarray(selected)])[::-1]


def _shortfalls(selected: Sequence[int], counts: Counts) -> Integers:
    view = tally(counts, 1)
    short: Integers = view.top(len(selected)) - view.counts[np.asarray(selected)]
    return short
