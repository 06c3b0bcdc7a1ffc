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
        """Return the titles at the server, which are a question too: the same object each time,
        made, and its module loaded, at the first use.
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

    def _known(self, document: ProfileDocument) -> KnownTitles | None:
        """Return the model of the connected catalog with what the profile has received; None before
        a connection.
        """
        return None if self._titles is None else self._titles.knowing(document)

    @property
    def places(self) -> PlaceService:
        """Return the service of the named places: the same object each time, made, and its module
        loaded, at the first use.
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
        """Return the object that asks near a place: the same each time, made, and its module
        loaded, at the first use.
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
        """Return the account, a line in words for each entry of the ledger, and what they mean
        together; `mode` says how a question of titles is answered, "" before a connection. Raises
        LedgerError, ProfileError.
        """
        from askew_client.device.budget import budget_of

        found = budget_of(self._signals, self._today(), self._store.read().places)
        return replace(found, mode="" if self._titles is None else self._titles.reason())

    def accept(self) -> Budget:
        """Continue with the ledger and date as they are, and return the budget after that: what the
        mark knows and the ledger had lost is booked in a new entry. The person's act.
        """
        self._signals.accept(month_of(self._today()))
        return self.budget()
