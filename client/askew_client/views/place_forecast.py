"""What other settings would give near a place, ready to show."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log


@dataclass(frozen=True)
class PlaceForecast:
    """What a level and k would give, played on the device: nothing was sent or charged.

    epsilon: per crow's kilometer. cosine: of the device's plane. mean_km, most_km: how far from the
    true place a fresh signal lands on average, and 9 times in 10 at most. probe_km: from the true
    place to the nearest of the k best offsets around the signal, on average.
    """

    epsilon: float
    cosine: int
    k: int
    mean_km: float = field(repr=False)
    most_km: float = field(repr=False)
    probe_km: float

    @property
    def hidden_km(self) -> float:
        """How far apart two places may be for the odds between them to change at most 4 times."""
        return log(4) / self.epsilon

    def odds(self, kilometers: float) -> float:
        """How many times the odds between two places so far apart change at most."""
        return exp(min(700.0, self.epsilon * kilometers))
