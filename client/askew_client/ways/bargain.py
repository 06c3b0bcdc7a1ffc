"""What of a card's proposals a device does by itself, what on a yes, and what never.

A signal needs no yes if it costs no more, in any of three units, than the settings' own, and asks
for no more results. It counts at all only if its gain is at least twice its standard error, and if
its epsilon and k are on short public ladders: they are sent, and a card that was made for one
device would mark it by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from askew.break_even import Offer
from askew.errors import ParameterError
from askew.model_card import ModelCard
from askew_client.settings.settings import ClientSettings
from askew_client.ways.charges import Charges, accepted_charges, charges_of, limit_of

if TYPE_CHECKING:
    from askew_client.settings.accepted import Accepted

EPSILONS: Final = tuple(map(Fraction, ("1/8", "1/4", "1/2", "1", "2", "4", "8", "16")))
SIZES: Final = (1, 2, 5, 8, 10, 16, 20, 32, 50, 64, 100)
_STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Refused:
    """What a card proposes and the device does not do without a yes.

    cost: what it would be, beside the limit, the most that needs no yes; accept: that yes. Where no
    yes helps, cost and accept are None and obstacle says why.
    """

    offer: Offer
    limit: Charges
    cost: Charges | None = None
    accept: Accepted | None = None
    obstacle: str = ""


@dataclass(frozen=True)
class Bargain:
    """One device's settings and one server's card. Both are public."""

    settings: ClientSettings
    card: ModelCard

    @property
    def limit(self) -> Charges:
        """The most that a signal may cost without a yes."""
        return limit_of(self.card, self.settings)

    def without_yes(self, offer: Offer) -> ClientSettings | None:
        """The settings that an offer means, if it needs no yes."""
        meant = self._meant(offer)
        if meant is None or meant.k > self.settings.k:
            return None
        return meant if charges_of(self.card, meant).within(self.limit) else None

    def with_yes(self, offer: Offer) -> ClientSettings | None:
        """The settings that an offer means, if this very one was accepted and costs no more now."""
        meant = self._meant(offer)
        if meant is None or not self.settings.accept:
            return None
        from askew_client.settings.accepted import Accepted

        accepted = Accepted.parsed(self.settings.accept)
        if (accepted.mechanism, accepted.epsilon, accepted.k) != _terms(offer):
            return None
        return meant if charges_of(self.card, meant).within(accepted_charges(accepted)) else None

    def best_without_yes(self, offers: Iterable[Offer]) -> tuple[Offer, ClientSettings] | None:
        """The offer that gains most among those that need no yes, and what it means."""
        return max(self._all_without_yes(offers), key=lambda each: each[0].gain, default=None)

    def refusal(self, offer: Offer) -> Refused:
        """Why an offer is not taken, and the yes that it would need."""
        obstacle = self._obstacle(offer)
        if obstacle:
            return Refused(offer, self.limit, obstacle=obstacle)
        from askew_client.settings.accepted import Accepted

        cost = charges_of(self.card, _with_terms_of(offer, self.settings))
        accept = Accepted(*_terms(offer), cost.between_any_two, cost.one_rating)
        return Refused(offer, self.limit, cost, accept)

    def _all_without_yes(self, offers: Iterable[Offer]) -> Iterator[tuple[Offer, ClientSettings]]:
        for offer in offers:
            meant = self.without_yes(offer)
            if meant is not None:
                yield offer, meant

    def _meant(self, offer: Offer) -> ClientSettings | None:
        return None if self._obstacle(offer) else _with_terms_of(offer, self.settings)

    def _obstacle(self, offer: Offer) -> str:
        """Why no yes helps, or ""."""
        if offer.mechanism is None:
            return "it is no signal"
        if offer.epsilon not in EPSILONS or offer.k not in SIZES:
            return "its epsilon or k is none of the few that this device takes from a server"
        if offer.gain <= 0 or offer.gain < _STANDARD_ERRORS * offer.gain_error:
            return "its gain is not two standard errors"
        try:
            charges_of(self.card, _with_terms_of(offer, self.settings))
        except ParameterError as error:
            return str(error)
        return ""


def _terms(offer: Offer) -> tuple[str, Fraction, int]:
    return str(offer.mechanism), offer.epsilon, offer.k


def _with_terms_of(offer: Offer, settings: ClientSettings) -> ClientSettings:
    mechanism = offer.mechanism or settings.mechanism
    return replace(settings, mechanism=mechanism, epsilon=offer.epsilon, k=offer.k)
