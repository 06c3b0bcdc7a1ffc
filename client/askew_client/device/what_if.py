"""What other settings would give, and what their noise looks like: played here, nothing is sent."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.model_card import ModelCard
from askew.retrieval import offsets_of
from askew_client.forecast.forecast import Expectation, needs_prior
from askew_client.settings.settings import ClientSettings
from askew_client.taste.exchange import Exchange
from askew_client.views.answers import Forecast, NoisePicture

_PICTURE = 121  # points of a density, so that a wide terminal has one for each column


def forecast_of(
    exchange: Exchange, settings: ClientSettings, draws: int, bits: RandomBits
) -> Forecast:
    """What other settings would give this person on average, by playing the public rule."""
    catalog = exchange.catalog.decoded()  # every draw looks at all of it
    changed = replace(exchange, settings=settings, catalog=catalog)
    expectation = Expectation(changed, bits)
    for _ in range(draws):
        expectation.draw()
    comparison = expectation.comparison()
    return Forecast(
        epsilon=settings.epsilon,
        k=settings.k,
        between_any_two=float(changed.loss.epsilon),
        estimated=needs_prior(changed),
        place=comparison.many.place,
        place_without_signal=comparison.nothing_sent.place,
        place_without_privacy=comparison.no_privacy.place,
    )


def check_point(settings: ClientSettings) -> None:
    """Raises ParameterError for buckets: they are no noise on a point."""
    if settings.mechanism != "geo_laplace":
        limit = "geo_laplace for a picture of its noise: a bucket has none"
        raise ParameterError("mechanism", settings.mechanism, limit)


def noise_of(card: ModelCard, epsilon: Fraction, k: int) -> NoisePicture:
    """The density of the noise on one coordinate, and the offsets that suit it."""
    lattice = LatticeLaplace.for_epsilon(epsilon)
    rate, dimension = float(lattice.epsilon), card.space.dimension
    reach: NDArray[np.float64] = np.linspace(-4 / rate, 4 / rate, _PICTURE)
    density = rate / 2 * np.exp(-rate * np.abs(reach))
    offsets = offsets_of(card.rule.kind, rate, dimension, k)
    points = tuple(tuple(each) for each in offsets.tolist())
    return NoisePicture(epsilon, tuple(reach.tolist()), tuple(density.tolist()), points)
