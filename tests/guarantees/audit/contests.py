"""A contest of noisy scores whose winner is a branch of the tape, with its exact probability.

The code under audit says which classes enter, with which exact scores and sizes, and what it makes
of the winner; that the real contest picks the winner by the noise that it reads is the subject of
tests/mechanisms/test_contest.py, by 200-digit arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from math import log
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from guarantees.audit.definitions import of_one, ranking
from guarantees.audit.enumeration import Law, Tape, law_of
from numpy.typing import NDArray

from askew.mechanisms.contest import Exact, NoiseFamily

USERS = ("lipschitz", "canonical", "joint", "limited_domain", "value_classes")
DOORS = ("limited_domain", "tally")  # which make draws of bits


class TapeContest:
    """Stands in for `askew.mechanisms.contest.Contest`."""

    def __init__(self, family: NoiseFamily, draws: Tape, exact: Exact, winners: int = 1) -> None:
        self.family, self.draws, self.winners = family, draws, winners
        self.exact, self.entered = exact, dict[int, tuple[Fraction, int]]()

    def enter(
        self,
        keys: NDArray[np.int64],
        scores: NDArray[np.float64],
        log_sizes: NDArray[np.float64],
        log_error: float = 0.0,
    ) -> None:
        """Takes the exact scores, and sees that the floats are theirs."""
        for key, score, log_size in zip(keys.tolist(), scores, log_sizes, strict=True):
            assert key not in self.entered
            exact, size = self.exact(key)
            assert float(score) == pytest.approx(float(exact), abs=1e-12)
            assert float(log_size) == pytest.approx(log(size), abs=log_error + 1e-14)
            assert size == int(size)
            self.entered[key] = exact, int(size)

    def enter_groups(self, *_: object) -> None:
        raise AssertionError("no class of a small vector is rare")

    def ranked(self) -> list[int]:
        """The keys of the winners, by one branch of the tape."""
        keys = list(self.entered)
        if self.winners == 1:
            sizes: dict[Fraction, int] = {}
            for score, size in self.entered.values():
                sizes[score] = sizes.get(score, 0) + size
            shares = of_one(self.family, tuple(sorted(sizes.items())))
            law = [shares[score] * size for score, size in self.entered.values()]
            return [keys[self.draws.branch(law)]]
        assert all(size == 1 for _, size in self.entered.values())
        orders = ranking(self.family, tuple(s for s, _ in self.entered.values()), self.winners)
        order = list(orders)[self.draws.branch(list(orders.values()))]
        return [keys[place] for place in order]


@contextmanager
def on_the_tape() -> Iterator[None]:
    """Make every mechanism's contests branches of the tape, which `select` takes as its bits."""
    with ExitStack() as stack:
        for user in USERS:
            stack.enter_context(patch(f"askew.mechanisms.{user}.Contest", TapeContest))
        for door in DOORS:
            stack.enter_context(patch(f"askew.mechanisms.{door}.Draws", lambda tape: tape))
        yield


def law_of_selecting(run: Callable[[Any], tuple[int, ...]]) -> Law:
    """Return the exact law of what `run` makes of a `select` that is given the tape as its bits."""
    with on_the_tape():
        return law_of(run)
