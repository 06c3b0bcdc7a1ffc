"""Questions in one line: by a taste alone, and near a place, as a client's program asks them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from askew.noise.randomness import RandomBits
from askew.protocol.signal import Query
from askew_client import AskewClient
from askew_client.device.asker import draw
from askew_client.device.model import Exchange
from askew_client.signals.store import SignalStore
from askew_client.views.answers import NearAnswer
from askew_client.views.cost import Cost


def _opened(device: Any) -> Any:
    return SimpleNamespace(_device=device)


async def near(device: Any, *what: Any, **how: Any) -> NearAnswer:
    return await AskewClient.near(_opened(device), *what, **how)


async def near_all(device: Any, *what: Any, **how: Any) -> tuple[NearAnswer, ...]:
    return await AskewClient.near_all(_opened(device), *what, **how)


async def near_cost(device: Any, *what: Any, **how: Any) -> Cost:
    return await AskewClient.near_cost(_opened(device), *what, **how)


def query_of(exchange: Exchange, month: str, signals: SignalStore, bits: RandomBits) -> Query:
    signal, _ = draw(exchange, month, signals, bits)
    return Query(signal, exchange.k, catalog_date=exchange.model.catalog_date)
