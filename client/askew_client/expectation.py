"""What a choice of epsilon and k would give on average, computed on the device; nothing is sent.

The server's rule is public (`askew.placement`), so the device can play it against its own profile
with as many draws of the noise as it likes: what never leaves costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.placement import Identity, Laplace, place, snap
from askew.randomness import RandomBits
from askew.ranking import distances
from askew_client.exchange import Exchange


@dataclass(frozen=True)
class Quality:
    """How good picks are: the mean distance from the person, and the mean place of the pick among
    all items that the person has not rated, 1 being the best.
    """

    distance: float
    place: float


@dataclass(frozen=True)
class Comparison:
    """One person's picks under the same noise: with k results, with one, and the two extremes."""

    no_privacy: Quality
    many: Quality
    one: Quality
    nothing_sent: Quality


def compare(
    exchange: Exchange, draws: int, bits: RandomBits, progress: Callable[[], None]
) -> Comparison:
    """Average over `draws` of the noise. progress() is called once a draw.

    nothing_sent is the pick from the k items that the server would show to anybody.
    """
    settings, catalog = exchange.settings, exchange.catalog
    lattice = Lattice.for_epsilon(settings.epsilon)
    noise = Laplace(float(lattice.epsilon), exchange.card.space.dimension)
    rules = [(k, place(noise, Identity(), k, on_demand=False).offsets) for k in (settings.k, 1)]
    scores = _Scores(exchange)
    picks: tuple[list[int], list[int]] = ([], [])
    for _ in range(draws):
        signal = np.array(lattice.perturb(exchange.profile.vector, bits)) * lattice.step
        for (k, offsets), found in zip(rules, picks, strict=True):
            found.append(scores.best_of(snap(signal, offsets, catalog.positions, k)))
        progress()
    return Comparison(
        no_privacy=scores.quality([scores.best_of(range(len(catalog)))]),
        many=scores.quality(picks[0]),
        one=scores.quality(picks[1]),
        nothing_sent=scores.quality([scores.best_of(catalog.shared_slate[: settings.k])]),
    )


class _Scores:
    """The true distances of one person to every item. Private."""

    def __init__(self, exchange: Exchange) -> None:
        self._far = distances(exchange.profile.vector, exchange.catalog.positions)
        self._unseen = np.ones(len(self._far), dtype=np.bool_)
        self._unseen[list(exchange.ratings)] = False
        self._sorted: NDArray[np.float64] = np.sort(self._far[self._unseen])

    def best_of(self, items: Sequence[int]) -> int:
        """The nearest unrated item, or the nearest where all are rated; ties to the lower id."""
        return min(items, key=lambda item: (not self._unseen[item], self._far[item], item))

    def quality(self, picks: Sequence[int]) -> Quality:
        """The mean over picks."""
        far = self._far[list(picks)]
        places = 1 + np.searchsorted(self._sorted, far, side="left")
        return Quality(float(far.mean()), float(places.mean()))
