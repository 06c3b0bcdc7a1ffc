"""Which mode a device takes: a function of its settings, a server's card and what it holds.

All three are public, so the mode says nothing of the person, and neither does whether a call is
made. A card proposes; it can lower what a signal costs, or make that none is sent. Without the
person's consent (`settings.consent`), no unit is charged with more than the settings' own signal:

1. What is held whole is ranked here, for nothing, whatever the card says; but where items have
   payloads, what is held cannot be read, and an answer brings it.
2. Where the card has no table, or proposes no signal, none is drawn.
3. A proposed signal is taken if it needs no consent, or if the person gave it.
4. Else the row of the table that gains most among those that need no consent, if there is one.

A signal needs no consent if it costs no more, in any of three units, than the settings' own, and
asks for no more results. It counts at all only if its gain is at least twice its standard error,
and if its epsilon and k are on short public ladders: they are sent, and a card that was made for
one device would mark it by them.

The three units, so that two signals of any mechanisms can be compared:

    between any two people      plain local epsilon
    one rating                  between profiles that differ in one rating
    unit distance               between profiles one unit of l1 distance apart

A point's bound grows with the distance r, as epsilon_per_distance * r; a bucket's is its plain
epsilon at any distance. So a bucket's charge is that epsilon in all three units, which is what the
ledger's sum of a space says of distance 1. Nearer than that a bucket hides a person less than its
third unit says, and a point more. How near two people matter at all is what one rating can change,
and that is a unit of its own. So a bucket in place of a point, or a point in place of a bucket,
costs no more only if it costs no more for one rating, one unit apart and as far apart as can be.

A signal of this month that is stored already is sent as it was drawn, whatever is chosen now: the
ledger remembers its mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from askew.dp.privacy import Reach, SignalLoss
from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import TasteMechanism
from askew.protocol.utility_table import ModeUtility, ServingMode, UtilityTable
from askew_client.settings.settings import ClientSettings

if TYPE_CHECKING:
    from askew_client.settings.consent import Consent


class Reason(Enum):
    """Why a mode is taken."""

    CHOSEN = "the person's setting"
    HELD = "every item is held"
    NO_TABLE = "the card does not say what a signal is worth"
    NOT_PROPOSED = "the card proposes no signal"
    PROPOSED = "the card proposes it"
    CONSENTED = "the person consented to what the card proposes"
    BEST_WITHOUT_CONSENT = "the best that needs no consent"
    NONE_WITHOUT_CONSENT = "none that needs no consent"


@dataclass(frozen=True)
class CachedItems:
    """What this device holds of a catalog, by its own count: items, and the bytes they take."""

    n_items: int
    size: int

    def is_whole(self, card: ModelCard, byte_budget: int) -> bool:
        """Whether it is every item, in no more bytes than the person gives."""
        return self.n_items == card.n_items and self.size <= byte_budget


@dataclass(frozen=True)
class Taken:
    """The mode in force, and why.

    settings: with the mechanism, epsilon and k of its signal. held: what is ranked here. offer:
    the row of the card's table for this mode, where there is one. refusal: the card's proposal,
    where it needs consent, or more than that.
    """

    mode: ServingMode
    reason: Reason
    settings: ClientSettings
    held: CachedItems
    offer: ModeUtility | None = None
    refusal: Refusal | None = None

    @property
    def asks(self) -> bool:
        """Whether a signal is sent."""
        return self.mode is ServingMode.QUERY


def choose(
    settings: ClientSettings, card: ModelCard, held: CachedItems, *, server: str, month: str
) -> Taken:
    """The mode that this device takes at this server, by its address, in this month.

    Raises ParameterError for `mode` local where not every item is held within `byte_budget`.
    """
    if settings.mode != "auto":
        return _chosen(ServingMode(settings.mode), settings, card, held)
    if held.is_whole(card, settings.byte_budget) and not card.has_payloads:
        row = row_of(ServingMode.LOCAL, settings, card, held)
        return Taken(ServingMode.LOCAL, Reason.HELD, settings, held, row)
    if card.utility_table is None:
        return Taken(ServingMode.CACHED, Reason.NO_TABLE, settings, held)
    if card.utility_table.proposal.mode is not ServingMode.QUERY:
        row = row_of(ServingMode.CACHED, settings, card, held)
        return Taken(ServingMode.CACHED, Reason.NOT_PROPOSED, settings, held, row)
    return _proposed(Proposals(settings, card, server, month), held, card.utility_table)


def _chosen(
    mode: ServingMode, settings: ClientSettings, card: ModelCard, held: CachedItems
) -> Taken:
    """The person's own mode, with the person's own mechanism, epsilon and k."""
    if mode is ServingMode.LOCAL and not held.is_whole(card, settings.byte_budget):
        limit = (
            f"another one: not every item is held within the byte budget, {settings.byte_budget}"
        )
        raise ParameterError("mode", settings.mode, limit)
    return Taken(mode, Reason.CHOSEN, settings, held, row_of(mode, settings, card, held))


def _proposed(proposals: Proposals, held: CachedItems, table: UtilityTable) -> Taken:
    """What a proposed signal comes to."""
    settings, card, proposal = proposals.settings, proposals.card, table.proposal
    for reason, meant in (
        (Reason.PROPOSED, proposals.without_consent(proposal)),
        (Reason.CONSENTED, proposals.with_consent(proposal)),
    ):
        if meant is not None:
            return Taken(ServingMode.QUERY, reason, meant, held, proposal)
    refusal, best = proposals.refusal(proposal), proposals.best_without_consent(table.rows)
    if best is None:
        row = row_of(ServingMode.CACHED, settings, card, held)
        return Taken(ServingMode.CACHED, Reason.NONE_WITHOUT_CONSENT, settings, held, row, refusal)
    offer, meant = best
    return Taken(ServingMode.QUERY, Reason.BEST_WITHOUT_CONSENT, meant, held, offer, refusal)


def row_of(
    mode: ServingMode, settings: ClientSettings, card: ModelCard, held: CachedItems
) -> ModeUtility | None:
    """The row of a mode in the card's table: for no more items than are held, and of a signal the
    row of these very settings.
    """
    offers = card.utility_table.rows if card.utility_table is not None else ()
    terms = (settings.mechanism, settings.epsilon, settings.k)
    found = [
        each
        for each in offers
        if each.mode is mode
        and each.held <= held.n_items
        and (mode is not ServingMode.QUERY or (each.mechanism, each.epsilon, each.k) == terms)
    ]
    return max(found, key=lambda each: each.held, default=None)


EPSILONS: Final = tuple(map(Fraction, ("1/8", "1/4", "1/2", "1", "2", "4", "8", "16")))
SIZES: Final = (1, 2, 5, 8, 10, 16, 20, 32, 50, 64, 100)
_STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Refusal:
    """What a card proposes and the device does not do without consent.

    cost: what it would be, beside the limit, the most that needs no consent; consent: that
    consent. Where none helps, cost and consent are None and obstacle says why.
    """

    offer: ModeUtility
    limit: SignalLoss
    cost: SignalLoss | None = None
    consent: Consent | None = None
    obstacle: str = ""


@dataclass(frozen=True)
class Proposals:
    """One device's settings and one server's card, the server's address as the person gave it, and
    the month. All are public.
    """

    settings: ClientSettings
    card: ModelCard
    server: str
    month: str

    @property
    def limit(self) -> SignalLoss:
        """The most that a signal may cost without consent."""
        return limit_of(self.card, self.settings)

    def without_consent(self, offer: ModeUtility) -> ClientSettings | None:
        """The settings that an offer means, if it needs no consent."""
        meant = self._meant(offer)
        if meant is None or meant.k > self.settings.k:
            return None
        return meant if _within(loss_of(self.card, meant), self.limit) else None

    def with_consent(self, offer: ModeUtility) -> ClientSettings | None:
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
            if same and given.is_of(wanted) and self.month <= given.end:
                allowed = _within(loss_of(self.card, meant), _allowed_by(given))
                return meant if allowed else None
        return None

    def best_without_consent(
        self, offers: Iterable[ModeUtility]
    ) -> tuple[ModeUtility, ClientSettings] | None:
        """The offer that gains most among those that need no consent, and what it means."""
        return max(self._all_without_consent(offers), key=lambda each: each[0].gain, default=None)

    def refusal(self, offer: ModeUtility) -> Refusal:
        """Why an offer is not taken, and the consent that it would need."""
        obstacle = self._obstacle(offer)
        if obstacle:
            return Refusal(offer, self.limit, obstacle=obstacle)
        meant = _with_terms_of(offer, self.settings)
        cost = loss_of(self.card, meant)
        return Refusal(offer, self.limit, cost, self._consent_to(offer, meant))

    def _consent_to(self, offer: ModeUtility, meant: ClientSettings) -> Consent:
        """What a person would consent to with this offer now."""
        from askew_client.settings.consent import Consent, end_of

        cost = loss_of(self.card, meant)
        return Consent(
            *_terms(offer),
            cost.epsilon,
            cost.epsilon_per_rating,
            end_of(self.month),
            self.card.space.version,
            self.server,
            self.settings.authority,
        )

    def _all_without_consent(
        self, offers: Iterable[ModeUtility]
    ) -> Iterator[tuple[ModeUtility, ClientSettings]]:
        for offer in offers:
            meant = self.without_consent(offer)
            if meant is not None:
                yield offer, meant

    def _meant(self, offer: ModeUtility) -> ClientSettings | None:
        return None if self._obstacle(offer) else _with_terms_of(offer, self.settings)

    def _obstacle(self, offer: ModeUtility) -> str:
        """Why no consent helps, or ""."""
        if offer.mechanism is None:
            return "it is no signal"
        if offer.epsilon not in EPSILONS or offer.k not in SIZES:
            return "its epsilon or k is none of the few that this device takes from a server"
        if offer.gain <= 0 or offer.gain < _STANDARD_ERRORS * offer.gain_error:
            return "its gain is not two standard errors"
        try:
            loss_of(self.card, _with_terms_of(offer, self.settings))
        except ParameterError as error:
            return str(error)
        return ""


def _terms(offer: ModeUtility) -> tuple[str, Fraction, int]:
    return str(offer.mechanism), offer.epsilon, offer.k


def _with_terms_of(offer: ModeUtility, settings: ClientSettings) -> ClientSettings:
    mechanism = offer.mechanism or settings.mechanism
    return replace(settings, mechanism=mechanism, epsilon=offer.epsilon, k=offer.k)


_LEAST_BUCKETS = 2  # what a response costs does not depend on how many there are


def _within(loss: SignalLoss, limit: SignalLoss) -> bool:
    """Whether a signal costs no more than another in any of the three units."""
    return all(
        cost <= most for cost, most in zip(three_units(loss), three_units(limit), strict=True)
    )


def three_units(loss: SignalLoss) -> tuple[Fraction, Fraction, Fraction]:
    """Between any two people, for one rating, and one unit of distance apart."""
    unit = loss.epsilon if loss.epsilon_per_distance is None else loss.epsilon_per_distance
    return loss.epsilon, loss.epsilon_per_rating, unit


def loss_of(card: ModelCard, settings: ClientSettings) -> SignalLoss:
    """What a fresh signal of these settings costs at this server. Raises as `mechanism_for`."""
    return mechanism_for(card, settings).privacy_loss(card.space.encoder.reach())


def limit_of(card: ModelCard, settings: ClientSettings) -> SignalLoss:
    """The most that a signal may cost without another word from the person.

    It is what the settings' own signal costs; in a space that they do not enter, what it would
    cost in the widest one that they do.
    """
    if settings.mechanism == "bucket_rr":
        response = RandomizedResponse.for_epsilon(_LEAST_BUCKETS, settings.epsilon)
        return SignalLoss.uniform(response.epsilon)
    reach = card.space.encoder.reach()
    entered = Reach(
        min(reach.one_rating, Fraction(settings.max_one_rating)),
        min(reach.diameter, Fraction(settings.max_diameter)),
    )
    return LatticeLaplace.for_epsilon(settings.epsilon).privacy_loss(entered)


def _allowed_by(consent: Consent) -> SignalLoss:
    """The most that a signal may cost by a consent."""
    return SignalLoss(consent.between_any_two, consent.one_rating, consent.epsilon)


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
