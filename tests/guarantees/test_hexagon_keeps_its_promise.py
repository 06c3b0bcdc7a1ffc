"""The noise on a map is exactly epsilon-private per straight-line kilometer, proved by enumeration.

Every coin of the production object is branched on both ways, with its exact probability; the
fractions of an outside judge stand below.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from guarantees.audit.branches import exponential_from_below, law_of_coins

from askew.noise.hexagonal import GAUGE, NEIGHBORS, RISE, HexagonalLattice, Plain, steps
from askew.noise.randomness import Coins, RandomBits, RationalOdds

Pair = tuple[int, int]
Law = dict[Pair, Fraction]
Make = Callable[[int, int], HexagonalLattice]

# q, the true point in lattice coordinates, an output, and its probability: computed elsewhere.
REFERENCE = (
    (1, "-1/4", "17/8", (4, 3), "7/1664"),
    (1, "3/4", "19/8", (2, -2), "11/6656"),
    (2, "3/4", "9/4", (-2, -4), "176/80919"),
    (2, "51/16", "-43/16", (3, -1), "17/1332"),
    (2, "-5/8", "47/16", (4, -4), "1664/6554439"),
    (5, "29/8", "9/8", (-5, -5), "16796875/14592503808"),
    (5, "-11/16", "21/8", (-3, 0), "1075/312768"),
    (37, "-29/16", "-57/16", (-6, 5), "980859848870165256869/11626119871563786052665344"),
    (37, "-5/16", "35/16", (3, -6), "13343821633459530975/152975261467944553324544"),
)
HERE = (Fraction(0), Fraction(0))


def place_of(lattice: HexagonalLattice, i: Fraction, j: Fraction) -> Plain:
    """The point in kilometers of lattice coordinates that need not be whole."""
    return lattice.step * (i - j / 2), RISE * lattice.step * j


def corners_of(lattice: HexagonalLattice, point: Plain) -> Law:
    """What the production object rounds a point to, with exact odds."""
    law, residual = law_of_coins(lambda bits: lattice._round(point, bits), Fraction(0))
    assert residual == 0
    return {corner: p for corner, p in law.items() if p}


def noise(q: int, z: Pair) -> Fraction:
    """The law of the docstring."""
    return Fraction(q, q + 1) ** steps(*z) / (1 + 6 * q * (q + 1))


def chance(lattice: HexagonalLattice, point: Plain, z: Pair) -> Fraction:
    """P(z | point) before the grain: the production object's rounding, then the law."""
    return sum(
        p * noise(lattice.inverse_rate, (z[0] - i, z[1] - j))
        for (i, j), p in corners_of(lattice, point).items()
    ) + Fraction(0)


@pytest.mark.parametrize(("q", "i", "j", "z", "p"), REFERENCE)
def test_the_law_is_that_of_an_outside_judge(q: int, i: str, j: str, z: Pair, p: str) -> None:
    lattice = HexagonalLattice(3, q)
    found = chance(lattice, place_of(lattice, Fraction(i), Fraction(j)), z)
    assert found == Fraction(p)


@pytest.mark.parametrize("q", [1, 2, pytest.param(5, marks=pytest.mark.audit)])
def test_the_draw_has_the_law(q: int) -> None:
    """Every coin of the noise, enumerated. Planted bug: a die that is not fair."""
    law, residual = law_of_coins(HexagonalLattice(0, q)._draw, Fraction(1, 2**13))
    assert_law(law, residual, {z: noise(q, z) for z in law})
    assert all(law[z] > noise(q, z) / 2 for z in NEIGHBORS)


@pytest.mark.slow
@pytest.mark.parametrize(("q", "i", "j"), [(1, "0", "0"), (2, "-5/8", "-1/8")])
def test_what_leaves_has_the_law(q: int, i: str, j: str) -> None:
    """`perturb` itself, on the lattice and off it; at these rates the grain is one step."""
    lattice = HexagonalLattice(0, q)
    assert lattice.grain == 1
    point = place_of(lattice, Fraction(i), Fraction(j))
    law, residual = law_of_coins(lambda bits: lattice.perturb(point, bits), Fraction(1, 2**11))
    assert_law(law, residual, {z: chance(lattice, point, z) for z in law})


def assert_law(law: Law, residual: Fraction, expected: Law) -> None:
    """The enumerated law is the expected one but for the branches that were cut off, which add
    nothing to any outcome.
    """
    assert sum(law.values()) + residual == 1
    for z, p in law.items():
        assert p <= expected[z] + Fraction(1, 2**150)
        assert expected[z] <= p + residual


def test_the_law_sums_to_one() -> None:
    """n = 0 once, n = 1, 2, ... six n times each: 1 + 6 r / (1 - r)**2 = 1 + 6 q (q + 1)."""
    for q in (1, 2, 1024):
        r = Fraction(q, q + 1)
        assert 1 + 6 * r / (1 - r) ** 2 == 1 + 6 * q * (q + 1)
    for n in range(1, 7):
        ring = [z for z in product(range(-n, n + 1), repeat=2) if steps(*z) == n]
        assert len(ring) == 6 * n


