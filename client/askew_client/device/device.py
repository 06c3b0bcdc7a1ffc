"""All that a screen or a command does for a person, without a screen: the device.

Built from a transport, two stores, the settings, a source of randomness and a calendar, all
arguments. Everything raises AskewError; the command and the app turn an error into words
(`views.problems`). What goes to the network is a coroutine; what stays on the device is a plain
method, quick enough for a key press unless it says otherwise, which may be called from any thread.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from askew.noise.randomness import RandomBits
from askew_client.device.asker import IN_PROCESS, Asker
from askew_client.profile.document import ProfileDocument
from askew_client.profile.editor import KnownTitles, ProfileService
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings, month_of
from askew_client.signals.store import SignalStore
from askew_client.transport.protocol import Library, Network

if TYPE_CHECKING:
    from askew_client.device.budget import Budget
    from askew_client.device.nearby import Nearby
    from askew_client.device.titles import Titles
    from askew_client.near.places import PlaceService


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
        """server: its address, as the person gave it.

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
        """Titles, as a question too; made, and loaded, when they are first used."""
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

    def _known(self, document: ProfileDocument) -> KnownTitles | None:
        """Return what a connected catalog knows of titles; before a connection, None."""
        return None if self._titles is None else self._titles.knowing(document)

    @property
    def places(self) -> PlaceService:
        """Return the named places; made, and loaded, when they are first used."""
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
        """Questions near a place; made, and loaded, for the first of these."""
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
        """Return the settings in force."""
        return self._settings

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on, in this object only (`ConfigFile` keeps them)."""
        with self._making:
            self._settings = settings
            self._signals = self._signals.with_caps(settings.caps)
            for part in (self.asker, self._titles, self._places, self._nearby):
                if part is not None:  # else it is made with these
                    part.configure(settings)

    def budget(self) -> Budget:
        """Return the meter, every line of the ledger and what they mean in words."""
        from askew_client.device.budget import budget_of

        found = budget_of(self._signals, self._today(), self._store.read().places)
        return replace(found, mode="" if self._titles is None else self._titles.reason())

    def accept(self) -> Budget:
        """Continue with the ledger and date as they are; book what was lost. The person's act."""
        self._signals.accept(month_of(self._today()))
        return self.budget()
