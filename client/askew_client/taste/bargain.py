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

from askew.errors import ParameterError
from askew.protocol.break_even import Offer
from askew.protocol.model_card import ModelCard
from askew_client.settings.settings import ClientSettings
from askew_client.taste.charges import Charges, charges_of, charges_within, limit_of

if TYPE_CHECKING:
    from askew_client.settings.consent import Consent

EPSILONS: Final = tuple(map(Fraction, ("1/8", "1/4", "1/2", "1", "2", "4", "8", "16")))
SIZES: Final = (1, 2, 5, 8, 10, 16, 20, 32, 50, 64, 100)
_STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Refused:
    """What a card proposes and the device does not do without a yes.

    cost: what it would be, beside the limit, the most that needs no consent; consent: that
    consent. Where none helps, cost and consent are None and obstacle says why.
    """

    offer: Offer
    limit: Charges
    cost: Charges | None = None
    consent: Consent | None = None
    obstacle: str = ""


@dataclass(frozen=True)
class Bargain:
    """One device's settings and one server's card, the server's address as the person gave it, and
    the month. All are public.
    """

    settings: ClientSettings
    card: ModelCard
    server: str
    slot: str

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

    def with_consent(self, offer: Offer) -> ClientSettings | None:
        """The settings that an offer means, if the person consented to this very one, of this
        server and space, it costs no more now, and the consent has not ended.
        """
        meant = self._meant(offer)
        if meant is None or not self.settings.consent:
            return None
        from askew_client.settings.consent import consents_of

        wanted = self._consent_to(offer, meant)
        for given in consents_of(self.settings.consent):
            same = (given.mechanism, given.epsilon, given.k) == _terms(offer)
            if same and given.is_of(wanted) and self.slot <= given.end:
                allowed = charges_of(self.card, meant).within(charges_within(given))
                return meant if allowed else None
        return None

    def best_without_yes(self, offers: Iterable[Offer]) -> tuple[Offer, ClientSettings] | None:
        """The offer that gains most among those that need no yes, and what it means."""
        return max(self._all_without_yes(offers), key=lambda each: each[0].gain, default=None)

    def refusal(self, offer: Offer) -> Refused:
        """Why an offer is not taken, and the yes that it would need."""
        obstacle = self._obstacle(offer)
        if obstacle:
            return Refused(offer, self.limit, obstacle=obstacle)
        meant = _with_terms_of(offer, self.settings)
        cost = charges_of(self.card, meant)
        return Refused(offer, self.limit, cost, self._consent_to(offer, meant))

    def _consent_to(self, offer: Offer, meant: ClientSettings) -> Consent:
        """What a person would consent to with this offer now."""
        from askew_client.settings.consent import Consent, end_of

        cost = charges_of(self.card, meant)
        return Consent(
            *_terms(offer),
            cost.between_any_two,
            cost.one_rating,
            end_of(self.slot),
            self.card.space.version,
            self.server,
            self.settings.authority,
        )

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
