"""From settings to a device with a real network and real stores, or to what it holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from askew.randomness import SystemBits
from askew_client.device.device import Companion
from askew_client.held.shelf import Shelf
from askew_client.held.source import HeldSource
from askew_client.ledger.store import SignalStore
from askew_client.profile.store import ProfileStore
from askew_client.settings import paths
from askew_client.settings.settings import ClientSettings
from askew_client.settings.sources import DEFAULT_SERVER
from askew_client.transport.late import LateTransport
from askew_client.transport.paced import PacedTransport
from askew_client.transport.protocol import Transport

if TYPE_CHECKING:
    from askew_client.transport.held import KeptLibrary


@asynccontextmanager
async def open_companion(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: str | Path | None = None,
    transport: Transport | None = None,
    profile: ProfileStore | None = None,
) -> AsyncIterator[Companion]:
    """A companion with a real network and real stores, or the given ones.

    directory: where the profile and the ledger are kept; None is the platform's own place.
    """
    places = paths.places(directory)
    bits = SystemBits()
    signals = SignalStore(places.ledger, settings.caps, places.anchor)
    store = profile or ProfileStore(places.profile, bits)
    opened = open_library(settings, server=server, directory=directory, transport=transport)
    async with opened as (paced, library):
        yield Companion(paced, settings, profile=store, signals=signals, bits=bits, library=library)


@asynccontextmanager
async def open_library(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: str | Path | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[tuple[Transport, KeptLibrary]]:
    """A network at its pace, and what this device holds of its server, on a shelf of the directory.
    Nothing is sent before it is used.
    """
    from askew_client.transport.held import KeptLibrary  # with protobuf

    shelf = Shelf.of(paths.places(directory).held, server)
    async with _network(server, settings, transport) as network, _files(settings) as files:
        paced = PacedTransport(network, settings.pace, files)
        try:
            yield paced, KeptLibrary.on(shelf, paced, settings.byte_budget)
        finally:
            await paced.turn()  # closing is seen as well as a call


@asynccontextmanager
async def _files(settings: ClientSettings) -> AsyncIterator[HeldSource | None]:
    """The static host of the settings, if they name one."""
    if not settings.held_from:
        yield None
        return
    from askew_client.held.https import HttpsSource

    async with HttpsSource(settings.held_from, settings.timeout) as files:
        yield files


@asynccontextmanager
async def _network(
    server: str, settings: ClientSettings, given: Transport | None
) -> AsyncIterator[Transport]:
    if given is not None:
        yield given
        return

    async with AsyncExitStack() as left:

        async def opened() -> Transport:
            from askew_client.transport.grpc import GrpcTransport

            channel = GrpcTransport(server, settings.timeout, settings.authority)
            return await left.enter_async_context(channel)

        network = LateTransport(opened)
        # A file that is no use is named before anything is asked. After a static host's reply the
        # question has a beat to keep, which loading gRPC would miss.
        if settings.authority or settings.held_from:
            await network.network()
        yield network
