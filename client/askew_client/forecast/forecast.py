"""What a choice of epsilon and k would give on average, computed on the device; nothing is sent.

The server's rule is public (`askew.retrieval`), so the device can play it against its own profile
with as many draws of the noise as it likes: what never leaves costs nothing. A rule that weighs a
prior, which no device has, is played as it is, but with people made up from the public catalog in
place of the prior's (`synthetic_people`). The result is an estimate, and it is called one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import ProfileError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.model_card import NO_PRIOR
from askew.protocol.ranking import scores
from askew.retrieval import RetrievalRule, SharedSlate, rule_of
from askew_client.forecast.synthetic_people import buckets_of, posterior_of
from askew_client.taste.exchange import Exchange

_CELLS = 1 << 8  # a forecast asks some hundred times: finer lists take longer than they save


@dataclass(frozen=True)
class Quality:
    """How good picks are: the mean score relative to the best item that the person has not rated,
    and the mean place of the pick among all such items, 1 being the best.
    """

    relative_score: float = field(repr=False)
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

    Raises ProfileError when the person has rated the whole catalog, or liked nothing.
    """

    def __init__(self, exchange: Exchange, bits: RandomBits) -> None:
        self._exchange, self._bits = exchange, bits
        self._rule = played_rule(exchange)
        self._scores = _Scores(exchange)
        self._picks: tuple[list[float], list[float]] = ([], [])

    def draw(self) -> None:
        """Draw the noise once more, and pick from k results and from one."""
        signal = self._exchange.perturb(self._bits)
        for k, found in zip((self._exchange.settings.k, 1), self._picks, strict=True):
            found.append(self._scores.best_of(self._rule.answer(signal, k)))

    def comparison(self) -> Comparison:
        """The mean over the draws so far, at least one.

        nothing_sent is the pick from the k items that the server would show to anybody. A slate of
        which the person has rated everything recommends nothing: it counts as a middling item.
        """
        found, catalog = self._scores, self._exchange.catalog
        anybody = catalog.shared_slate[: self._exchange.settings.k]
        return Comparison(
            no_privacy=found.quality([found.best_of(range(len(catalog)))]),
            many=found.quality(self._picks[0]),
            one=found.quality(self._picks[1]),
            nothing_sent=found.quality([found.best_of(anybody)]),
        )


def played_rule(exchange: Exchange) -> RetrievalRule:
    """The server's rule for this mechanism, with people who stand in for those of a prior."""
    card, catalog, mechanism = exchange.card, exchange.catalog, exchange.mechanism
    if not needs_prior(exchange):
        if not isinstance(mechanism, LatticeLaplace):
            return SharedSlate(catalog.shared_slate)
        return rule_of(card.rule.kind, card.space.encoder, catalog, cells=_CELLS)
    if isinstance(mechanism, LatticeLaplace):
        return posterior_of(card, catalog, exchange.settings.k)
    return buckets_of(card, catalog, exchange.settings.k, mechanism.odds)


def needs_prior(exchange: Exchange) -> bool:
    """Whether the server weighs a prior for this mechanism: people whom no device has.

    A point is answered by the card's rule, a bucket by slates that are made for a prior's people,
    where the server has any.
    """
    rule = exchange.card.rule
    if isinstance(exchange.mechanism, LatticeLaplace):
        return rule.kind.needs_prior
    return rule.prior != NO_PRIOR


class _Scores:
    """The true scores of one person for every item. Private."""

    def __init__(self, exchange: Exchange) -> None:
        self._scores = scores(exchange.profile.taste, exchange.catalog.scoring)
        self._unseen = np.ones(len(self._scores), dtype=np.bool_)
        self._unseen[list(exchange.ratings)] = False
        self._sorted: NDArray[np.float64] = np.sort(-self._scores[self._unseen])  # best first
        if not self._sorted.size:
            raise ProfileError("every item is rated: there is nothing left to recommend")
        if not self._sorted[0] < 0:
            raise ProfileError("nothing scores above zero: there is nothing to compare with")

    def best_of(self, items: Sequence[int]) -> float:
        """The score of the best unrated item, or the median one where all are rated."""
        unrated = [self._scores[item] for item in items if self._unseen[item]]
        return float(max(unrated, default=-self._sorted[len(self._sorted) // 2]))

    def quality(self, picks: Sequence[float]) -> Quality:
        """The mean quality of picks with these scores."""
        places = 1 + np.searchsorted(self._sorted, -np.array(picks), side="left")
        return Quality(float(np.mean(picks) / -self._sorted[0]), float(places.mean()))
