"""From settings to a device with a real network and real stores, or to what it holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from askew.noise.randomness import SystemBits
from askew_client.catalog.cache import CatalogCache, CatalogSource
from askew_client.device.asker import IN_PROCESS
from askew_client.device.device import Device
from askew_client.profile.store import ProfileStore
from askew_client.settings import paths
from askew_client.settings.config import DEFAULT_SERVER
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.storage.guard import Guard
from askew_client.transport.protocol import ServerInProcess, Transport

if TYPE_CHECKING:
    from askew_client.transport.grpc import GrpcTransport
    from askew_client.transport.held import KeptLibrary
    from askew_client.transport.shaped import ShapedTransport


@asynccontextmanager
async def open_device(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: str | Path | None = None,
    transport: ServerInProcess | None = None,
    profile: ProfileStore | None = None,
) -> AsyncIterator[Device]:
    """Open and yield a device with a real network and real stores, or the ones of the arguments.

    directory: where the profile and the ledger are kept; None is the platform's own place.
    """
    places = paths.places(directory)
    bits = SystemBits()
    signals = SignalStore(places.ledger, settings.caps, places.mark)
    store = profile or ProfileStore(places.profile)
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
    transport: ServerInProcess | None = None,
) -> AsyncIterator[tuple[ShapedTransport, KeptLibrary]]:
    """Open and yield a network, and the library of what this device holds of its server, in a cache
    in the directory.

    Nothing is sent before they are used.
    """
    from askew_client.transport.held import KeptLibrary  # with protobuf
    from askew_client.transport.shaped import ShapedTransport

    def connect() -> Transport:
        if transport is not None:
            return transport
        return way_to(server, settings, network.guard)

    cache = CatalogCache.of(paths.places(directory).held, server)
    if transport is None:
        has_sockets = True
    else:
        from askew_client.transport.in_process import InProcess  # few devices have a server in them

        has_sockets = not isinstance(transport, InProcess)
    interval = settings.interval if has_sockets else None
    files = transport if transport is not None else files_of(server, settings)
    network = ShapedTransport(connect, files, interval)
    if settings.authority:
        network.load()  # a file that is no use is named before anything is asked
    yield network, KeptLibrary(cache, network.source, settings.byte_budget, network.call)


def way_to(server: str, settings: ClientSettings, guard: Guard | None = None) -> GrpcTransport:
    """Return the gRPC transport by which devices of these settings call a server; it is not
    connected. Raises ParameterError.

    guard: keeps private work apart from what gRPC leaves alive.
    """
    from askew_client.transport.grpc import GrpcTransport

    alive = None if guard is None else guard.alive
    return GrpcTransport(server, settings.timeout, settings.authority, alive)


def files_of(server: str, settings: ClientSettings) -> CatalogSource:
    """Return the source from which devices of these settings fetch what they hold: the static host
    of `held_from`, or the server's own door for files. Nothing is connected. Raises ParameterError.
    """
    from askew_client.catalog.https import HttpsSource, trusted

    own = not settings.held_from
    trust = trusted(settings.authority, others=not own) if settings.authority else None
    if own:
        host = paths.StaticHost.of_server(server, tls=trust is not None)
        named = f"the files of {server} (port {host.port})"
    else:
        host, named = paths.StaticHost.of(settings.held_from), settings.held_from
    return HttpsSource(host, settings.timeout, trust, is_server=own, named=named)
