"""Who may have sent a signal: against the law, and against Bayes' rule on a fine grid."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from near_world import EARTH, INLAND, ISLANDS, LINE, signal_at
from scipy.ndimage import gaussian_filter

from askew.noise.hexagonal import HexagonalLattice
from askew.spaces.map import LEAST_COSINE, Area, MapNoise, MapSpace, MetricSpace
from askew_server.collections.model import Towns
from askew_server.retrieval import density as density_module
from askew_server.retrieval.density import ITEMS, SAMPLES, TOWNS, WIDE, ByDensity, ByNoise, Density
from askew_server.retrieval.index import frame_of

TOWN = Fraction(277, 1000)
INLAND_FRAME = frame_of(MapSpace(INLAND))


def towns_at(*rows: tuple[float, float, float]) -> Towns:
    table = np.array(rows)
    return Towns(table[:, :2].copy(), table[:, 2].copy(), "made up")


ISLAND = np.array([[-17.0, 178.0]])
EVERYWHERE = np.array([[48.0, 8.0], [50.0, 11.0]])
EVEN = 1 - TOWNS - ITEMS


def test_people_by_the_noise_alone_have_its_mean_distance_in_every_direction() -> None:
    """Planted bug: the radius of a Laplace law on the line, which is half as long."""
    signal = signal_at(49.0, 9.0, MapNoise.in_region(TOWN, INLAND))
    people, shares = ByNoise(INLAND_FRAME).sample(signal)
    assert set(shares.tolist()) == {1 / len(people)}
    north, east = (people - INLAND_FRAME.aim(signal)).T
    moved = np.column_stack([east * 111.31 * signal.map_noise.cosine / 65536, north * 110.57])
    away = np.hypot(*moved.T)
    # The mean of |w| on the edges of the hexagon, times the mean 2 of a Gamma(2) law.
    corners = np.array([(1, 0), (0.5, 13 / 15), (-0.5, 13 / 15)])
    along = np.linspace(0, 1, 1001)[:, None]
    edges = [np.hypot(*((1 - along) * corners[m] + along * corners[m + 1]).T) for m in (0, 1)]
    mean = np.average([edges[0].mean(), edges[1].mean()], weights=[2, 1])
    expected = 2 * 1.1545 / float(signal.map_noise.epsilon) * mean
    assert away.mean() == pytest.approx(expected, rel=0.02)
    assert np.abs(moved.mean(axis=0)).max() < 0.05 * expected
    assert np.median(away) == pytest.approx(expected * 0.84, rel=0.03)


@pytest.mark.parametrize("share", [0.5, 4.0])
def test_a_density_divides_people_between_two_towns_as_bayes_does(share: float) -> None:
    """By their shares; they stand as densely as results of least distance do, in proportion to the
    power 2/3. Planted bugs: the density left out; the likelihood left out; the floor left out;
    positions in proportion to people.
    """
    towns = towns_at((49.0, 8.9, 20_000), (49.0, 9.2, share * 20_000))
    frame = INLAND_FRAME
    signal = signal_at(49.02, 9.0, MapNoise.in_region(TOWN, INLAND))
    density = Density.of_towns(frame, towns, EVERYWHERE)
    people, shares = ByDensity(frame, density).sample(signal)
    east = people[:, 1] > 3.05  # degrees east of the west edge

    reach = frame.spread(signal, np.full((1, 2), 6 / frame.epsilon(signal)))[0]
    centers, _, expected = density.window(frame.aim(signal), reach)
    weights = expected * np.exp(frame.log_likelihood(signal, centers))
    beyond = centers[1] > 3.05
    assert shares.sum() == pytest.approx(1)
    assert shares[east].sum() == pytest.approx(weights[:, beyond].sum() / weights.sum(), abs=0.02)
    denser = weights ** (2 / 3)
    assert east.mean() == pytest.approx(denser[:, beyond].sum() / denser.sum(), abs=0.02)


def test_the_likelihood_is_that_of_the_lattice() -> None:
    """log P(signal | point) falls by log(1 + 1/q) a step, whatever the direction."""
    lattice = HexagonalLattice(2, 40)
    noise = MapNoise(lattice, INLAND.cosine)
    signal = signal_at(49.0, 9.0, noise)
    frame, aim = INLAND_FRAME, INLAND_FRAME.aim(signal)
    for i, j, steps in [(3, 0, 3), (0, 3, 3), (3, 3, 3), (2, -1, 3), (-4, 1, 5), (5, 2, 5)]:
        x, y = (float(part) for part in lattice.point(i, j))
        there = aim - np.array([y / 110.57, x / (111.31 * INLAND.cosine / 65536)])
        logs = frame.log_likelihood(signal, [there[:1], there[1:]])
        assert logs[0, 0] == pytest.approx(-steps * np.log1p(1 / 40), rel=1e-6)


def test_a_density_is_of_towns_items_and_what_is_even() -> None:
    """Planted bugs: no floor, and nobody is expected far from every town and item; items that do
    not count, or count by how many there are.
    """
    towns = towns_at((48.0, 7.0, 1e5), (50.0, 11.0, 3e5))
    items = np.repeat([[48.0, 11.0]], 5000, axis=0)
    density = Density.of_towns(INLAND_FRAME, towns, items)
    centers, _, people = density.window(INLAND_FRAME.extent / 2, INLAND_FRAME.extent)
    shares = people / people.sum()
    assert shares.min() * shares.size == pytest.approx(EVEN, rel=0.01)
    south, west = centers[0][:, None] < 2.0, centers[1] < 3.0
    found = [shares[there].sum() for there in (south & west, south & ~west, ~south & ~west)]
    expected = [TOWNS / 4, ITEMS, TOWNS * 3 / 4]
    assert found == pytest.approx([EVEN / 4 + each for each in expected], abs=0.01)


@pytest.mark.parametrize("where", [179.97, -179.97])
def test_the_whole_earth_has_no_seam(where: float) -> None:
    """Planted bug: longitudes are clamped at 180 degrees, so nobody is expected beyond."""
    frame = frame_of(MapSpace(EARTH))
    density = Density.of_towns(frame, towns_at((-18.0, -where, 1e7)), ISLAND)
    signal = signal_at(-18.0, where, MapNoise.in_region(TOWN, ISLANDS))
    samples = [people.sample(signal) for people in (ByNoise(frame), ByDensity(frame, density))]
    beyond = [shares @ ((found[:, 1] < 180) == (where > 0)) for found, shares in samples]
    assert 0.1 < beyond[0] < 0.4
    assert beyond[1] > beyond[0]


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter whose work grows with the width of a law refuses wide ones."""

    def narrow(people: np.ndarray, sigma: list[float], **named: Any) -> np.ndarray:
        assert max(sigma) <= WIDE
        return np.asarray(gaussian_filter(people, sigma, **named))

    monkeypatch.setattr(density_module, "gaussian_filter", narrow)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize(
    "space", [LINE, MapSpace(Area(50.0, 10.0, 50.001, 10.001))], ids=["line", "campus"]
)
def test_towns_in_a_narrow_space_are_spread_by_bounded_work(space: MetricSpace) -> None:
    """Planted bug: work that grows with the width of a town in cells, so that a server of one
    campus never starts.
    """
    frame = frame_of(space)
    middle = frame.extent / 2 + (np.array([50.0, 10.0]) if frame.norm == 2 else 0.0)
    towns = Towns(middle[None], np.array([1e7]), "made up")
    density = Density.of_towns(frame, towns, middle[None])
    _, _, people = density.window(frame.extent / 2, frame.extent)
    assert np.isfinite(people).all()
    assert people.sum() == pytest.approx(1, rel=1e-3)
    assert people.min() * people.size >= EVEN * 0.99


