"""One person's device: all that a screen or a command does for them, without a screen, and how it
is opened with a real network and real stores.

Everything raises AskewError; the command and the app turn an error into words (`views.problems`).
What goes to the network is a coroutine; what stays on the device is a plain method, quick enough
for a key press unless it says otherwise, which may be called from any thread.
"""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from askew.noise.randomness import RandomBits, SystemBits
from askew_client.catalog.cache import CatalogCache, CatalogSource
from askew_client.device.asker import IN_PROCESS, Asker
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import ProfileService, ProfileStore
from askew_client.settings.config import DEFAULT_SERVER, places
from askew_client.settings.settings import ClientSettings, StaticHost, month_of
from askew_client.signals.store import SignalStore

if TYPE_CHECKING:
    from askew.catalog.item import Item
    from askew.catalog.titles import TitleIndex
    from askew_client.device.budget import Budget
    from askew_client.device.nearby import Nearby
    from askew_client.device.titles import Titles
    from askew_client.near.places import PlaceService
    from askew_client.transport.in_process import InProcess
    from askew_client.transport.protocol import Library, Network
    from askew_client.transport.shaped import KeptLibrary, ShapedTransport, Transport


class Device:
    """One person's device, and one server.

    profile: ratings and past answers. titles: its catalog, and the question what is best of it.
    places: named places. nearby: questions near them. asker: asks, and says before what that costs.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        library: Library,
        server: str = IN_PROCESS,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        """Make a device of these parts; nothing is opened or sent. server: its address, as the
        person gave it.

        `open_device` in `opening` builds one with a real network and real stores.
        """
        profile.guard = network.guard
        self.server = server
        self._network, self._settings, self._library = network, settings, library
        self._store, self._signals, self._bits, self._today = profile, signals, bits, today
        self.profile = ProfileService(profile, self._known)
        self.asker = Asker(
            network, settings, signals=signals, bits=bits, server=server, today=today
        )
        self._titles: Titles | None = None
        self._places: PlaceService | None = None
        self._nearby: Nearby | None = None
        self._making = RLock()

    @property
    def titles(self) -> Titles:
        """Return the Titles at the server, which are a question too: made at the first use, and the
        same object from then on.
        """
        from askew_client.device.titles import Titles

        with self._making:
            self._titles = self._titles or Titles(
                self._network,
                self._settings,
                profile=self._store,
                library=self._library,
                today=self._today,
            )
            return self._titles

    def _known(self, document: ProfileDocument) -> tuple[TitleIndex, Sequence[Item]] | None:
        model = None if self._titles is None else self._titles.knowing(document)
        return None if model is None else (model.index, model.catalog.items)

    @property
    def places(self) -> PlaceService:
        """Return the service of the named places: made at the first use, and the same object from
        then on.
        """
        from askew_client.near.places import PlaceService

        with self._making:
            self._places = self._places or PlaceService(
                self._settings,
                profile=self._store,
                signals=self._signals,
                bits=self._bits,
                today=self._today,
            )
            return self._places

    @property
    def nearby(self) -> Nearby:
        """Return the Nearby, which asks near a place: made at the first use, and the same object
        from then on.
        """
        from askew_client.device.nearby import Nearby

        with self._making:
            self._nearby = self._nearby or Nearby(
                self._network,
                self._settings,
                places=self.places,
                profile=self._store,
                library=self._library,
                today=self._today,
            )
            return self._nearby

    @property
    def settings(self) -> ClientSettings:
        """Return the settings in force: the last ones of `configure`, or those at the start."""
        return self._settings

    def configure(self, settings: ClientSettings) -> None:
        """Replace the settings of this device and its parts from now on, in memory only
        (`ConfigFile` keeps them in a file).
        """
        with self._making:
            self._settings = settings
            self._signals = self._signals.with_caps(settings.caps)
            for part in (self.asker, self._titles, self._places, self._nearby):
                if part is not None:  # else it is made with these
                    part.configure(settings)

    def budget(self) -> Budget:
        """Return the Budget of today, as `budget_of`: account, next_month, lines and words; its
        mode is `Titles.reason`, how a question of titles is answered, "" before a connection.
        Raises LedgerError, ProfileError.
        """
        from askew_client.device.budget import budget_of

        found = budget_of(self._signals, self._today(), self._store.read().places)
        return replace(found, mode="" if self._titles is None else self._titles.reason())

    def accept(self) -> Budget:
        """Continue with the ledger and date as they are, as `SignalStore.accept`, and return the
        budget after that. The person's act.
        """
        self._signals.accept(month_of(self._today()))
        return self.budget()


@asynccontextmanager
async def open_device(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: str | Path | None = None,
    transport: InProcess | None = None,
    profile: ProfileStore | None = None,
) -> AsyncIterator[Device]:
    """Open and yield a device with a real network and real stores, or the ones of the arguments.

    directory: where the profile and the ledger are kept; None is the platform's own place.
    """
    files = places(directory)
    bits = SystemBits()
    signals = SignalStore(files.ledger, settings.caps, files.mark)
    store = profile or ProfileStore(files.profile)
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
    transport: InProcess | None = None,
) -> AsyncIterator[tuple[ShapedTransport, KeptLibrary]]:
    """Open and yield a network, and the library of what this device holds of its server, in a cache
    in the directory (None: the platform's own place); nothing is sent. transport: a server in this
    process, None for the one at the address `server`. Raises ParameterError for no host:port, no
    path (a file's is one), or an authority that is of no use.
    """
    from askew_client.transport.shaped import (
        KeptLibrary,  # with protobuf
        ShapedTransport,
    )

    def connect() -> Transport:
        if transport is not None:
            return transport
        from askew_client.transport.grpc import GrpcTransport  # most questions call nobody

        alive = network.guard.alive  # keeps private work apart from what gRPC leaves alive
        return GrpcTransport(server, settings.timeout, settings.authority, alive)

    cache = CatalogCache.of(places(directory).held, server)
    interval: float | None = settings.interval
    if transport is not None:
        from askew_client.transport.in_process import InProcess  # few devices have a server in them

        if isinstance(transport, InProcess):  # else it may have sockets
            interval = None
    files = transport if transport is not None else files_of(server, settings)
    network = ShapedTransport(connect, files, interval)
    if settings.authority:
        network.load()  # a file that is no use is named before anything is asked
    yield network, KeptLibrary(cache, network.source, settings.byte_budget, network.call)


def files_of(server: str, settings: ClientSettings) -> CatalogSource:
    """Return the source from which devices of these settings fetch what they hold: the static host
    of `held_from`, or the server's own door for files. Nothing is connected. Raises ParameterError.
    """
    from askew_client.catalog.https import HttpsSource, trusted

    own = not settings.held_from
    trust = trusted(settings.authority, others=not own) if settings.authority else None
    if own:
        host = StaticHost.of_server(server, tls=trust is not None)
        named = f"the files of {server} (port {host.port})"
    else:
        host, named = StaticHost.of(settings.held_from), settings.held_from
    return HttpsSource(host, settings.timeout, trust, is_server=own, named=named)
