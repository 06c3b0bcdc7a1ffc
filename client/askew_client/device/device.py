"""All that a screen or a command does for a person, without a screen: the facade of the device.

Built from a transport, two stores, the settings, a source of randomness and a calendar, all
arguments. What goes to the network is a coroutine and returns an outcome or a Setback; what stays
on the device is a plain method, quick enough for a key press unless it says otherwise, and raises
AskewError (`setback_of` turns that into something to show). Methods may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from askew_client.device import present
from askew_client.device.questions import QuestionDesk
from askew_client.profile.named_place import NamedPlace
from askew_client.profile.title_search import Matches
from askew_client.settings.settings import ClientSettings, slot_of
from askew_client.taste.exchange import Exchange
from askew_client.views.answers import Bar, Connection, Match, SignalPreview

if TYPE_CHECKING:
    from askew_client.near.places import PlaceDesk
    from askew_client.views.quote import Budget


class Companion(QuestionDesk):
    """One person's device, and one server."""

    # Settings

    @property
    def settings(self) -> ClientSettings:
        """The settings in force."""
        return self._settings

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on, in this object only (`ConfigFile` keeps them)."""
        self._settings = settings
        self._signals = self._signals.with_caps(settings.caps)
        self.nearby.configure(settings)

    @property
    def places(self) -> PlaceDesk:
        """The named places, without the questions near them: nothing of it waits."""
        from askew_client.near.places import PlaceDesk

        return PlaceDesk(
            self._settings,
            profile=self._profile,
            signals=self._signals,
            bits=self._bits,
            today=self._today,
        )

    # What a connected server's model makes of the profile

    @property
    def connection(self) -> Connection | None:
        """What the server said of itself, or None before `connect`."""
        return None if self._model is None else self._model.connection

    def search(self, text: str, limit: int = 50) -> Sequence[Match]:
        """Titles of the connected catalog that contain every word of `text`, best match first.

        Stays on the device: the catalog is fetched whole. No text finds the first titles.
        """
        with self._network.guard.private():
            document = self._profile.read()
            model = self._with_met(self._connected(), document.met)
            return Matches(model.catalog.items, model.search.places(text, limit), document)

    def bars(self) -> tuple[Bar, ...]:
        """The private profile, a bar for each number; empty when nothing of it is rated."""
        with self._network.guard.private():
            model, exchange = self._connected(), self._exchange()
            return present.bars_of(exchange, model.ends) if exchange.ratings else ()

    def preview(self, epsilon: Fraction, k: int) -> SignalPreview:
        """What a fresh signal of epsilon and k would tell and give. Public; needs a connection.

        Raises ParameterError for an epsilon or k out of range.
        """
        from askew_client.device.what_if import preview_of

        return preview_of(self._connected(), replace(self._settings, epsilon=epsilon, k=k))

    def _exchange(self) -> Exchange:
        """This person with the connected model."""
        return self._exchange_of(self._connected(), self._profile.read(), self._settings)

    # The budget

    def budget(self) -> Budget:
        """The meter, every line of the ledger and what they mean in words."""
        from askew_client.device.budget_view import budget_of

        places: Mapping[str, NamedPlace] = {} if self.locked else self._profile.read().places
        found = budget_of(self._signals, self._today(), places)
        return replace(found, mode=self._mode())

    def unfreeze(self) -> Budget:
        """Accept the ledger as it is after a freeze, and book what was lost. The person's act."""
        self._signals.unfreeze(slot_of(self._today()))
        return self.budget()
