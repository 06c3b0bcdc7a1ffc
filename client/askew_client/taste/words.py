"""The mode that is taken, in words: why, what it brings, and what a server proposes instead.

For a person's eyes. Of the server's own there are numbers in it, and no text.
"""

from __future__ import annotations

from collections.abc import Iterator

from askew.dp.privacy import SignalLoss
from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import ModeUtility, ServingMode
from askew.spaces.buckets import SlateCodebook
from askew_client.settings.settings import ClientSettings
from askew_client.taste.choice import CachedItems, Reason, Refusal, Taken, three_units
from askew_client.views.quote import ModeView, at_most

_NOTHING = "nothing is drawn, charged or sent"
_REASONS = {
    Reason.CHOSEN: "as you chose",
    Reason.HELD: "they fit your byte budget",
    Reason.NO_TABLE: "this server does not say what a signal is worth; mode query asks",
    Reason.NOT_PROPOSED: "this server proposes no signal; mode query asks all the same",
    Reason.PROPOSED: "as this server proposes",
    Reason.BEST_WITHIN: "the best that costs no more than your settings",
    Reason.NONE_WITHIN: "no signal that costs no more than your settings gains enough",
}


def in_words(taken: Taken, card: ModelCard) -> ModeView:
    """What to show of a mode."""
    return ModeView(
        name=str(taken.mode),
        reason=f"{_what(taken)}; {_REASONS[taken.reason]}",
        notes=(*_notes(taken, card),),
    )


def _what(taken: Taken) -> str:
    """What is done, and what the card says that it gives."""
    gives = _given_by(taken.offer)
    if taken.mode is ServingMode.LOCAL:
        return f"all {_holding(taken.held)} are held and ranked here{gives}; {_NOTHING}"
    if taken.mode is ServingMode.CACHED:
        return f"the {_holding(taken.held)} held here are ranked{gives}; {_NOTHING}"
    return f"one signal, {_terms(taken.settings)}{gives}"


def _notes(taken: Taken, card: ModelCard) -> Iterator[str]:
    """What else could be done, and at what price."""
    if taken.mode is not ServingMode.QUERY and isinstance(card.space.buckets, SlateCodebook):
        yield "What items hold, such as articles, comes with an answer alone: mode query asks."
    if taken.refusal is not None:
        yield from _refusal(taken.refusal)
    if taken.reason is not Reason.CHOSEN:
        return
    if taken.mode is not ServingMode.LOCAL and taken.held.is_whole(
        card, taken.settings.byte_budget
    ):
        yield "This device holds every item: by itself it would rank them all, for nothing."
    elif card.utility_table is None:
        yield "This server does not say what a signal is worth."
    elif (
        card.utility_table.proposal.mode is not taken.mode
        or card.utility_table.proposal != taken.offer
    ):
        yield f"This server proposes {_offer(card.utility_table.proposal)}."


def _refusal(refusal: Refusal) -> Iterator[str]:
    offer = refusal.offer
    yield f"This server proposes {_offer(offer)}."
    if refusal.cost is None:
        yield f"This device does not take that: {refusal.obstacle}."
        return
    yield (
        f"It would cost {_charges(refusal.cost)}; by your settings at most "
        f"{_charges(refusal.limit)}. These settings take it: mechanism {offer.mechanism}, "
        f"epsilon {offer.epsilon}, k {offer.k}."
    )


def _offer(offer: ModeUtility) -> str:
    """A row of a card's table."""
    if offer.mode is ServingMode.LOCAL:
        return f"to hold all {offer.held:,} items, {_bytes(offer.size)}{_given_by(offer)}"
    if offer.mode is ServingMode.CACHED:
        return f"no signal{_given_by(offer)}"
    return f"a signal, {offer.mechanism} at epsilon {offer.epsilon}, k {offer.k}{_given_by(offer)}"


def _given_by(offer: ModeUtility | None) -> str:
    return "" if offer is None else f" ({figures_of(offer)})"


def figures_of(offer: ModeUtility) -> str:
    """What a row of a card's table gave the people whom the server measured."""
    reached = f"NDCG@10 {offer.ndcg:.3f}"
    if offer.mode is not ServingMode.QUERY:
        return reached
    return (
        f"{reached}, {offer.gain:+.3f} over as many items for everybody, standard error "
        f"{offer.gain_error:.3f}"
    )


def _terms(settings: ClientSettings) -> str:
    return f"{settings.mechanism} at epsilon {settings.epsilon}, k {settings.k}"


def _charges(loss: SignalLoss) -> str:
    any_two, one_rating, unit = (at_most(each, 3) for each in three_units(loss))
    return (
        f"{any_two} between any two people, {one_rating} for one rating, {unit} per unit distance"
    )


def _holding(held: CachedItems) -> str:
    return f"{held.n_items:,} items ({_bytes(held.size)})"


def _bytes(size: int) -> str:
    """A size to be read: "31 kB"."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
