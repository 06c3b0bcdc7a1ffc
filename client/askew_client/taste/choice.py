"""Which way a device takes: a function of its settings, a server's card and what it holds.

All three are public, so the way says nothing of the person, and neither does whether a call is
made. A card proposes; it can lower what a signal costs, or make that none is sent. Without the
person's consent (`settings.consent`), no unit is charged with more than the settings' own signal:

1. What is held whole is ranked here, for nothing, whatever the card says; but where items are dear,
   what is held cannot be read, and an answer brings it.
2. Where the card has no table, or proposes no signal, none is drawn.
3. A proposed signal is taken if it needs no yes (`ways.bargain`), or if the person said it.
4. Else the row of the table that gains most among those that need no yes, if there is one.

A signal of this month that is stored already is sent as it was drawn, whatever is chosen now: the
ledger remembers its mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from askew.errors import ParameterError
from askew.protocol.break_even import BreakEven, Offer, Way
from askew.protocol.model_card import ModelCard
from askew_client.settings.settings import ClientSettings
from askew_client.taste.bargain import Bargain, Refused


class Reason(Enum):
    """Why a way is taken."""

    CHOSEN = "the person's setting"
    HELD = "every item is held"
    NO_TABLE = "the card does not say what a signal is worth"
    NOT_PROPOSED = "the card proposes no signal"
    PROPOSED = "the card proposes it"
    CONSENTED = "the person consented to what the card proposes"
    BEST_WITHOUT_YES = "the best that needs no yes"
    NONE_WITHOUT_YES = "none that needs no yes"


@dataclass(frozen=True)
class Held:
    """What this device holds of a catalog, by its own count: items, and the bytes they take."""

    n_items: int
    size: int

    def is_whole(self, card: ModelCard, byte_budget: int) -> bool:
        """Whether it is every item, in no more bytes than the person gives."""
        return self.n_items == card.n_items and self.size <= byte_budget


@dataclass(frozen=True)
class Taken:
    """The way in force, and why.

    settings: with the mechanism, epsilon and k of its signal. held: what is ranked here. offer:
    the row of the card's table for this way, where there is one. refused: the card's proposal,
    where it needs a yes, or more than that.
    """

    way: Way
    reason: Reason
    settings: ClientSettings
    held: Held
    offer: Offer | None = None
    refused: Refused | None = None

    @property
    def asks(self) -> bool:
        """Whether a signal is sent."""
        return self.way is Way.SIGNAL


def choose(
    settings: ClientSettings, card: ModelCard, held: Held, *, server: str, slot: str
) -> Taken:
    """The way that this device takes at this server, by its address, in this month.

    Raises ParameterError for `way` whole where not every item is held within `byte_budget`.
    """
    if settings.way != "auto":
        return _chosen(Way(settings.way), settings, card, held)
    if held.is_whole(card, settings.byte_budget) and not card.dear:
        row = _row_of(Way.WHOLE, settings, card, held)
        return Taken(Way.WHOLE, Reason.HELD, settings, held, row)
    if card.break_even is None:
        return Taken(Way.SHARED, Reason.NO_TABLE, settings, held)
    if card.break_even.proposal.way is not Way.SIGNAL:
        row = _row_of(Way.SHARED, settings, card, held)
        return Taken(Way.SHARED, Reason.NOT_PROPOSED, settings, held, row)
    return _bargained(Bargain(settings, card, server, slot), held, card.break_even)


def _chosen(way: Way, settings: ClientSettings, card: ModelCard, held: Held) -> Taken:
    """The person's own way, with the person's own mechanism, epsilon and k."""
    if way is Way.WHOLE and not held.is_whole(card, settings.byte_budget):
        limit = (
            f"another one: not every item is held within the byte budget, {settings.byte_budget}"
        )
        raise ParameterError("way", settings.way, limit)
    return Taken(way, Reason.CHOSEN, settings, held, _row_of(way, settings, card, held))


def _bargained(bargain: Bargain, held: Held, table: BreakEven) -> Taken:
    """What a proposed signal comes to."""
    settings, card, proposal = bargain.settings, bargain.card, table.proposal
    for reason, meant in (
        (Reason.PROPOSED, bargain.without_yes(proposal)),
        (Reason.CONSENTED, bargain.with_consent(proposal)),
    ):
        if meant is not None:
            return Taken(Way.SIGNAL, reason, meant, held, proposal)
    refused, best = bargain.refusal(proposal), bargain.best_without_yes(table.offers)
    if best is None:
        row = _row_of(Way.SHARED, settings, card, held)
        return Taken(Way.SHARED, Reason.NONE_WITHOUT_YES, settings, held, row, refused)
    offer, meant = best
    return Taken(Way.SIGNAL, Reason.BEST_WITHOUT_YES, meant, held, offer, refused)


def _row_of(way: Way, settings: ClientSettings, card: ModelCard, held: Held) -> Offer | None:
    """The row of a way in the card's table: for no more items than are held, and of a signal the
    row of these very settings.
    """
    offers = card.break_even.offers if card.break_even is not None else ()
    terms = (settings.mechanism, settings.epsilon, settings.k)
    found = [
        each
        for each in offers
        if each.way is way
        and each.held <= held.n_items
        and (way is not Way.SIGNAL or (each.mechanism, each.epsilon, each.k) == terms)
    ]
    return max(found, key=lambda each: each.held, default=None)
