"""The app without a server: simulated models in this process, and stores that pass with it."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path

from askew.catalog.catalog import Catalog
from askew.catalog.held_file import HEAD_BYTES, Head, Part
from askew.protocol.metric_card import Card, MetricCard
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.spaces.map import Position
from askew.wire.held import held_from_body
from askew_client.demo.person import FAVORITES
from askew_client.device.device import Companion
from askew_client.opening import open_companion
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.transport.in_process import InProcess, LocalPlaces, LocalTransport
from askew_client.tui.simulated_places import COUNTRY, simulated_places

HOME = Position(50.9375, 6.9603)  # nobody lives there: it is a station


class SimulatedServers(InProcess):
    """One server of tastes and one of places, behind one address. Implements Transport."""

    def __init__(self, tastes: LocalTransport, places: LocalPlaces) -> None:
        self._tastes, self._places = tastes, places

    def card_for(self, collection: str) -> Card:
        """Only places have collections."""
        return (self._places if collection else self._tastes).card_for(collection)

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """Of the tastes; places have nothing to hold."""
        return await self._tastes.held(edition, part, start)

    async def metric_card(self) -> MetricCard:
        """That of the places."""
        return self._places.card

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """The answer of the server whose card this is."""
        server = self._places if query.collection else self._tastes
        return await server.retrieve(query, card)


@asynccontextmanager
async def simulated_companion(settings: ClientSettings) -> AsyncIterator[Companion]:
    """A made-up person's device. Leaves no file behind, and touches none of the real ones."""
    transport = SimulatedServers(LocalTransport(*simulated_model()), simulated_places())
    with tempfile.TemporaryDirectory(prefix="askew-tui-") as directory:
        async with open_companion(
            replace(settings, region=settings.region or COUNTRY),
            directory=Path(directory),
            transport=transport,
            profile=PassingProfile(ProfileDocument(dict(FAVORITES))),
        ) as companion:
            companion.nearby.add("home", HOME)
            yield companion


def simulated_model() -> tuple[ModelCard, Catalog]:
    """What `askew-server serve --demo` lets devices hold, in base64: by
    `python -m benchmarks.write_demo_model`.
    """
    text = resources.files("askew_client.tui").joinpath("simulated_model.txt").read_text("ascii")
    file = base64.b64decode(text)
    Head.of(file).check(file[HEAD_BYTES:])
    return held_from_body(file[HEAD_BYTES:])
