"""The lattice keeps its promise: its law by enumeration, its coins, its distribution."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property
from math import floor

import numpy as np
import pytest
from guarantees.audit.branches import Branch, exponential_from_below, law_of_coins
from numpy.typing import NDArray
from scipy import stats

from askew.noise import lattice as production
from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import KERNEL, Coins, Odds, RandomBits, RationalOdds, SystemBits

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


def test_the_lattice_as_devices_use_it_keeps_the_promise_and_has_the_law() -> None:
    """With its own noise. Planted bug: half the rate in `LatticeLaplace.noise`."""
    lattice = LatticeLaplace(0, 2)
    laws = laws_on_the_line(lattice, [Fraction(0), Fraction(1, 8)])
    assert list(violations(laws, lattice.epsilon)) == []
    for (u,), (law, residual) in laws.items():
        for (z,), p in law.items():
            assert abs(p - closed_form(lattice, u, z)) <= residual + Fraction(1, 2**150)


@pytest.mark.parametrize(("exponent", "q"), [(0, 1), (3, 2)])
def test_the_formula_keeps_the_promise_with_no_slack_at_all(exponent: int, q: int) -> None:
    lattice = LatticeLaplace(exponent, q)
    points = [n * Fraction(1, 16) for n in range(-20, 21, 3)]
    span = range(-30, 31)
    laws: dict[tuple[Fraction, ...], tuple[Law, Fraction]] = {
        (u,): ({(z,): closed_form(lattice, u, z) for z in span}, Fraction(0)) for u in points
    }
    assert list(violations(laws, lattice.epsilon)) == []


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 2])
def test_some_pair_comes_within_a_thousandth_of_the_promise(
    q: int, record_property: Callable[[str, object], None]
) -> None:
    """On the enumerated law itself; the branches cut off move the ratio by less than 1e-6."""
    lattice = SmallLattice(0, q)
    distance = Fraction(1, 1024)
    (law, _), (nearby, _) = (
        law_of(lattice, [u], Fraction(1, 2**32)) for u in (0 * distance, distance)
    )
    loss = math.log(nearby[(1,)] / law[(1,)])
    record_property("mechanism", "LatticeLaplace")
    record_property("claimed", float(lattice.epsilon * distance))
    record_property("exact", loss)
    assert 0.999 <= loss / float(lattice.epsilon * distance) <= 1


@pytest.mark.parametrize("u", [0.1 + 1e-9, 0.5, -1e-12, 1e-300])
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


# Bugs that the check of all pairs must see; those of planted.toml are seen by the law itself.


class SameDrawOnBoth(PlaneLattice):
    def perturb(
        self, profile: Iterable[float | Fraction], bits: RandomBits = KERNEL
    ) -> tuple[int, ...]:
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


def test_the_rate_epsilon_in_place_of_the_ratio_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    @cache
    def rate_of_epsilon(inverse_rate: int, level: int, scale: int) -> tuple[int, int]:
        """r = exp(-1 / q), the textbook rate: right on the lattice, too weak between its points."""
        value = 1 / exponential_from_below(Fraction(1 << level, inverse_rate))
        return math.floor(value * (1 << scale)), math.ceil(value * (1 << scale))

    monkeypatch.setattr(production, "_power_of_ratio", rate_of_epsilon)
    lattice = SmallLattice(0, 2)
    assert list(violations(laws_on_the_line(lattice), lattice.epsilon))


def test_the_same_draw_on_two_coordinates_is_caught() -> None:
    """Draws of their own keep the promise in the l1 metric."""
    assert list(violations(laws_in_the_plane(PlaneLattice(0, 1)), Fraction(1))) == []
    assert list(violations(laws_in_the_plane(SameDrawOnBoth(0, 1)), Fraction(1)))


@pytest.mark.parametrize("q", [1, 1024])
def test_one_rounding_coin_for_two_coordinates_is_caught(q: int) -> None:
    """Coins of their own keep the promise with no slack at all. One is right on each coordinate,
    and its loss comes to epsilon (1 + 1 / q) a unit of the l1 distance: the independence of the
    coins is part of the proof.
    """
    lattice = LatticeLaplace(0, q)
    assert list(violations(laws_of_rounding(lattice), lattice.epsilon)) == []
    assert list(violations(laws_of_rounding(OneRoundingCoin(0, q)), lattice.epsilon))


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
    odds = []
    low, high = lattice.inverse_rate, lattice.inverse_rate + 1  # integers, which need no gcd
    for level in range(levels):
        odds.append((1 << level, (low << PRECISION) // (low + high)))
        low, high = low * low, high * high
    odds.append((1 << levels, (low << PRECISION) // high))
    wanted = Counter[tuple[int, int, int]]()
    for coordinate in range(d):
        x = Fraction(POINT[coordinate]) * 2**lattice.step_exponent
        wanted[coordinate, 1, floor((x - floor(x)) * 2**PRECISION)] += 1
        for sign, (move, chance) in itertools.product((1, -1), odds):
            wanted[coordinate, sign * move, chance] += 1
    return wanted


@pytest.mark.parametrize("d", [1, 3, len(POINT)])
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
        low, high = odds(PRECISION)
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


DRAWS = 60_000
# One false alarm in 10**9 runs of each test below.
ALPHA = 1e-9


@pytest.mark.parametrize("q", [1, Fraction(3, 7), Fraction(94265, 8192)])
def test_the_odds_of_a_digit_enclose_the_fraction(q: int | Fraction) -> None:
    """And those of going beyond so many digits."""
    for level, precision in itertools.product((0, 1, 7), (8, 128, 300)):
        x = (Fraction(q) / (q + 1)) ** 2**level
        for odds, exact in ((production.digit, x / (1 + x)), (production.beyond, x)):
            low, high = odds(q, level, precision)
            assert low <= exact * 2**precision <= high
            assert high - low <= 1


@pytest.mark.parametrize("q", [1, 1024, Fraction(3, 7), 2**60])
def test_constant_work_leaves_at_most_one_draw_in_2_to_the_128_to_the_last_coin(
    q: int | Fraction,
) -> None:
    levels = TwoSidedGeometric.with_constant_work(q).levels
    assert production.beyond(q, levels, 256)[1] <= 1 << 128
    assert production.beyond(q, levels - 1, 256)[0] > 1 << 128


def goodness_of_fit(sample: list[int], q: int) -> float:
    """p-value of a chi-squared test of P(n) = (1 - r) / (1 + r) r**|n| on 40 cells."""
    r = q / (q + 1)
    edges = np.unique(np.round(np.linspace(-4 * q, 4 * q, 39))).astype(np.int64)
    # P(Z <= n) = r**-n / (1 + r) for n <= 0, by symmetry 1 - r**(n + 1) / (1 + r) above.
    below = np.where(edges < 0, r ** -edges.clip(max=0), 0) / (1 + r)
    below = np.where(edges < 0, below, 1 - r ** (edges.clip(min=0) + 1.0) / (1 + r))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * len(sample)
    cells = np.searchsorted(edges, sample, side="left")
    observed = np.bincount(cells, minlength=len(edges) + 1)
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("q", [4, 1024])
def test_draws_from_the_kernel_follow_the_law(q: int) -> None:
    """And a scale that is off by a tenth is seen."""
    sample = TwoSidedGeometric.with_constant_work(q).draw(DRAWS, SystemBits())
    assert goodness_of_fit(sample, q) > ALPHA
    if q == 1024:
        assert goodness_of_fit(sample, round(1024 / 0.9)) < ALPHA
        assert goodness_of_fit(sample, round(1024 / 1.1)) < ALPHA
