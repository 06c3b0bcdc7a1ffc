"""Simulated noisy positions have the law of the hexagonal mechanism, down to the microdegree."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from benchmarks.places.grounds import hexagonal_signals, map_signals
from numpy.typing import NDArray
from scipy.stats import chi2

from askew.noise.hexagonal import HexagonalLattice, steps
from askew.noise.randomness import RandomBits
from askew.spaces.map import MapNoise, Position, Region, microdegrees

DRAWS = 200_000
PRODUCED = 3_000
FALSE_ALARM = 1e-12  # of each comparison; seeds are fixed, so none is ever seen
COARSE = HexagonalLattice(step_exponent=0, inverse_rate=4)
ANTIMERIDIAN = Region(-20.0, 175.0, -12.0, -178.0)
Cell = tuple[int, int]


class SeededBits(RandomBits):
    """numpy's generator as a source of bits: it protects nobody, and repeats itself."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def read(self, count: int) -> bytes:
        return self.rng.bytes(count)


def law_of(lattice: HexagonalLattice, point: tuple[Fraction, Fraction]) -> dict[Cell, float]:
    """The law of what `perturb` returns, from its definition: a corner, a move, the grain."""
    q, grain = lattice.inverse_rate, lattice.grain
    r = q / (q + 1)
    law: dict[Cell, float] = defaultdict(float)
    for corner, odds in corners_of(lattice, point).items():
        for i, j in product(range(-60, 61), repeat=2):
            z = [corner[0] + i, corner[1] + j]
            a, b = ((each + grain // 2) // grain * grain for each in z)
            law[a, b] += odds * r ** steps(i, j) / (1 + 6 * q * (q + 1))
    return law


def corners_of(lattice: HexagonalLattice, point: tuple[Fraction, Fraction]) -> dict[Cell, float]:
    """The corners of the point's triangle with their odds under one shared uniform."""
    i, j = lattice.coordinates(point)
    below = (i // 1, j // 1)
    fractions = (i % 1, j % 1)
    cuts = sorted({Fraction(0), Fraction(1), *fractions})
    corners = {}
    for low, high in pairwise(cuts):
        up = [fraction > low for fraction in fractions]  # for every uniform between the two
        corners[int(below[0] + up[0]), int(below[1] + up[1])] = float(high - low)
    return corners


def fits(drawn: NDArray[np.int64], law: dict[Cell, float]) -> bool:
    """A chi-square test; cells that few draws are expected in are pooled with all others."""
    cells, counts = np.unique(drawn, axis=0, return_counts=True)
    n = len(drawn)
    seen = dict(zip(map(tuple, cells.tolist()), counts.tolist(), strict=True))
    likely = [cell for cell, odds in law.items() if odds * n >= 20]
    found = np.array([seen.get(cell, 0) for cell in likely])
    wanted = n * np.array([law[cell] for cell in likely])
    found, wanted = np.append(found, n - found.sum()), np.append(wanted, n - wanted.sum())
    statistic = float(((found - wanted) ** 2 / wanted).sum())
    return bool(chi2.sf(statistic, len(likely)) > FALSE_ALARM)


POINTS = [
    (Fraction(0), Fraction(0)),
    (Fraction(7, 10), Fraction(3, 10)),
    (Fraction(-31, 8), Fraction(9, 4)),
]


def drawn_at(point: tuple[Fraction, Fraction], lattice: HexagonalLattice) -> NDArray[np.int64]:
    points = np.tile(np.array([float(c) for c in point]), (DRAWS, 1))
    return hexagonal_signals(lattice, points, np.random.default_rng(3))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("lattice", [COARSE, HexagonalLattice(2, 7)])
def test_positions_get_the_noise_of_the_hexagon(
    lattice: HexagonalLattice, point: tuple[Fraction, Fraction]
) -> None:
    drawn = drawn_at(point, lattice)
    assert lattice.grain > 1, "or coarsening would not be seen"
    assert fits(drawn, law_of(lattice, point))
    for q in (lattice.inverse_rate - 1, lattice.inverse_rate + 1):
        other = HexagonalLattice(lattice.step_exponent, q)
        if other.grain == lattice.grain:
            assert not fits(drawn, law_of(other, point))


def test_two_uniforms_instead_of_one_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the two coordinates are rounded independently."""

    class TwoUniforms:
        def __init__(self, rng: np.random.Generator) -> None:
            self.rng, self.first = rng, True

        def random(self, shape: tuple[int, int] | int) -> NDArray[np.float64]:
            if shape == (DRAWS, 1):
                return self.rng.random((DRAWS, 2))
            return self.rng.random(shape)

        def __getattr__(self, name: str) -> object:
            return getattr(self.rng, name)

    point = (Fraction(1, 3), Fraction(1, 2))
    fine = HexagonalLattice(0, 1)
    points = np.tile(np.array([float(c) for c in point]), (DRAWS, 1))
    rng = np.random.default_rng(4)
    assert fine.grain == 1
    assert fits(hexagonal_signals(fine, points, rng), law_of(fine, point))
    planted = hexagonal_signals(fine, points, TwoUniforms(rng))  # type: ignore[arg-type]
    assert not fits(planted, law_of(fine, point))


def test_what_goes_on_the_wire_is_the_device_s_to_the_microdegree() -> None:
    """Cells of the lattice become the very integers that the production code computes."""
    noise = MapNoise(COARSE, ANTIMERIDIAN.cosine)
    home = Position(-16.25, 179.99)
    point = ANTIMERIDIAN.kilometers(home)
    law: dict[Cell, float] = defaultdict(float)
    for cell, odds in law_of(COARSE, point).items():
        law[microdegrees(*ANTIMERIDIAN.degrees(*COARSE.point(*cell)))] += odds
    positions = np.tile(np.array([home.latitude, home.longitude]), (DRAWS, 1))
    drawn = map_signals(noise, ANTIMERIDIAN, positions, np.random.default_rng(5))
    assert (drawn[:, 1] < 0).any()
    assert (drawn[:, 1] > 0).any()
    known = np.mean([tuple(each) in law for each in drawn.tolist()])
    assert known > 0.9999, "all but the far tail, which the law above leaves out"
    assert fits(drawn, law)


def test_the_device_itself_draws_from_the_same_law() -> None:
    noise = MapNoise(COARSE, ANTIMERIDIAN.cosine)
    home, bits = Position(-16.25, 179.99), SeededBits(6)
    law: dict[Cell, float] = defaultdict(float)
    for cell, odds in law_of(COARSE, ANTIMERIDIAN.kilometers(home)).items():
        law[microdegrees(*ANTIMERIDIAN.degrees(*COARSE.point(*cell)))] += odds
    drawn = np.array([noise.perturb(home, ANTIMERIDIAN, bits) for _ in range(PRODUCED)])
    assert fits(drawn, law)


def test_the_default_level_is_simulated_at_its_own_scale() -> None:
    """The mean straight-line distance of a draw at .277 per kilometer, against the device's own
    draws.
    """
    region = Region(47.0, 5.5, 55.2, 15.5)
    noise = MapNoise.in_region(Fraction(277, 1000), region)
    home, bits = Position(50.0, 10.0), SeededBits(7)
    positions = np.tile(np.array([50.0, 10.0]), (20_000, 1))
    simulated = map_signals(noise, region, positions, np.random.default_rng(8))
    produced = np.array([noise.perturb(home, region, bits) for _ in range(PRODUCED)])
    home_micro = np.array([50_000_000, 10_000_000])
    spread = [np.abs(each - home_micro).mean(axis=0) for each in (simulated, produced)]
    assert spread[0] == pytest.approx(spread[1], rel=0.06)
