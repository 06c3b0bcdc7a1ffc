"""`askew demo --films`: a made-up person's exchange with a real server, told on the screen."""

from __future__ import annotations

import asyncio
import datetime
import signal
import tempfile
from pathlib import Path

from askew.catalog.catalog import Catalog
from askew.catalog.title_key import title_key
from askew.catalog.titles import TitleIndex
from askew.noise.randomness import SystemBits
from askew.spaces.vectors import FeatureSpace
from askew.wire.convert import query_to_bytes
from askew_client.demo.person import FAVORITES
from askew_client.demo.screen import DemoScreen
from askew_client.demo.server import demo_server, wait_until_healthy
from askew_client.demo.stopping import end_in_order_on
from askew_client.device.present import ratings_of
from askew_client.forecast.forecast import Expectation
from askew_client.settings.paths import ledger_file
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.taste.exchange import Exchange
from askew_client.transport.grpc import GrpcTransport
from askew_client.transport.held import FetchedAnew


async def play(settings: ClientSettings, slot: str, draws: int, screen: DemoScreen) -> None:
    """Play the exchange. Leaves nothing behind: neither a process nor a file."""
    end_in_order_on(signal.SIGINT, signal.SIGTERM)
    screen.opening()
    with tempfile.TemporaryDirectory(prefix="askew-demo-") as directory:
        store = SignalStore(ledger_file(Path(directory)), settings.caps)
        async with demo_server() as address:
            network = GrpcTransport(address, settings.timeout)
            async with network:
                await wait_until_healthy(network.channel)
            screen.listening(address)
            held = await FetchedAnew(network).holding(datetime.date.today())
            card, catalog = held.card, held.catalog
            likes = _favorites(catalog, card.space)
            exchange = Exchange(card, catalog, settings, likes, edition=held.edition)
            screen.person(exchange, held.size)
            sent = await _ask(exchange, slot, screen, store, network)
            await _measure(exchange, draws, screen)
            again = query_to_bytes(exchange.ask(slot, store, SystemBits()).query)
            screen.ledger(store.charges(), settings, same_bytes=again == sent)
            screen.meaning(exchange.loss, exchange.card.space.encoder.reach())
    screen.closing()


async def _ask(
    exchange: Exchange,
    slot: str,
    screen: DemoScreen,
    store: SignalStore,
    network: GrpcTransport,
) -> bytes:
    """One round trip; returns the bytes that left."""
    query = exchange.ask(slot, store, SystemBits()).query
    sent = query_to_bytes(query)
    screen.question(exchange, query, sent)
    screen.answer(exchange, query, await network.retrieve(query, exchange.card), SystemBits())
    return sent


async def _measure(exchange: Exchange, draws: int, screen: DemoScreen) -> None:
    expectation = Expectation(exchange, SystemBits())
    with screen.progress(draws) as step:
        for _ in range(draws):
            expectation.draw()
            step()
            await asyncio.sleep(0)  # a chance to be stopped
    screen.quality(expectation.comparison(), exchange.settings.k, draws)


def _favorites(catalog: Catalog, space: FeatureSpace) -> dict[int, float]:
    likings = {title_key(label): rating for label, rating in FAVORITES.items()}
    return ratings_of(likings, TitleIndex(catalog), space.scale)[0]
