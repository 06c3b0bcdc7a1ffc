"""The figures about levels in docs/guarantees.md are those of the lattices that devices draw on."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp, log
from pathlib import Path

import pytest
from benchmarks.places import country

from askew.noise.hexagonal import HexagonalLattice
from askew_client.settings import settings

PAGE = (Path(__file__).parents[2] / "docs/guarantees.md").read_text(encoding="utf-8")
# Each row: level, epsilon per km, where odds change fourfold, the factor within 10 km, mean noise.
ROW = re.compile(
    r"\| `(county|town|district)`[^|]*\| ([.\d]+) \| (\d+) km \| ([\d,]+) times \| ([.\d]+) km \|"
)
LEVELS = ROW.findall(PAGE)


def test_devices_draw_at_these_levels_and_figures_are_played_at_them() -> None:
    """Planted bugs: a level of the study, or of the device, that is another one."""
    page = {level: Fraction(epsilon) for level, epsilon, *_ in LEVELS}
    assert [*page] == ["county", "town", "district"]
    assert page == dict(settings.LEVELS) == country.LEVELS
    assert "lifetime 4.2, which is 15 draws of the default level" in PAGE
    town = HexagonalLattice.for_epsilon(page["town"]).epsilon
    assert 15 * town <= Fraction("4.2") < 16 * town


@pytest.mark.parametrize(("level", "epsilon", "radius", "within_10", "mean"), LEVELS)
def test_a_level_promises_what_its_row_says(
    level: str, epsilon: str, radius: str, within_10: str, mean: str
) -> None:
    lattice = HexagonalLattice.for_epsilon(Fraction(epsilon))
    rate = float(lattice.epsilon)
    assert exp(rate * int(radius)) <= 4, level
    assert rate >= 0.997 * log(4) / int(radius)
    assert exp(rate * 10) <= float(within_10.replace(",", ""))
    assert lattice.mean_distance == pytest.approx(float(mean), rel=0.02)
