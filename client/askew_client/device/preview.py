"""What a signal of other settings would tell and give, by public things alone: nothing is drawn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from askew.retrieval.offset_rule import offsets_of
from askew_client.device.model import Model
from askew_client.settings.settings import ClientSettings
from askew_client.taste.choice import noise_for
from askew_client.views.answers import NoisePicture, SignalPreview

_PICTURE = 121  # points of a density, so that a wide terminal has one for each column


def preview_of(model: Model, settings: ClientSettings) -> SignalPreview:
    """A fresh signal of these settings at this server. Raises ParameterError as `noise_for`."""
    exact, card = noise_for(model.card, settings).epsilon, model.card
    return SignalPreview(
        epsilon=settings.epsilon_per_rating,
        k=settings.k,
        one_rating=exact,
        at_median=exact * Fraction(card.median_distance),
        between_any_two=exact * card.space.diameter,
        noise=_noise(model, settings, float(exact)),
    )


def _noise(model: Model, settings: ClientSettings, rate: float) -> NoisePicture:
    """The density of the noise on one coordinate, and the offsets that suit it."""
    reach = np.linspace(-4 / rate, 4 / rate, _PICTURE)
    density = rate / 2 * np.exp(-rate * np.abs(reach))
    offsets = offsets_of(rate, model.card.space.dimension, settings.k)
    points = tuple(tuple(each) for each in offsets.tolist())
    return NoisePicture(tuple(reach.tolist()), tuple(density.tolist()), points)
