"""A device with places: stores in a directory of its own, and the kernel's randomness."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import pytest
from small_map import GERMANY, NearServer, made_card

from askew.limits import DEVICE_BYTES
from askew.noise.randomness import RandomBits, SystemBits
from askew.spaces.map import MapSpace, Position
from askew_client.catalog.cache import CatalogCache
from askew_client.device.asker import IN_PROCESS, Asker
from askew_client.device.nearby import Nearby
from askew_client.near.places import PlaceService
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.transport.shaped import KeptLibrary, ShapedTransport

SETTINGS = ClientSettings(region="DE", near_k=20)
BERLIN, MUNICH = Position(52.52, 13.405), Position(48.137, 11.575)
NOON = datetime.datetime(2026, 11, 23, 12)  # a Monday


@dataclass
class DeviceWorld:
    """One person's device, a server, and the day."""

    root: Path
    server: NearServer = field(default_factory=lambda: NearServer(made_card(MapSpace(GERMANY))))
    settings: ClientSettings = SETTINGS
    day: datetime.date = datetime.date(2026, 11, 23)
    bits: RandomBits = field(default_factory=SystemBits)

    def __post_init__(self) -> None:
        self.profile = ProfileStore(self.root / "profile.sqlite")
        self.signals = SignalStore(self.root / "signals.sqlite", self.settings.caps)

    @property
    def places(self) -> PlaceService:
        """The named places, as they are after a start of the program."""
        return PlaceService(
            self.settings,
            profile=self.profile,
            signals=self.signals,
            bits=self.bits,
            today=lambda: self.day,
        )

    @property
    def program(self) -> Program:
        """The questions, as they are after a start of the program."""
        network = ShapedTransport(lambda: self.server, self.server)
        nearby = Nearby(
            network,
            self.settings,
            places=self.places,
            profile=self.profile,
            library=KeptLibrary(
                CatalogCache(self.root / token_hex(4)), self.server, DEVICE_BYTES, self.server.call
            ),
            today=lambda: self.day,
            now=lambda: NOON,
        )
        asker = Asker(
            network,
            self.settings,
            signals=self.signals,
            bits=self.bits,
            server=IN_PROCESS,
            today=lambda: self.day,
        )
        return Program(asker, nearby)


@dataclass
class Program:
    """A run of the program, with its questions near a place."""

    asker: Asker
    nearby: Nearby

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on."""
        self.asker.configure(settings)
        self.nearby.configure(settings)
        self.nearby.places.configure(settings)


@pytest.fixture
def device(tmp_path: Path) -> DeviceWorld:
    """A device without a place."""
    return DeviceWorld(tmp_path / "mine")


@pytest.fixture
def another_device(tmp_path: Path) -> Callable[[str], DeviceWorld]:
    """Makes one more device."""
    return lambda name: DeviceWorld(tmp_path / name)
