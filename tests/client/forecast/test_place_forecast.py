"""What a level and k would give at a place: the code of a real signal, and none of it sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import mean

import pytest

from askew.errors import PlaceError
from askew.noise.randomness import ReplayBits
from askew.placement.hexagonal import place_on_map
from askew.spaces.map import MapNoise, Position, Region
from askew_client.forecast.place_forecast import place_forecast

REGION = Region(47.2, 5.8, 55.1, 15.1)
HOME = Position(50.94, 6.96)
NOISE = MapNoise.in_region(Fraction("0.277"), REGION)


def test_it_is_the_distance_of_real_draws_and_the_codebooks_own_cost(
    replay: Callable[[str], ReplayBits],
) -> None:
    """Planted bug: the distance in degrees, or to the signal instead of the nearest probe."""
    found = place_forecast(HOME, REGION, NOISE, 20, draws=40, bits=replay("noise"))
    bits, away = replay("noise"), []
    for _ in range(40):
        north, east = (each / 1e6 for each in NOISE.perturb(HOME, REGION, bits))
        x = 111.31 * NOISE.cosine / 65536 * (east - HOME.longitude)
        away.append(math.hypot(x, 110.57 * (north - HOME.latitude)))
    assert found.mean_km == pytest.approx(mean(away))
    assert sum(each <= found.most_km for each in away) == 36
    assert found.probe_km == place_on_map(float(NOISE.epsilon), 20).cost
    assert found.odds(found.hidden_km) == pytest.approx(4)


def test_a_place_outside_the_region_has_no_forecast(replay: Callable[[str], ReplayBits]) -> None:
    with pytest.raises(PlaceError):
        place_forecast(Position(0, 0), REGION, NOISE, 5, draws=1, bits=replay("noise"))