@pytest.mark.usefixtures("bounded")
def test_wide_laws_are_normal_and_those_wider_than_the_space_are_even() -> None:
    one = np.zeros(4096, np.float32)
    one[2048] = 1.0
    found = density_module.blurred(one, [100.0], ["reflect"])
    away = (np.arange(4096) - 2048) / 100
    normal = np.exp(-(away**2) / 2) / (100 * np.sqrt(2 * np.pi))
    assert np.abs(found - normal).max() < 0.04 * normal.max()
    assert found @ away**2 == pytest.approx(1, rel=0.01)
    even = density_module.blurred(one, [1e12], ["wrap"])
    np.testing.assert_allclose(even, 1 / 4096, rtol=0.01)


@pytest.mark.parametrize("area", [ISLANDS, EARTH], ids=lambda area: area.words)
def test_any_law_and_any_position_get_finite_people_inside_by_bounded_work(area: Area) -> None:
    """Planted bug: a window without a limit, which a device's tiny epsilon makes huge."""
    frame = frame_of(MapSpace(area))
    middle = (area.south + area.north) / 2
    items = np.array([[middle, area.west + 1]])
    density = Density.of_towns(frame, towns_at((middle, area.west + 1, 1e5)), items)
    for exponent, rate, cosine in product((0, 20), (1, 4096), (LEAST_COSINE, 65_535)):
        noise = MapNoise(HexagonalLattice(exponent, rate), cosine)
        for place in [(middle, area.west), (-90.0, 0.0), (90.0, 180.0), (0.0, -180.0)]:
            signal = signal_at(*place, noise)
            reach = np.full((1, 2), 6 / frame.epsilon(signal))
            center = frame.inside(frame.aim(signal))
            assert density.window(center, frame.spread(signal, reach)[0])[2].size <= 2304
            for people in (ByNoise(frame), ByDensity(frame, density)):
                sample, shares = people.sample(signal)
                assert (sample.shape, shares.shape) == ((SAMPLES, 2), (SAMPLES,))
                assert shares.sum() == pytest.approx(1)
                assert (shares >= 0).all()
                assert ((sample >= 0) & (sample <= frame.extent)).all()
