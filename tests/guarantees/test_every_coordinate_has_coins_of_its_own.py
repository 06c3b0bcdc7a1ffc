"""The law of the production lattice at the rates that devices use, where nothing can be enumerated.

Every face of every coin is chosen beforehand. Each coin is seen to move one coordinate, by an
amount of its own, with exact odds, and coins are seen to add up. Coins are independent, so this is
the law: coordinate by coordinate, J + G1 - G2 of the docstring of `askew.noise.lattice`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import floor

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import Coins, Odds, RandomBits

PRECISION = 200
POINT = (0.3, -1.7, 0.0, 2.9, -0.01, 1.25, -3.3, 0.7)  # on the lattice and off it, on both sides
LATTICES = [LatticeLaplace.for_epsilon(Fraction(each)) for each in (1, 4, "3/7")]


class ChosenFaces(RandomBits):
    """Faces chosen beforehand, tails beyond them; notes the odds of each coin."""

    def __init__(self, faces: Sequence[bool] = ()) -> None:
        self.faces = list(faces)
        self.thrown: list[Odds] = []

    def read(self, count: int) -> bytes:
        raise AssertionError("a mechanism must throw coins, not read bytes")

    def throw(self, coins: Coins, times: int = 1) -> list[list[bool]]:
        start = len(self.thrown)
        self.thrown += [*coins.odds] * times
        faces = [at < len(self.faces) and self.faces[at] for at in range(start, len(self.thrown))]
        n = len(coins)
        return [faces[row * n : (row + 1) * n] for row in range(times)]


def played(lattice: LatticeLaplace, d: int, faces: Sequence[bool] = ()) -> NDArray[np.int64]:
    return np.array(lattice.perturb(np.array(POINT[:d]), ChosenFaces(faces)))


@cache
def coins_of(lattice: LatticeLaplace, d: int) -> tuple[Odds, ...]:
    bits = ChosenFaces()
    lattice.perturb(np.array(POINT[:d]), bits)
    return tuple(bits.thrown)


@cache
def moves_of(lattice: LatticeLaplace, d: int) -> NDArray[np.int64]:
    """What each coin does alone, (coins, d): the output where it falls heads, less all tails."""
    alone = np.eye(len(coins_of(lattice, d)), dtype=np.bool_)
    still = played(lattice, d)
    return np.array([played(lattice, d, faces.tolist()) - still for faces in alone])


def wanted_coins(lattice: LatticeLaplace, d: int) -> Counter[tuple[int, int, int]]:
    """(coordinate, move, floor(probability * 2**PRECISION)) of every coin, by the formula: the
    binary digits of G1 and G2, whether they go beyond these, and the rounding.
    """
    levels = lattice.noise.levels
    wanted = Counter[tuple[int, int, int]]()
    for coordinate in range(d):
        x = Fraction(POINT[coordinate]) * 2**lattice.step_exponent
        wanted[coordinate, 1, floor((x - floor(x)) * 2**PRECISION)] += 1
        for sign in (1, -1):
            for level in range(levels):
                wanted[coordinate, sign << level, digit(lattice.inverse_rate, level)] += 1
            wanted[coordinate, sign << levels, beyond(lattice.inverse_rate, levels)] += 1
    return wanted


@cache
def digit(q: int, level: int) -> int:
    """x / (1 + x) for x = r**(2**level), r = q / (q + 1); in integers, which need no gcd."""
    low, high = powers(q, level)
    return (low << PRECISION) // (low + high)


@cache
def beyond(q: int, levels: int) -> int:
    """r**(2**levels)."""
    low, high = powers(q, levels)
    return (low << PRECISION) // high


def powers(q: int, level: int) -> tuple[int, int]:
    low, high = q, q + 1
    for _ in range(level):
        low, high = low * low, high * high
    return low, high


@pytest.mark.parametrize("d", [1, 2, 3, 4, len(POINT)])
@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_each_coin_moves_one_coordinate_with_the_odds_of_the_formula(
    lattice: LatticeLaplace, d: int
) -> None:
    """Planted bugs: half the rate in `LatticeLaplace.noise`, no noise on the last coordinate or on
    those from the third on, the first one's noise used again, one rounding coin for all.
    """
    moves = moves_of(lattice, d)
    assert np.count_nonzero(moves, axis=1).tolist() == [1] * len(moves)
    found = Counter[tuple[int, int, int]]()
    for row, odds in zip(moves, coins_of(lattice, d), strict=True):
        low, high = odds.bounds(PRECISION)
        assert high - low <= 1  # and so low is the floor
        found[int(row.nonzero()[0][0]), int(row.sum()), low] += 1
    assert found == wanted_coins(lattice, d)


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_coins_add_up(lattice: LatticeLaplace) -> None:
    """Planted bug: a coordinate that is not moved, or not rounded, when another one is."""
    d, chance = len(POINT), random.Random(0)
    moves, still = moves_of(lattice, d), played(lattice, d)
    for _ in range(50):
        # Coins that go beyond the digits throw others, which would shift the faces behind them.
        faces = np.array([chance.random() < 0.5 for _ in moves])
        faces &= np.abs(moves).max(axis=1) < 2**lattice.noise.levels
        assert np.array_equal(played(lattice, d, faces.tolist()), still + faces @ moves)
