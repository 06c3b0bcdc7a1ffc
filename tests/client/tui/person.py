"""A person at the app: real stores in a directory, a server in this process, keys and the mouse."""

from __future__ import annotations

import asyncio
import datetime
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import mkdtemp
from typing import ClassVar

from made_device import made_device
from mechanisms.streams import ShakeBits
from rich.console import Console
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import Worker

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import Part
from askew.errors import AskewError
from askew.limits import MAX_MARKS, MAX_TEXT
from askew.noise.randomness import RandomBits, SystemBits
from askew.protocol.cards import Card, MetricCard, ModelCard, PlaceSlate
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.spaces.map import Position
from askew_client.opening import Device
from askew_client.profile.store import ProfileStore
from askew_client.settings.config import ConfigFile
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.transport.in_process import LocalPlaces, LocalTransport
from askew_client.tui.app import AskewApp
from askew_client.tui.screens.frame import ConfirmScreen
from askew_client.tui.screens.near import NearScreen
from askew_client.tui.screens.place import PlaceScreen
from askew_client.tui.screens.profile import ProfileScreen

TODAY = datetime.date(2026, 11, 21)
SETTINGS = ClientSettings(
    mode="ask",
    epsilon_per_rating=Fraction(2),
    k=4,
    rating_lifetime_cap=Fraction(12),
    rating_monthly_cap=Fraction(8),
    max_ratings_apart=32.0,
)

HOSTILE = (
    "[@click=app.quit]click me[/]",
    "[/]",
    "[bold red]not bold[/bold red]",
    "[link=https://evil.example]see[/link]",
    "\\[escaped] \\\\[",
    "[" * 60,
    "$primary $(reboot) {x} %s",
    "x" * MAX_TEXT,
    "映画" * 40,
    "🎬🎬🎬 movie 🎬",
    "Z\u0351a\u0334l\u0360g\u0315o\u0337 " + "\u0301" * MAX_MARKS,
    "שלום مرحبا mixed",
)


class Network(LocalTransport):
    """A server in this process that can be told to fail, or never to answer."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        super().__init__(card, catalog)
        self.asked: list[Query] = []
        self.stopped = 0
        self.unreachable: AskewError | None = None
        self.failure: AskewError | None = None
        self.silent = False

    def become(self, card: ModelCard, catalog: Catalog) -> None:
        super().__init__(card, catalog)

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        if self.unreachable is not None:
            raise self.unreachable
        return await super().read(catalog_date, part, start, size)

    async def retrieve(self, query: Query, card: Card) -> Slate:
        self.asked.append(query)
        if self.silent:
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped += 1
        if self.failure is not None:
            raise self.failure
        return await super().retrieve(query, card)


class ChosenNear(NearScreen):
    """It is chosen by the person, and leads nowhere by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._first = False


class BegunOnTitles(AskewApp):
    """The screen to which Near leads where a server has titles alone (a test), at once: to make
    both was a third of each test.
    """

    MODES: ClassVar = {**AskewApp.MODES, ChosenNear.MODE: ChosenNear}
    DEFAULT_MODE = ProfileScreen.MODE


class DeviceWorld:
    """Everything of one person that outlives the app: the stores, the server, the calendar."""

    SIZE: ClassVar = (80, 24)
    PROGRAM: ClassVar[type[AskewApp]] = BegunOnTitles

    def __init__(self, card: ModelCard, catalog: Catalog, directory: Path) -> None:
        self.network = Network(card, catalog)
        self.settings = SETTINGS
        self.today = TODAY
        self.bits: RandomBits = SystemBits()
        self.directory = directory
        self.keys: dict[str, str] = {}
        self.signals = SignalStore(directory / "signals.sqlite", SETTINGS.caps)
        self.file = ConfigFile(directory / "config.toml")
        self.profile = ProfileStore(directory / "profile.sqlite")

    def companion(self) -> Device:
        return made_device(
            self.network,
            self.directory,
            self.settings,
            held=Path(mkdtemp(dir=self.directory)),
            profile=self.profile,
            signals=self.signals,
            bits=self.bits,
            today=lambda: self.today,
        )

    async def rated(self, **stars: float) -> None:
        """Rate films by their number: film_4=5."""
        companion = self.companion()
        await companion.titles.connect()
        for name, rating in stars.items():
            companion.profile.rate(f"Film {name.removeprefix('film_')}", rating)

    @asynccontextmanager
    async def opened(
        self,
        size: tuple[int, int] | None = None,
        *,
        program: type[AskewApp] | None = None,
    ) -> AsyncIterator[Person]:
        @asynccontextmanager
        async def companion() -> AsyncIterator[Device]:
            yield self.companion()

        desk = (program or self.PROGRAM)(companion, file=self.file, keys=self.keys)
        desk.animation_level = "none"
        async with desk.run_test(size=size or self.SIZE, notifications=True) as pilot:
            person = Person(desk, pilot, self.network)
            while desk.connection is None:
                await pilot.pause()
            await person.settled()
            yield person


