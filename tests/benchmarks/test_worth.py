"""What the comparison of README rests on: the size of a cell, what it tells, and a pick's worth."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.places.country import LEVELS, Country
from benchmarks.places.worth import CellFrame, Market, exact, side_of, told_apart

from askew.noise.hexagonal import RISE, HexagonalLattice
from askew_server.demo.places import GERMANY, german_towns


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_cell_is_as_large_as_the_likeliest_points_that_have_its_share(share: float) -> None:
    """Summed over the lattice's exact law: 6 n points n steps away, of r**n each; a point stands
    for 13/15 s**2. Planted bug: the radius of a round law.
    """
    lattice = HexagonalLattice.for_epsilon(LEVELS["town"])
    q, n = lattice.inverse_rate, np.arange(1, 40_000)
    law = np.concatenate([[1.0], 6 * n * (q / (q + 1)) ** n]) / (1 + 6 * q * (q + 1))
    steps = int(np.searchsorted(np.cumsum(law), share))
    points = 1 + 3 * steps * (steps + 1)
    area = points * float(RISE) * float(lattice.step) ** 2
    assert side_of(share) ** 2 == pytest.approx(area, rel=0.003)  # 13/15 is .07 % above .866


def test_a_position_lies_in_the_cell_of_its_middle() -> None:
    country = Country(german_towns(), GERMANY)
    frame, people = CellFrame(country, 11.0), country.people("towns", 500)
    middles = frame.centers(people)
    away = np.abs(people - middles) / frame.size
    inside = (frame.grid(middles.copy()) < frame.extent - frame.size / 2).all(axis=1)
    assert inside.mean() > 0.99
    assert away[inside].max() <= 0.5 + 1e-9
    assert np.unique(middles, axis=0).shape[0] > 100


def test_homes_are_told_apart_as_often_as_an_edge_lies_between_them() -> None:
    """Planted bug: one axis alone."""
    rng = np.random.default_rng(5)
    first, turn = rng.uniform(0, 9, (400_000, 2)), rng.uniform(0, 2 * np.pi, 400_000)
    second = first + 4 * np.column_stack([np.cos(turn), np.sin(turn)])
    apart = (np.floor(first / 9) != np.floor(second / 9)).any(axis=1).mean()
    kept, fresh = told_apart(9.0, 4.0)
    assert kept == pytest.approx(apart, abs=0.004)  # five deviations of each
    assert kept < fresh < kept + 4 * 2 * 0.06 / 9
    assert told_apart(9.0, 0.0, 1000)[0] == pytest.approx(0)
    assert told_apart(9.0, 9 * 2**0.5, 1000)[0] == pytest.approx(1)


@pytest.mark.slow
def test_who_shows_the_true_position_gets_the_best_and_a_taken_table_is_no_pick() -> None:
    """Planted bugs: the nearest place of all as the best one; a taken table that counts."""
    country = Country(german_towns(), GERMANY)
    market, homes = Market(country, 2000), country.people("towns", 40)
    every = np.arange(2000)
    signals = country.signals(homes)
    by_signal = market.asked(homes, signals, market.served, 20)
    assert by_signal.min() >= 0
    free = np.flatnonzero(market.free)
    assert market.held(homes, free) == pytest.approx(0, abs=1e-9)
    blind = market.held(homes, every)
    assert 0 < np.isnan(blind).sum() < 40
    assert np.isnan(market.beyond(homes, np.full(40, np.flatnonzero(~market.free)[0]))).all()
    frame = CellFrame(country, side_of(0.5))
    spread = market.asked(homes, exact(signals[0], frame.centers(homes)), market.spread(frame), 20)
    assert np.isnan(spread).sum() == 0
    assert spread.mean() < by_signal.mean()
