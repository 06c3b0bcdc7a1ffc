"""One person's side of the exchange, without I/O: ask, then pick.

The network, the store and the randomness are arguments, so that all of this runs without a socket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from askew.errors import LedgerError, Malformed, ParameterError, WireError
from askew.lattice import Lattice
from askew.local_model import decode_vectors, encode_vectors
from askew.model_card import Catalog, ModelCard
from askew.privacy import SignalCharge, SignalLoss
from askew.randomness import RandomBits
from askew.ranking import Slate, pick, ranked
from askew.signal import Mechanism, Query, Signal
from askew.vectors import Profile, fold_in
from askew_client.settings import ClientSettings


class SignalMemory(Protocol):
    """Where signals are kept, with what they cost."""

    def remember(
        self, space_version: str, slot: str, charge: SignalCharge, draw: Callable[[], Signal]
    ) -> Signal:
        """The stored signal of (space version, slot), or a fresh one, charged and stored first.

        Raises BudgetExceeded, in which case nothing was drawn, or LedgerError, in which case what
        was drawn is lost and must not be sent.
        """


@dataclass(frozen=True, eq=False)
class Exchange:
    """A person, a model and the device's settings."""

    card: ModelCard
    catalog: Catalog
    settings: ClientSettings
    ratings: Mapping[int, float] = field(repr=False)
    mechanism: Mechanism = field(init=False)
    profile: Profile = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Raises ParameterError when the server cannot answer these settings, or the space is too
        wide for this device; ProfileError when the ratings make no profile.
        """
        space, settings = self.card.space, self.settings
        if settings.k > self.card.max_slate_size:
            limit = f"at most what this server answers, {self.card.max_slate_size}"
            raise ParameterError("k", settings.k, limit)
        if space.diameter > settings.max_diameter:
            limit = f"at most this device's limit, {settings.max_diameter:g}"
            raise ParameterError("the feature space's diameter", float(space.diameter), limit)
        object.__setattr__(self, "mechanism", settings.mechanism_in(space.n_buckets))
        profile = fold_in(self.ratings, self.catalog.vectors, space)
        object.__setattr__(self, "profile", profile)

    @property
    def loss(self) -> SignalLoss:
        """What a fresh signal costs, by this device's own reckoning."""
        return self.mechanism.privacy_loss(self.card.space.encoder.reach())

    def ask(self, slot: str, memory: SignalMemory, bits: RandomBits) -> Query:
        """The question of this slot, with the same signal however often it is asked.

        A stored signal is sent again even if the profile or the settings have changed since: what
        is drawn anew costs anew, and a redraw that follows the profile would say when it changed.
        """
        space = self.card.space
        signal = memory.remember(space.version, slot, self.loss.charge, lambda: self.perturb(bits))
        try:
            signal.check(space.dimension, space.n_buckets)
        except WireError:
            raise LedgerError("the stored signal does not fit its space; it is not sent") from None
        return Query(signal, self.settings.k)

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh signal, neither charged nor stored: for `ask` and for play on the device."""
        mechanism, profile = self.mechanism, self.profile
        if isinstance(mechanism, Lattice):
            values = mechanism.perturb(profile.point, bits)
        else:
            values = mechanism.perturb(profile.bucket, bits)
        return Signal(self.card.space.version, mechanism, values)

    def rank(self, slate: Slate) -> tuple[int, ...]:
        """The slate's items by the true profile, best first, rated ones last. Never sent.

        Raises Malformed for a slate whose local model is not the catalog's.
        """
        return ranked(self._exact(slate), self.profile, seen=self.ratings.keys())

    def pick(self, slate: Slate) -> int:
        """The best item of the slate that this person has not rated. Never sent. Raises Malformed
        as `rank`.
        """
        return pick(self._exact(slate), self.profile, seen=self.ratings.keys())

    def _exact(self, slate: Slate) -> Slate:
        """The slate with the catalog's own vectors, which the local model must be made of."""
        vectors = self.catalog.scoring[list(slate.item_ids)]
        sent = decode_vectors(*encode_vectors(vectors), len(vectors))
        if not np.array_equal(slate.vectors, sent):
            raise Malformed("the answer scores items in another way than the catalog does")
        return Slate(slate.catalog_version, slate.item_ids, vectors)
