"""What a level and k would give at a place, by drawing noise that is never sent.

The draws are those of `MapNoise`, the very code of a real signal. The nearest probe is as far from
the true place as the nearest offset is from a draw of the noise, so its mean is the codebook's own
cost (`askew.placement.hexagonal`), and nothing of a server is needed.
"""

from __future__ import annotations

import numpy as np

from askew.noise.randomness import RandomBits
from askew.placement.hexagonal import place_on_map
from askew.spaces.map import MapNoise, Position, Region, crow
from askew_client.views.quote import PlaceForecast


def place_forecast(  # noqa: PLR0913  # a place, a law, and how to draw
    true: Position, region: Region, noise: MapNoise, k: int, *, draws: int, bits: RandomBits
) -> PlaceForecast:
    """The forecast of a fresh signal at a place. draws: at least 1.

    Raises PlaceError for a place outside the region, and ParameterError for a k below 1.
    """
    signals = [noise.perturb(true, region, bits) for _ in range(draws)]
    away = [crow(true, Position.of_microdegrees(*each), noise.cosine) for each in signals]
    epsilon = float(noise.epsilon)
    most = float(np.quantile(away, 0.9))
    probe = place_on_map(epsilon, k).cost
    return PlaceForecast(epsilon, noise.cosine, k, float(np.mean(away)), most, probe)
