"""From what a device has, or has and was sent, to a private ranking. Nothing of this is sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from askew.protocol.ranking import Slate
from askew_client.device import present
from askew_client.device.model import Model
from askew_client.profile.document import ProfileDocument
from askew_client.settings.settings import ClientSettings
from askew_client.signals.asking import Question
from askew_client.taste.choice import Taken
from askew_client.taste.exchange import Exchange
from askew_client.taste.words import in_words
from askew_client.views.answers import Answer


@dataclass(frozen=True, eq=False)
class Prepared:
    """A question that is paid for and encoded, what it is asked by, and in which slot."""

    model: Model
    taken: Taken
    document: ProfileDocument = field(repr=False)
    exchange: Exchange = field(repr=False)
    question: Question
    slot: str
    request: bytes


def ranked_here(exchange: Exchange, model: Model, settings: ClientSettings, taken: Taken) -> Answer:
    """The best of what this device holds or has met."""
    ranking = exchange.rank_all(settings.k)
    return present.answer_of(exchange, ranking, mode=in_words(taken, model.card))


def ranked_with(
    asked: Prepared, slate: Slate, exchange: Exchange, model: Model, settings: ClientSettings
) -> Answer:
    """The best of that and of what came; the exchange and the model have met it.

    Where payloads came, what has none cannot be read, so the ranking is of what came alone.
    """
    places, only = model.places_of(slate), bool(slate.payloads)
    return present.answer_of(
        exchange,
        exchange.rank_only(places) if only else exchange.rank_all(settings.k),
        mode=in_words(asked.taken, model.card),
        came=present.payloads_of(places, slate),
        departure=present.departure_of(exchange, asked.question.remembered, asked.slot),
        cost=present.cost_after(asked.exchange, asked.question.remembered),
    )
