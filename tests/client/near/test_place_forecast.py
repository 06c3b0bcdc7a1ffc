"""What a level and k would give at a place: the law of real draws, and none of them made."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from statistics import fmean

import pytest

from askew.noise.randomness import ReplayBits
from askew.placement.hexagonal import place_on_map
from askew.spaces.map import MapNoise, Position, Region
from askew_client.near.sources import PlaceForecast

REGION = Region(47.2, 5.8, 55.1, 15.1)
HOME = Position(50.94, 6.96)
NOISE = MapNoise.in_region(Fraction("0.277"), REGION)
DRAWS = 4000
BITS = hashlib.shake_256(b"distances").digest(DRAWS * 4096)


def test_it_is_the_distance_of_real_draws_and_the_codebooks_own_cost() -> None:
    """Planted bugs: the distance in degrees, the law of noise on a line (mean 1 / epsilon), that of
    a planar Laplace, whose mean is 5 % less, the distance to the signal instead of the nearest
    query point.
    """
    found, bits, away = PlaceForecast.of(NOISE, 20), ReplayBits(BITS), []
    for _ in range(DRAWS):
        north, east = (each / 1e6 for each in NOISE.perturb(HOME, REGION, bits))
        x = 111.31 * NOISE.cosine / 65536 * (east - HOME.longitude)
        away.append(math.hypot(x, 110.57 * (north - HOME.latitude)))
    # The mean's standard error is 1.3 % of it, the share's .5 %; the bits are recorded.
    assert found.mean_km == pytest.approx(fmean(away), rel=0.025)
    assert found.mean_km == pytest.approx(place_on_map(float(NOISE.epsilon), 1).cost, rel=1e-3)
    assert sum(each <= found.most_km for each in away) / DRAWS == pytest.approx(0.9, abs=0.01)
    assert found.query_point_km == place_on_map(float(NOISE.epsilon), 20).cost
    assert found.odds(found.hidden_km) == pytest.approx(4)
