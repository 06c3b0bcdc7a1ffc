"""One person's side of the exchange, without I/O: ask, then pick.

The network, the store and the randomness are arguments, so that all of this runs without a socket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from askew.errors import LedgerError, Malformed, ParameterError
from askew.lattice import Lattice
from askew.model_card import Catalog, ModelCard
from askew.randomness import RandomBits
from askew.ranking import Slate, pick, ranked
from askew.signal import Query, Signal
from askew.vectors import Profile, fold_in
from askew_client.settings import ClientSettings


class SignalMemory(Protocol):
    """Where signals are kept, with what they cost."""

    def remember(
        self, space_version: str, slot: str, charge: Fraction, draw: Callable[[], Signal]
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
    profile: Profile = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Raises ParameterError when the server cannot answer these settings, or the space is too
        wide for this device; ProfileError when the ratings make no profile.
        """
        if self.settings.k > self.card.max_slate_size:
            limit = f"at most what this server answers, {self.card.max_slate_size}"
            raise ParameterError("k", self.settings.k, limit)
        if self.card.space.diameter > self.settings.max_diameter:
            limit = f"at most this device's limit, {self.settings.max_diameter:g}"
            raise ParameterError("the feature space's diameter", self.card.space.diameter, limit)
        profile = fold_in(self.ratings, self.catalog.positions, self.card.space)
        object.__setattr__(self, "profile", profile)

    def ask(self, slot: str, memory: SignalMemory, bits: RandomBits) -> Query:
        """The question of this slot, with the same signal however often it is asked.

        A stored signal is sent again even if the profile or epsilon has changed since: what is
        drawn anew costs anew, and a redraw that follows the profile would say when it changed.
        """
        lattice = Lattice.for_epsilon(self.settings.epsilon)
        version = self.card.space.version

        def draw() -> Signal:
            return Signal(version, lattice, lattice.perturb(self.profile.vector, bits))

        signal = memory.remember(version, slot, lattice.epsilon, draw)
        if len(signal.coordinates) != self.card.space.dimension:
            raise LedgerError("the stored signal does not fit its space; it is not sent")
        return Query(signal, self.settings.k)

    def rank(self, slate: Slate) -> tuple[int, ...]:
        """The slate's items, best first, by the true profile. Never sent.

        Raises Malformed for a slate that moves items away from where the catalog has them.
        """
        return ranked(self._checked(slate), self.profile)

    def pick(self, slate: Slate) -> int:
        """The best item of the slate that this person has not rated. Never sent. Raises Malformed
        as `rank`.
        """
        return pick(self._checked(slate), self.profile, seen=self.ratings.keys())

    def _checked(self, slate: Slate) -> Slate:
        if not np.array_equal(slate.positions, self.catalog.positions[list(slate.item_ids)]):
            raise Malformed("the answer moves items away from where the catalog has them")
        return slate
