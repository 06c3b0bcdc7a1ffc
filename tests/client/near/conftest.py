"""A device with places: stores in a directory of its own, and the kernel's randomness."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import pytest
from made_device import made_device
from small_map import GERMANY, NearServer, made_card

from askew.noise.randomness import RandomBits, SystemBits
from askew.spaces.map import MapSpace, Position
from askew_client.near.places import PlaceService
from askew_client.opening import Device
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore

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
    def program(self) -> Device:
        """The questions, as they are after a start of the program, which holds nothing yet."""
        return made_device(
            self.server,
            self.root,
            self.settings,
            held=self.root / token_hex(4),
            profile=self.profile,
            signals=self.signals,
            bits=self.bits,
            today=lambda: self.day,
        )


@pytest.fixture
def device(tmp_path: Path) -> DeviceWorld:
    return DeviceWorld(tmp_path / "mine")