def test_the_sides_of_the_hexagon_are_nearer_than_the_gauge_says() -> None:
    """n(v) <= 1.1545 |v| / s wherever v points: at the nearest point of each side, exactly."""
    for (i, j), (k, m) in zip(NEIGHBORS, (*NEIGHBORS[1:], NEIGHBORS[0]), strict=True):
        (ax, ay), (bx, by) = (place_of(UNIT, Fraction(a), Fraction(b)) for a, b in ((i, j), (k, m)))
        squared = (ax * by - ay * bx) ** 2 / ((ax - bx) ** 2 + (ay - by) ** 2)
        assert GAUGE**2 * squared >= 1
    assert GAUGE**2 * squared < Fraction("1.0001")  # and no larger than it must be


UNIT = HexagonalLattice(0, 1)
SIXTEENTH = Fraction(1, 16)
SPAN: tuple[Pair, ...] = tuple((i, j) for i in range(-2, 4) for j in range(-2, 4))


@cache
def laws_in_a_cell(kind: Make, q: int) -> dict[tuple[Fraction, Fraction], Law]:
    """P(z | .) at every sixteenth of one cell of the lattice, its far edges too."""
    lattice = kind(0, q)
    laws = {}
    for a, b in product(range(17), repeat=2):
        at = a * SIXTEENTH, b * SIXTEENTH
        corners = corners_of(lattice, place_of(lattice, *at))
        law: Law = defaultdict(Fraction)
        for ((i, j), p), z in product(corners.items(), SPAN):
            law[z] += p * noise(q, (z[0] - i, z[1] - j))
        laws[at] = law
    return laws


def slopes(kind: Make, q: int) -> Iterator[Fraction]:
    """The largest |d log P(z | .)| a step on each piece of the three directions' segments.

    Where P is linear, the slope of its logarithm is largest at the lower end of the piece. The
    pieces have no length of their own in it: the bound holds along whole segments.
    """
    laws = laws_in_a_cell(kind, q)
    for (a, b), (i, j) in product(laws, ((1, 0), (0, 1), (1, 1))):
        there = a + i * SIXTEENTH, b + j * SIXTEENTH
        if there in laws:
            for z in SPAN:
                p, other = laws[a, b][z], laws[there][z]
                yield abs(p - other) / (SIXTEENTH * min(p, other))


@pytest.mark.thin
@pytest.mark.parametrize("q", [1, 2, 1067])
def test_no_segment_loses_more_than_the_promise_a_step_and_some_lose_all_of_it(
    q: int, record_property: Callable[[str, object], None]
) -> None:
    """Planted bug: two uniforms instead of one in the rounding."""
    worst = max(slopes(HexagonalLattice, q))
    record_property("mechanism", "HexagonalLattice")
    record_property("claimed", 1 / q)
    record_property("exact", float(worst))
    assert worst == Fraction(1, q)


@pytest.mark.parametrize("q", [1, 5])
def test_no_pair_of_points_and_no_output_breaks_the_promise_in_kilometers(q: int) -> None:
    lattice = HexagonalLattice(0, q)
    laws = laws_in_a_cell(HexagonalLattice, q)
    coarse = {at: law for at, law in laws.items() if all((16 * c) % 4 == 0 for c in at)}
    for (u, law_u), (v, law_v) in product(coarse.items(), repeat=2):
        here, there = place_of(lattice, *u), place_of(lattice, *v)
        # A rational below the distance, so that the bound is the stricter one.
        squared = (here[0] - there[0]) ** 2 + (here[1] - there[1]) ** 2
        straight_line = Fraction(math.isqrt(int(squared * 10**24)), 10**12)
        bound = exponential_from_below(lattice.epsilon * straight_line)
        assert all(law_u[z] <= bound * law_v[z] for z in SPAN)


class TwoUniforms(HexagonalLattice):
    """A planted bug, which must be seen by the same check that the real code passes."""

    def _round(self, point: Plain, bits: RandomBits) -> Pair:
        i, j = self.coordinates(point)
        below_i, below_j = math.floor(i), math.floor(j)
        coins = Coins([RationalOdds(i - below_i), RationalOdds(j - below_j)])
        up_i, up_j = bits.throw(coins)[0]
        return below_i + up_i, below_j + up_j


def test_two_uniforms_lose_nearly_twice_the_promise() -> None:
    """2 / (q + 1) a step in a corner of a cell, where it is steepest: 1.98 / q at q = 100."""
    assert max(slopes(TwoUniforms, 2)) > Fraction(1, 2)
    assert Fraction("1.9") < max(slopes(TwoUniforms, 100)) * 100 <= Fraction("1.98")


def test_the_corners_and_not_only_the_sum_are_right() -> None:
    """Right on average: the mean of the rounded point is the point."""
    lattice = HexagonalLattice(2, 5)
    for i, j in product(
        (Fraction("1/7"), Fraction(0), Fraction("-22/7"), Fraction("0.99")), repeat=2
    ):
        corners = corners_of(lattice, place_of(lattice, i, j))
        assert sum(a * p for (a, _), p in corners.items()) == i
        assert sum(b * p for (_, b), p in corners.items()) == j
        assert len(corners) <= 3