HOME = Position(50.9375, 6.9603)


class Town(Network):
    """A server of places as well, which counts who asks it who it is."""

    def __init__(self, card: ModelCard, catalog: Catalog, places: LocalPlaces) -> None:
        super().__init__(card, catalog)
        self.places, self.received, self.requests = places, 0, 0

    def card_for(self, collection: int | None) -> Card:
        self.requests += 1
        return super().card_for(None) if collection is None else self.places.card

    async def metric_card(self) -> MetricCard:
        self.received += 1
        if self.unreachable is not None:
            raise self.unreachable
        return self.places.card

    async def retrieve(self, query: Query, card: Card) -> Slate | PlaceSlate:  # type: ignore[override]  # places too
        if query.collection is None or self.silent or self.failure is not None:
            return await super().retrieve(query, card)
        self.asked.append(query)
        return await self.places.retrieve(query, card)


class NearWorld(DeviceWorld):
    """A device with a region, and a server of places; the app opens on Near."""

    SIZE = (110, 40)
    PROGRAM = AskewApp
    network: Town

    def __init__(self, network: Town, directory: Path) -> None:
        super().__init__(network._card, network._catalog, directory)
        self.network, self.settings = network, replace(SETTINGS, region="DE", near_k=5)
        self.bits = ShakeBits("near")  # other noise may point to another town

    def spent(self) -> Fraction:
        return self.signals.account().spent_per_km


@dataclass
class Person:
    """What a person can do at the app, and see."""

    app: AskewApp
    pilot: Pilot[AskewError | OSError]
    network: Network

    @property
    def device(self) -> Device:
        assert self.app.device is not None
        return self.app.device

    def fill(self, **fields: str) -> None:
        for field, text in fields.items():
            self.app.screen.query_one(f"#{field}", Input).value = text

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            if key[1:].isdigit():  # another screen: who presses on has seen it
                await self.settled()
        await self.settled()

    async def ask_in_vain(self) -> None:
        """Press the key of a question that is never answered, and wait until it has left."""
        before = len(self.network.asked)
        await self.press("a")
        while len(self.network.asked) == before:
            await self.pilot.pause()

    async def write(self, text: str) -> None:
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def click(self, widget: type[Widget] | str, at: tuple[int, int] = (0, 0)) -> None:
        await self.settled()
        await self.pilot.click(widget, offset=at)
        await self.settled()

    async def settled(self) -> None:
        """Wait for all that is under way, but for what never ends, or waits for the person."""
        await self.pilot.pause()
        while any(self._ends(worker) for worker in self.app.workers):
            await self.pilot.pause(0.005)
        await self.pilot.pause()

    def _ends(self, worker: Worker[object]) -> bool:
        """What is private waits, too, while a connection is open."""
        device = self.app.device
        connected = device is not None and device._network.guard.connected
        dialog = isinstance(self.app.screen, ConfirmScreen | PlaceScreen)
        asks = dialog and worker.group in {"ask", "question"}
        silent = asks or (self.network.silent and (connected or worker.group == "ask"))
        return not worker.is_finished and worker.group != "live" and not silent

    def sees(self) -> str:
        """The screen as text, with the dialogs over it."""
        width, height = self.app.size
        console = Console(width=width, height=height, file=io.StringIO(), record=True)
        behind = self.app._background_screens
        console.print(self.app.screen._compositor.render_update(full=True, screen_stack=behind))
        return "\n".join(line.rstrip() for line in console.export_text().splitlines())

    def reads(self, *parts: str) -> None:
        """Fails unless each of these texts can be seen, wherever the lines of its widget break."""
        texts = self._texts()
        missing = [part for part in parts if not any(part in text for text in texts)]
        assert not missing, f"{missing} is not on the screen:\n{self.sees()}"

    def shows(self, part: str) -> bool:
        return any(part in text for text in self._texts())

    def _texts(self) -> set[str]:
        lines = self.sees().splitlines()
        screen = self.app.screen
        regions = {screen.region, *(each.content_region for each in screen.query("*"))}
        return {_text_of(lines, region) for region in regions}


def _text_of(lines: list[str], region: Region) -> str:
    rows = lines[max(0, region.y) : max(0, region.bottom)]
    return " ".join(" ".join(row[region.x : region.right] for row in rows).split())
