"""From what a device has, or has and was sent, to a private ranking. Nothing of this is sent."""

from __future__ import annotations

from dataclasses import dataclass

from askew.ranking import Slate
from askew_client.asking import Question
from askew_client.device import present
from askew_client.device.model import Model
from askew_client.exchange import Exchange
from askew_client.profile.document import ProfileDocument
from askew_client.settings.settings import ClientSettings
from askew_client.views.values import Answer
from askew_client.ways.choice import Taken
from askew_client.ways.words import in_words


@dataclass(frozen=True, eq=False)
class Asked:
    """A question that was sent, what it was asked by, in which slot, and what came back."""

    exchange: Exchange
    question: Question
    slate: Slate
    slot: str


def ranked_here(
    model: Model, document: ProfileDocument, settings: ClientSettings, taken: Taken
) -> Answer:
    """The best of what this device holds or has met."""
    exchange = model.exchange(document, settings)
    return present.answer_of(
        exchange,
        exchange.rank_all(settings.k),
        model.titles,
        way=in_words(taken, model.card),
        unused=model.unused(document),
    )


def ranked_with(
    asked: Asked, model: Model, document: ProfileDocument, settings: ClientSettings, taken: Taken
) -> Answer:
    """The best of that and of what came; the model and the profile have met it.

    Where payloads came, what has none cannot be read, so the ranking is of what came alone.
    """
    exchange, places = model.exchange(document, settings), model.places_of(asked.slate)
    only = bool(asked.slate.payloads)
    return present.answer_of(
        exchange,
        exchange.rank_only(places) if only else exchange.rank_all(settings.k),
        model.titles,
        way=in_words(taken, model.card),
        came=present.payloads_of(places, asked.slate),
        departure=present.departure_of(exchange, asked.question.remembered, asked.slot),
        cost=present.cost_after(asked.exchange, asked.question.remembered),
        unused=model.unused(document),
    )
