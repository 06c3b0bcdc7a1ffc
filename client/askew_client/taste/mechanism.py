"""The mechanism by which settings ask a server, or why they do not."""

from __future__ import annotations

from fractions import Fraction

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import TasteMechanism
from askew_client.settings.settings import ClientSettings


def mechanism_for(card: ModelCard, settings: ClientSettings) -> TasteMechanism:
    """The mechanism by which these settings ask this server.

    Raises ParameterError when the server cannot answer them, or where the noise on a point would
    say more than this device allows: the space is too wide, or one rating moves a point too far.
    """
    if settings.k > card.max_slate_size:
        limit = f"at most what this server answers, {card.max_slate_size}"
        raise ParameterError("k", settings.k, limit)
    mechanism, reach = settings.mechanism_in(card.space.n_buckets), card.space.encoder.reach()
    if isinstance(mechanism, LatticeLaplace):
        _check("the feature space's diameter", reach.diameter, settings.max_diameter)
        _check("how far one rating moves a point", reach.one_rating, settings.max_one_rating)
    return mechanism


def _check(name: str, distance: Fraction, most: float) -> None:
    if distance > most:
        raise ParameterError(name, float(distance), f"at most this device's limit, {most:g}")
