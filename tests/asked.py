"""Questions in one line: by a taste alone, and near a place by a device."""

from __future__ import annotations

from typing import Protocol

from askew.noise.randomness import RandomBits
from askew.protocol.metric_card import ALL
from askew.protocol.signal import Query
from askew_client.device.asker import Asker, draw
from askew_client.device.nearby import Nearby
from askew_client.near.preferences import NO_PREFERENCES, Preferences
from askew_client.profile.document import Spot
from askew_client.signals.store import SignalStore
from askew_client.taste.exchange import Exchange
from askew_client.views.answers import NearAnswer
from askew_client.views.cost import Cost


class Asking(Protocol):
    """A device, or what a test has of one."""

    @property
    def asker(self) -> Asker: ...

    @property
    def nearby(self) -> Nearby: ...


async def near(
    device: Asking,
    collection: str,
    place: str | Spot = "home",
    *,
    preferences: Preferences | str = NO_PREFERENCES,
    shown: Cost | None = None,
    again: bool = False,
) -> NearAnswer:
    """What one collection has near a place."""
    question = device.nearby.question(collection, place, preferences)
    (answer,) = await device.asker.ask(question, shown=shown, again=again)
    return answer


async def near_all(
    device: Asking,
    place: str | Spot = "home",
    *,
    preferences: Preferences | str = NO_PREFERENCES,
) -> tuple[NearAnswer, ...]:
    """What each collection has."""
    return await device.asker.ask(device.nearby.question(ALL, place, preferences))


async def near_cost(
    device: Asking, collection: str, place: str | Spot = "home", *, again: bool = False
) -> Cost:
    """What that would cost now."""
    return await device.asker.show(device.nearby.question(collection, place), again=again)


def query_of(exchange: Exchange, month: str, signals: SignalStore, bits: RandomBits) -> Query:
    """The question of a month by a taste."""
    signal, _ = draw(exchange, month, signals, bits)
    return Query(signal, exchange.k, catalog_date=exchange.catalog_date)
