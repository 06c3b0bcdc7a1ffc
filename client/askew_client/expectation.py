"""What a choice of epsilon and k would give on average, computed on the device; nothing is sent.

The server's rule is public (`askew.placement`), so the device can play it against its own profile
with as many draws of the noise as it likes: what never leaves costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import ProfileError
from askew.lattice import Lattice
from askew.placement import OffsetRule
from askew.randomness import RandomBits
from askew.ranking import distances
from askew_client.exchange import Exchange


@dataclass(frozen=True)
class Quality:
    """How good picks are: the mean distance from the person, and the mean place of the pick among
    all items that the person has not rated, 1 being the best.
    """

    distance: float = field(repr=False)
    place: float = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """One person's picks under the same noise: with k results, with one, and the two extremes."""

    no_privacy: Quality
    many: Quality
    one: Quality
    nothing_sent: Quality


class Expectation:
    """A running comparison: draw as often as you like, then read it.

    Raises ProfileError when the person has rated the whole catalog.
    """

    def __init__(self, exchange: Exchange, bits: RandomBits) -> None:
        self._exchange, self._bits = exchange, bits
        self._lattice = Lattice.for_epsilon(exchange.settings.epsilon)
        self._rule = OffsetRule(exchange.card.space, exchange.catalog.positions)
        self._offsets = [
            (k, self._rule.offsets(self._lattice, k)) for k in (exchange.settings.k, 1)
        ]
        self._scores = _Scores(exchange)
        self._picks: tuple[list[float], list[float]] = ([], [])

    def draw(self) -> None:
        """Draw the noise once more, and pick from k results and from one."""
        noisy = self._lattice.perturb(self._exchange.profile.vector, self._bits)
        signal = np.array(noisy) * self._lattice.step
        for (k, offsets), found in zip(self._offsets, self._picks, strict=True):
            found.append(self._scores.best_of(self._rule.items(signal, offsets, k)))

    def comparison(self) -> Comparison:
        """The mean over the draws so far, at least one.

        nothing_sent is the pick from the k items that the server would show to anybody. A slate of
        which the person has rated everything recommends nothing: it counts as a middling item.
        """
        scores, catalog = self._scores, self._exchange.catalog
        anybody = catalog.shared_slate[: self._exchange.settings.k]
        return Comparison(
            no_privacy=scores.quality([scores.best_of(range(len(catalog)))]),
            many=scores.quality(self._picks[0]),
            one=scores.quality(self._picks[1]),
            nothing_sent=scores.quality([scores.best_of(anybody)]),
        )


class _Scores:
    """The true distances of one person to every item. Private."""

    def __init__(self, exchange: Exchange) -> None:
        self._far = distances(exchange.profile.vector, exchange.catalog.positions)
        self._unseen = np.ones(len(self._far), dtype=np.bool_)
        self._unseen[list(exchange.ratings)] = False
        self._sorted: NDArray[np.float64] = np.sort(self._far[self._unseen])
        if not self._sorted.size:
            raise ProfileError("every item is rated: there is nothing left to recommend")

    def best_of(self, items: Sequence[int]) -> float:
        """The distance of the nearest unrated item, or the median one where all are rated."""
        unrated = [self._far[item] for item in items if self._unseen[item]]
        return float(min(unrated, default=self._sorted[len(self._sorted) // 2]))

    def quality(self, picks: Sequence[float]) -> Quality:
        """The mean over picks, given by their distance."""
        places = 1 + np.searchsorted(self._sorted, picks, side="left")
        return Quality(float(np.mean(picks)), float(places.mean()))
