"""A device for a test: real stores in a directory, real noise, and a network that was given."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from askew.noise.randomness import RandomBits, SystemBits
from askew_client.catalog.cache import CatalogCache
from askew_client.opening import Device
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.transport.protocol import Library
from askew_client.transport.shaped import KeptLibrary, ShapedTransport


def made_device(  # one parameter a collaborator
    transport: Any,
    directory: Path,
    settings: ClientSettings,
    *,
    profile: ProfileStore | None = None,
    signals: SignalStore | None = None,
    bits: RandomBits | None = None,
    library: Library | None = None,
    held: Path | None = None,
    today: Callable[[], datetime.date] = datetime.date.today,
) -> Device:
    """A device with what was given, and the real thing for the rest. transport: a ShapedTransport,
    or what calls and reads as an InProcess does. held: where what it holds is
    kept, for who starts again and holds nothing.
    """
    if isinstance(transport, ShapedTransport):
        network = transport
    else:
        server = transport
        network = ShapedTransport(lambda: server, server)
    cache = CatalogCache(held or directory / "held")
    return Device(
        network,
        settings,
        profile=profile or ProfileStore(directory / "profile.sqlite"),
        signals=signals or SignalStore(directory / "signals.sqlite", settings.caps),
        bits=bits or SystemBits(),
        library=library or KeptLibrary(cache, network.source, settings.byte_budget, network.call),
        today=today,
    )
