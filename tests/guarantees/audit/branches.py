"""The exact law of a sampler of coins, by branching on every coin both ways.

Nothing here is random: there are no false alarms.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from askew.noise.randomness import Coins, Odds, RandomBits, RationalOdds

PRECISION = 160  # bits to which odds that are no fraction are read off their enclosure

Outcome = TypeVar("Outcome")


class TooUnlikelyError(Exception):
    """The branch is cut off; its probability goes to the residual."""


class Branch(RandomBits):
    """Faces chosen beforehand; the first coins beyond them fall tails and are noted as open."""

    def __init__(self, faces: Sequence[bool], least: Fraction) -> None:
        self.faces = list(faces)
        self.fixed = len(faces)
        self.position = 0
        self.probability = Fraction(1)
        self.least = least

    def read(self, count: int) -> bytes:
        raise AssertionError("enumerated code must throw coins, not read bytes")

    def throw(self, coins: Coins, times: int = 1) -> list[list[bool]]:
        return [[self._toss(odds) for odds in coins.odds] for _ in range(times)]

    def _toss(self, odds: Odds) -> bool:
        if self.position == len(self.faces):
            self.faces.append(False)
        face = self.faces[self.position]
        self.position += 1
        heads = _probability(odds)
        self.probability *= heads if face else 1 - heads
        if self.probability < self.least:
            raise TooUnlikelyError
        return face


def _probability(odds: Odds) -> Fraction:
    if isinstance(odds, RationalOdds):
        return odds.probability
    low, high = odds(PRECISION)
    return Fraction(low + high, 2 << PRECISION)


def law_of_coins(
    run: Callable[[RandomBits], Outcome], least: Fraction
) -> tuple[dict[Outcome, Fraction], Fraction]:
    """The exact law of what `run` returns, and the probability of the branches cut off."""
    law: dict[Outcome, Fraction] = defaultdict(Fraction)
    residual = Fraction(0)
    pending: list[list[bool]] = [[]]
    while pending:
        branch = Branch(pending.pop(), least)
        try:
            law[run(branch)] += branch.probability
        except TooUnlikelyError:
            residual += branch.probability
        # Every coin that fell tails for the first time here also falls heads in another branch.
        reached = branch.faces[: branch.position]
        pending += [[*reached[:i], True] for i in range(branch.fixed, len(reached))]
    return law, residual


def exponential_from_below(x: Fraction) -> Fraction:
    """A rational at most e**x and within 1e-22 of it for x <= 4."""
    return sum((x**n / math.factorial(n) for n in range(40)), Fraction(0))
