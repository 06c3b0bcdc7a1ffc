"""Which mode a device takes: a function of its settings, a server's card and what it holds.

All three are public, so the mode says nothing of the person, and neither does whether a call is
made. A card proposes; it can lower what a signal costs, or make that none is sent. No unit is
charged with more than the settings' own signal; a person who wants more changes the settings:

1. What is held whole is ranked here, for nothing, whatever the card says; but where items have
   payloads, what is held cannot be read, and an answer brings it.
2. Where the card has no table, or proposes no signal, none is drawn.
3. A proposed signal is taken if it is within the settings.
4. Else the row of the table that gains most among those within the settings, if there is one.

A signal is within the settings if it costs no more, in any of three units, than their own, and
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

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Final

from askew.dp.privacy import Reach, SignalLoss
from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import TasteMechanism
from askew.protocol.utility_table import ModeUtility, ServingMode, UtilityTable
from askew_client.settings.settings import ClientSettings


class Reason(Enum):
    """Why a mode is taken."""

    CHOSEN = "the person's setting"
    HELD = "every item is held"
    NO_TABLE = "the card does not say what a signal is worth"
    NOT_PROPOSED = "the card proposes no signal"
    PROPOSED = "the card proposes it"
    BEST_WITHIN = "the best within the settings"
    NONE_WITHIN = "none within the settings"


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
    where it is not taken.
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


def choose(settings: ClientSettings, card: ModelCard, held: CachedItems) -> Taken:
    """Return the mode that this device takes.

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
    return _proposed(settings, card, held, card.utility_table)


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


def _proposed(
    settings: ClientSettings, card: ModelCard, held: CachedItems, table: UtilityTable
) -> Taken:
    """Take the proposed signal, or the best row within the settings, or none."""
    proposal = table.proposal
    meant = within_settings(proposal, settings, card)
    if meant is not None:
        return Taken(ServingMode.QUERY, Reason.PROPOSED, meant, held, proposal)
    refusal = _refusal(proposal, settings, card)
    within = [
        (offer, meant)
        for offer in table.rows
        if (meant := within_settings(offer, settings, card)) is not None
    ]
    if not within:
        row = row_of(ServingMode.CACHED, settings, card, held)
        return Taken(ServingMode.CACHED, Reason.NONE_WITHIN, settings, held, row, refusal)
    offer, meant = max(within, key=lambda each: each[0].gain)
    return Taken(ServingMode.QUERY, Reason.BEST_WITHIN, meant, held, offer, refusal)


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
    """What a card proposes and the device does not do.

    cost: what it would be, beside the limit, the most by these settings. Where no setting of its
    mechanism, epsilon and k would help, cost is None and obstacle says why.
    """

    offer: ModeUtility
    limit: SignalLoss
    cost: SignalLoss | None = None
    obstacle: str = ""


def within_settings(
    offer: ModeUtility, settings: ClientSettings, card: ModelCard
) -> ClientSettings | None:
    """Return the settings that an offer means, or None if it costs more or asks for more."""
    if offer.k > settings.k or _obstacle(offer, settings, card):
        return None
    meant = _with_terms_of(offer, settings)
    return meant if _within(loss_of(card, meant), limit_of(card, settings)) else None


def _refusal(offer: ModeUtility, settings: ClientSettings, card: ModelCard) -> Refusal:
    limit, obstacle = limit_of(card, settings), _obstacle(offer, settings, card)
    if obstacle:
        return Refusal(offer, limit, obstacle=obstacle)
    return Refusal(offer, limit, loss_of(card, _with_terms_of(offer, settings)))


def _obstacle(offer: ModeUtility, settings: ClientSettings, card: ModelCard) -> str:
    """Return why an offer is taken by no mechanism, epsilon and k, or ""."""
    if offer.mechanism is None:
        return "it is no signal"
    if offer.epsilon not in EPSILONS or offer.k not in SIZES:
        return "its epsilon or k is none of the few that this device takes from a server"
    if offer.gain <= 0 or offer.gain < _STANDARD_ERRORS * offer.gain_error:
        return "its gain is not two standard errors"
    try:
        loss_of(card, _with_terms_of(offer, settings))
    except ParameterError as error:
        return str(error)
    return ""


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
    """Return the most that a signal may cost.

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
