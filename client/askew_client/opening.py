"""From settings to a device with a real network and real stores, or to what it holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from askew.noise.randomness import SystemBits
from askew_client.catalog.cache import CatalogCache
from askew_client.catalog.source import CatalogSource
from askew_client.device.device import Device
from askew_client.profile.store import ProfileStore
from askew_client.settings import paths
from askew_client.settings.config import DEFAULT_SERVER
from askew_client.settings.settings import ClientSettings
from askew_client.signals.asking import IN_PROCESS
from askew_client.signals.store import SignalStore
from askew_client.transport.protocol import Transport

if TYPE_CHECKING:
    from askew_client.transport.held import KeptLibrary
    from askew_client.transport.shaped import ShapedTransport


@asynccontextmanager
async def open_device(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: str | Path | None = None,
    transport: Transport | None = None,
    profile: ProfileStore | None = None,
) -> AsyncIterator[Device]:
    """A device with a real network and real stores, or the given ones.

    directory: where the profile and the ledger are kept; None is the platform's own place.
    """
    places = paths.places(directory)
    bits = SystemBits()
    signals = SignalStore(places.ledger, settings.caps, places.anchor)
    store = profile or ProfileStore(places.profile, bits)
    opened = open_library(settings, server=server, directory=directory, transport=transport)
    async with opened as (network, library):
        yield Device(
            network,
            settings,
            profile=store,
            signals=signals,
            bits=bits,
            library=library,
            server=server if transport is None else IN_PROCESS,
        )


@asynccontextmanager
async def open_library(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: str | Path | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[tuple[ShapedTransport, KeptLibrary]]:
    """A network, and what this device holds of its server, in a cache in the directory. Nothing is
    sent before it is used.
    """
    from askew_client.transport.held import KeptLibrary  # with protobuf
    from askew_client.transport.shaped import ShapedTransport

    def made() -> Transport:
        if transport is not None:
            return transport
        from askew_client.transport.grpc import GrpcTransport

        return GrpcTransport(server, settings.timeout, settings.authority)

    cache = CatalogCache.of(paths.places(directory).held, server)
    interval = settings.interval if _has_sockets(transport) else None
    network = ShapedTransport(made, interval, _files(settings))
    # A file that is no use is named before anything is asked. After a static host's reply the
    # question has a moment to keep, which loading gRPC would miss.
    if settings.authority or settings.held_from:
        network.load()
    yield network, KeptLibrary(cache, network.source, settings.byte_budget, network.call)


def _has_sockets(transport: Transport | None) -> bool:
    if transport is None:
        return True
    from askew_client.transport.in_process import InProcess  # few devices have a server in them

    return not isinstance(transport, InProcess)


def _files(settings: ClientSettings) -> CatalogSource | None:
    """The static host of the settings, if they name one."""
    if not settings.held_from:
        return None
    from askew_client.catalog.https import HttpsSource

    return HttpsSource(settings.held_from, settings.timeout)
