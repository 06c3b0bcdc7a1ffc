"""What a level and k would give at any place, in closed form: nothing is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import Final, Self

from askew.spaces.map import MapNoise

# Of the hexagonal law at epsilon 1 (see below): the mean distance, and what 9 in 10 are within.
_MEAN: Final = 2.1065406
_MOST: Final = 4.1003712


@dataclass(frozen=True)
class PlaceForecast:
    """How far a fresh signal of a level lands, and how near k offsets around it come. Public.

    epsilon: per straight-line kilometer. cosine: of the device's plane. query_point_km: from the
    true place to the nearest of the k best offsets around the signal, on average.
    With the gauge g of `askew_client.views.place_map` and rate = epsilon / 1.1545, the noise has a
    density in proportion to exp(-rate g). In the direction u its distance r has the Gamma law of
    shape 2 and rate a(u) = rate g(u), and the direction has the density 1 / a(u)^2. So the mean is
    that of 2 / a(u), and Pr[r > x] that of (1 + a(u) x) exp(-a(u) x), over directions.
    """

    epsilon: float
    cosine: int
    k: int
    query_point_km: float

    @classmethod
    def of(cls, noise: MapNoise, k: int) -> Self:
        """Return the forecast for this noise and k results. Raises ParameterError for a k
        below 1.
        """
        from askew.placement.hexagonal import place_on_map  # numpy, for a what-if alone

        # The nearest query point is as far from the true place as the nearest offset is from a
        # draw of the noise, so its mean is the codebook's own cost.
        epsilon = float(noise.epsilon)
        return cls(epsilon, noise.cosine, k, place_on_map(epsilon, k).cost)

    @property
    def mean_km(self) -> float:
        """Return how many kilometers from the true place a fresh signal lands on average: 2.107 /
        epsilon.
        """
        return _MEAN / self.epsilon

    @property
    def most_km(self) -> float:
        """Return within how many kilometers of the true place a fresh signal lands 9 times in
        10: 4.100 / epsilon, of hexagonal noise.
        """
        return _MOST / self.epsilon

    @property
    def hidden_km(self) -> float:
        """Return how many kilometers apart two places may be for the odds between them to change at
        most 4 times: log(4) / epsilon.
        """
        return log(4) / self.epsilon

    def odds(self, kilometers: float) -> float:
        """Return the factor by which the odds between two places so far apart change at most:
        e**(epsilon * kilometers), 1.0 at 0 km, with the exponent cut at 700.
        """
        return exp(min(700.0, self.epsilon * kilometers))
