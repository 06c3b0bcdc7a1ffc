"""The noise on the wire is exactly epsilon-geographic DP, proved by enumeration.

Every coin that the sampler throws is branched on both ways, with its exact probability, so the law
of the output is known as fractions. Nothing here is random: there are no false alarms.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import pytest
from guarantees.branches import Branch, exponential_from_below, law_of_coins

import askew.noise.lattice
from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import Coins, RandomBits, RationalOdds

Law = dict[tuple[int, ...], Fraction]


def law_of(
    lattice: LatticeLaplace, profile: Sequence[Fraction], least: Fraction
) -> tuple[Law, Fraction]:
    """The exact law of the sent integers, and the probability of the branches cut off."""
    point = np.array([float(u) for u in profile])
    return law_of_coins(lambda bits: lattice.perturb(point, bits), least)


def closed_form(lattice: LatticeLaplace, u: Fraction, z: int) -> Fraction:
    """P(Z = z | u) from the formula of the docstring."""
    r = Fraction(lattice.inverse_rate, lattice.inverse_rate + 1)
    x = u * (1 << lattice.step_exponent)
    below = math.floor(x)
    up = x - below
    c = (1 - r) / (1 + r)
    return c * ((1 - up) * r ** abs(z - below) + up * r ** abs(z - below - 1))


def violations(
    laws: dict[tuple[Fraction, ...], tuple[Law, Fraction]], epsilon: Fraction
) -> Iterator[tuple[object, ...]]:
    """Pairs of inputs and an output where P(z | u) > e**(epsilon distance) P(z | v), for certain.

    Cut-off probability is added to the right side, so that no exact mechanism is ever accused.
    """
    for (u, (law_u, _)), (v, (law_v, residual_v)) in itertools.permutations(laws.items(), 2):
        distance = sum((abs(a - b) for a, b in zip(u, v, strict=True)), Fraction(0))
        bound = exponential_from_below(epsilon * distance)
        for z, p in law_u.items():
            if p > bound * (law_v.get(z, Fraction(0)) + residual_v):
                yield u, v, z, p


class SmallLattice(LatticeLaplace):
    """The same lattice with fewer coins at once, which changes the work and not the law."""

    @cached_property
    def noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(self.inverse_rate, levels=3)


# Off the lattice and on it, on both sides of zero and of a rounding boundary.
EIGHTHS = tuple(Fraction(n, 8) for n in (-9, -1, 0, 1, 4, 8))
TINY = Fraction(1, 2**18)


def laws_on_the_line(
    lattice: LatticeLaplace, points: Sequence[Fraction] = EIGHTHS
) -> dict[tuple[Fraction, ...], tuple[Law, Fraction]]:
    return {(u,): law_of(lattice, [u], TINY) for u in points}


@pytest.mark.parametrize("q", [1, 2, 3])
def test_the_enumerated_law_is_the_formula(q: int) -> None:
    lattice = SmallLattice(0, q)
    for (u,), (law, residual) in laws_on_the_line(lattice).items():
        assert sum(law.values()) + residual == 1
        assert residual < Fraction(1, 1000)
        for (z,), p in law.items():
            assert abs(p - closed_form(lattice, u, z)) <= residual + Fraction(1, 2**150)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_no_pair_of_inputs_and_no_output_breaks_the_promise(q: int) -> None:
    lattice = SmallLattice(0, q)
    assert list(violations(laws_on_the_line(lattice), lattice.epsilon)) == []


def test_the_lattice_as_devices_use_it_keeps_the_promise_and_has_the_law() -> None:
    """With its own noise. Planted bug: half the rate in `LatticeLaplace.noise`."""
    lattice = LatticeLaplace(0, 2)
    laws = laws_on_the_line(lattice, [Fraction(0), Fraction(1, 8)])
    assert list(violations(laws, lattice.epsilon)) == []
    for (u,), (law, residual) in laws.items():
        for (z,), p in law.items():
            assert abs(p - closed_form(lattice, u, z)) <= residual + Fraction(1, 2**150)


@pytest.mark.parametrize(("exponent", "q"), [(0, 1), (0, 7), (3, 2), (4, 16)])
def test_the_formula_keeps_the_promise_with_no_slack_at_all(exponent: int, q: int) -> None:
    lattice = LatticeLaplace(exponent, q)
    points = [n * Fraction(1, 16) for n in range(-20, 21, 3)]
    span = range(-30, 31)
    laws: dict[tuple[Fraction, ...], tuple[Law, Fraction]] = {
        (u,): ({(z,): closed_form(lattice, u, z) for z in span}, Fraction(0)) for u in points
    }
    assert list(violations(laws, lattice.epsilon)) == []


@pytest.mark.parametrize("q", [1, 2])
def test_some_pair_comes_within_a_thousandth_of_the_promise(q: int) -> None:
    """On the enumerated law itself; the branches cut off move the ratio by less than 1e-6."""
    lattice = SmallLattice(0, q)
    distance = Fraction(1, 1024)
    (law, _), (nearby, _) = (
        law_of(lattice, [u], Fraction(1, 2**32)) for u in (0 * distance, distance)
    )
    loss = math.log(nearby[(1,)] / law[(1,)])
    assert 0.999 <= loss / float(lattice.epsilon * distance) <= 1


@pytest.mark.parametrize("u", [0.1, 0.1 + 1e-9, 0.5, 0.5 - 1e-9, -1e-12, 1e-300, -7.3])
def test_the_odds_of_rounding_up_are_the_exact_fraction_of_the_float(u: float) -> None:
    """Planted bug: rounding the profile first, after which two people 1e-9 apart stand a whole
    rounding step apart.
    """
    bits = RecordedOdds()
    LatticeLaplace(3, 2).perturb(np.array([u]), bits)
    assert bits.first == Fraction(u) * 8 - math.floor(Fraction(u) * 8)


class RecordedOdds(RandomBits):
    """Throws tails, and notes the exact odds of the first coin: the one that rounds."""

    first: Fraction | None = None

    def read(self, count: int) -> bytes:
        raise AssertionError("the odds are read, not the bits")

    def throw(self, coins: Coins, times: int = 1) -> list[list[bool]]:
        if self.first is None:
            (odds,) = coins.odds
            assert isinstance(odds, RationalOdds)
            self.first = odds.probability
        return [[False] * len(coins)] * times


def test_two_coordinates_keep_the_promise_in_the_l1_metric() -> None:
    laws = laws_in_the_plane(PlaneLattice(0, 1))
    assert list(violations(laws, Fraction(1))) == []


@pytest.mark.parametrize(("u", "v"), [(0, 0), (Fraction(7, 8), Fraction(7, 8))])
def test_two_coordinates_have_independent_noise(u: Fraction, v: Fraction) -> None:
    """Planted bug: one coin rounds both, which is seen off the lattice alone."""
    lattice = PlaneLattice(0, 1)
    law, residual = law_of(lattice, [u, v], Fraction(1, 2**16))
    for (z, w), p in law.items():
        product = closed_form(lattice, u, z) * closed_form(lattice, v, w)
        assert abs(p - product) <= residual


class PlaneLattice(LatticeLaplace):
    @cached_property
    def noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(self.inverse_rate, levels=2)


def laws_in_the_plane(lattice: LatticeLaplace) -> dict[tuple[Fraction, ...], tuple[Law, Fraction]]:
    points = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(0)), (Fraction(1), Fraction(1))]
    return {point: law_of(lattice, point, Fraction(1, 2**13)) for point in points}


def laws_of_rounding(lattice: LatticeLaplace) -> dict[tuple[Fraction, ...], tuple[Law, Fraction]]:
    """Off the lattice, in the plane: rounding as it is, then the noise by its formula.

    Nothing is cut off: every (z, w) from -2 to 3 has its exact probability.
    """
    r = Fraction(lattice.inverse_rate, lattice.inverse_rate + 1)
    c = (1 - r) / (1 + r)
    laws: dict[tuple[Fraction, ...], tuple[Law, Fraction]] = {}
    for point in itertools.product(WITHIN_A_STEP, repeat=2):
        law: Law = defaultdict(Fraction)
        for faces in itertools.product((False, True), repeat=2):
            branch = Branch(faces, Fraction(0))
            i, j = lattice._round(np.array([float(u) for u in point]), branch)
            for z, w in itertools.product(range(-2, 4), repeat=2):
                law[z, w] += branch.probability * c**2 * r ** (abs(z - i) + abs(w - j))
        laws[point] = (law, Fraction(0))
    return laws


WITHIN_A_STEP = tuple(Fraction(n, 32) for n in (1, 4, 28, 31))


@pytest.mark.parametrize("q", [1, 2, 1024])
def test_rounding_in_the_plane_keeps_the_promise_with_no_slack_at_all(q: int) -> None:
    lattice = LatticeLaplace(0, q)
    assert list(violations(laws_of_rounding(lattice), lattice.epsilon)) == []


# Planted bugs. Each must be seen by the same check that the real code passes.


class RoundsToNearest(SmallLattice):
    def _round(self, profile: Iterable[float | Fraction], bits: RandomBits) -> list[int]:
        return [math.floor(u * (1 << self.step_exponent) + 0.5) for u in profile]


class RoundsDown(SmallLattice):
    def _round(self, profile: Iterable[float | Fraction], bits: RandomBits) -> list[int]:
        return [math.floor(u * (1 << self.step_exponent)) for u in profile]


class HalfScale(LatticeLaplace):
    @cached_property
    def noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(self.inverse_rate // 2, levels=3)


class OneSided(TwoSidedGeometric):
    def draw(self, count: int, bits: RandomBits) -> list[int]:
        return self.one_sided(count, bits)


class OneSidedNoise(LatticeLaplace):
    @cached_property
    def noise(self) -> TwoSidedGeometric:
        return OneSided(self.inverse_rate, levels=3)


class Truncated(TwoSidedGeometric):
    def one_sided(self, count: int, bits: RandomBits) -> list[int]:
        faces = bits.throw(self._coins, count)
        return [sum(face << level for level, face in enumerate(row[:-1])) for row in faces]


class NeverGoesBeyond(LatticeLaplace):
    @cached_property
    def noise(self) -> TwoSidedGeometric:
        return Truncated(self.inverse_rate, levels=2)


class SameDrawOnBoth(PlaneLattice):
    def perturb(self, profile: Iterable[float | Fraction], bits: RandomBits) -> tuple[int, ...]:
        (move,) = self.noise.draw(1, bits)
        return tuple(point + move for point in self._round(profile, bits))


class OneRoundingCoin(LatticeLaplace):
    """One uniform number rounds both coordinates: the one nearer to its upper end goes up first."""

    def _round(self, profile: Iterable[float | Fraction], bits: RandomBits) -> list[int]:
        given = np.array([float(u) for u in profile])
        order = np.argsort(-given)
        larger, smaller = (Fraction(float(given[i])) for i in order)
        coins = Coins([RationalOdds(larger), RationalOdds(1 - smaller / larger)])
        up, alone = bits.throw(coins)[0]
        moves = {order[0]: up, order[1]: up and not alone}
        return [int(moves[0]), int(moves[1])]


@pytest.mark.parametrize(
    "broken", [RoundsToNearest, RoundsDown, HalfScale, OneSidedNoise, NeverGoesBeyond]
)
def test_a_planted_bug_on_the_line_is_caught(broken: type[LatticeLaplace]) -> None:
    lattice = broken(0, 2)
    assert list(violations(laws_on_the_line(lattice), lattice.epsilon))


def test_the_rate_epsilon_in_place_of_the_ratio_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    @cache
    def rate_of_epsilon(inverse_rate: int, level: int, scale: int) -> tuple[int, int]:
        """r = exp(-1 / q), the textbook rate: right on the lattice, too weak between its points."""
        value = 1 / exponential_from_below(Fraction(1 << level, inverse_rate))
        return math.floor(value * (1 << scale)), math.ceil(value * (1 << scale))

    monkeypatch.setattr(askew.noise.lattice, "_power_of_ratio", rate_of_epsilon)
    lattice = SmallLattice(0, 2)
    assert list(violations(laws_on_the_line(lattice), lattice.epsilon))


def test_the_same_draw_on_two_coordinates_is_caught() -> None:
    assert list(violations(laws_in_the_plane(SameDrawOnBoth(0, 1)), Fraction(1)))


@pytest.mark.parametrize("q", [1, 2, 1024])
def test_one_rounding_coin_for_two_coordinates_is_caught(q: int) -> None:
    """It is right on each coordinate, and its loss comes to epsilon (1 + 1 / q) a unit of the l1
    distance: the independence of the coins is part of the proof.
    """
    lattice = OneRoundingCoin(0, q)
    assert list(violations(laws_of_rounding(lattice), lattice.epsilon))
