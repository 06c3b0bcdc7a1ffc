"""What a level and k would give at a place: the law of real draws, and none of them made."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import fmean

import pytest

from askew.noise.randomness import ReplayBits
from askew.placement.hexagonal import place_on_map
from askew.spaces.map import MapNoise, Position, Region
from askew_client.near.place_forecast import PlaceForecast

REGION = Region(47.2, 5.8, 55.1, 15.1)
HOME = Position(50.94, 6.96)
NOISE = MapNoise.in_region(Fraction("0.277"), REGION)
DRAWS = 1000


def test_it_is_the_distance_of_real_draws_and_the_codebooks_own_cost(
    replay: Callable[[str], ReplayBits],
) -> None:
    """Planted bugs: the distance in degrees, the law of noise on a line (mean 1 / epsilon), the
    distance to the signal instead of the nearest query point.
    """
    found, bits, away = PlaceForecast.of(NOISE, 20), replay("noise"), []
    for _ in range(DRAWS):
        north, east = (each / 1e6 for each in NOISE.perturb(HOME, REGION, bits))
        x = 111.31 * NOISE.cosine / 65536 * (east - HOME.longitude)
        away.append(math.hypot(x, 110.57 * (north - HOME.latitude)))
    # The mean's standard error is sqrt(2) / epsilon / sqrt(DRAWS), 2.2 % of it; the share's 1 %.
    assert found.mean_km == pytest.approx(fmean(away), rel=0.1)
    assert sum(each <= found.most_km for each in away) / DRAWS == pytest.approx(0.9, abs=0.05)
    assert found.query_point_km == place_on_map(float(NOISE.epsilon), 20).cost
    assert found.odds(found.hidden_km) == pytest.approx(4)
