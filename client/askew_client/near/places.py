"""A person's named places: add, list, move, forget. No network.

A position gets one noisy position, when it is added: charged to the ledger, drawn and stored there
in one transaction, and only then kept in the profile. So a crash between the two loses budget and
never privacy. After that nothing draws it again: no server, month, level, epsilon or region. Values
on axes are drawn when they are asked from, since their space is a server's.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Final

from askew.dp.privacy import ANY_SPACE
from askew.errors import PlaceError
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Signal
from askew_client.near.sources import (
    PendingPosition,
    PendingRequest,
    fresh_request,
    stored_request,
    view_of,
)
from askew_client.profile.document import NamedPlace, ProfileDocument, Spot, new_handle
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import LEVELS, ClientSettings, month_of
from askew_client.signals.store import SignalStore
from askew_client.views.answers import PlaceView
from askew_client.views.quote import Cost

_NAMED: Final = (
    "a place of yours is at this very position already, and its noisy position is charged: take it "
    "for nothing (`--take`, take=True), or draw and charge another (`--anew`, take=False)"
)


class PlaceService:
    """The named places of one profile. Methods raise AskewError, which repeats no position; they
    may be called from any thread.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        self._settings, self._profile = settings, profile
        self._signals, self._bits, self._today = signals, bits, today

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on: of positions that are yet to be drawn."""
        self._settings = settings
        self._signals = self._signals.with_caps(settings.caps)

    def list(self) -> tuple[PlaceView, ...]:
        """Every named place, with what every server gets of it, oldest first."""
        places = self._profile.read().places
        return tuple(self._view(name, place) for name, place in places.items())

    def price(self) -> Cost:
        """What a position that is added now would cost. Nothing is drawn or charged.

        Raises ParameterError where no region is set.
        """
        account = self._signals.account()
        noise = self._settings.map_noise
        cap = self._settings.place_lifetime_cap
        return Cost.of_place(noise, account.spent_per_km, cap, fresh=True)

    def price_of(self, spot: Spot) -> Cost | None:
        """What naming this spot would cost now; None on axes, where it costs when it is asked from.

        Raises PlaceError for a position outside the region.
        """
        request = fresh_request(spot, "", self._settings)
        if not isinstance(request, PendingPosition):
            return None
        return request.price(self._signals.account())

    def allowance(self) -> str:
        """How many positions the caps allow, in words."""
        return allowance(self._settings)

    def check_name(self, name: str, *, known: bool) -> None:
        """Raises PlaceError for a name that has no place (known), or that can be given to none:
        before a position is typed in vain.
        """
        document = self._profile.read()
        if known:
            document.place(name)
        else:
            document.check_new(name)

    def named_at(self, spot: Spot) -> str | None:
        """Return the name of a place at this very position whose noisy position is charged; None
        where there is none. Values on axes are charged when they are asked from.
        """
        return self._named_at(self._profile.read(), spot)

    def add(
        self, name: str, spot: Spot, shown: Cost | None = None, *, take: bool | None = None
    ) -> PlaceView:
        """Name a place: checked, charged, drawn and then kept. shown: the price that was seen.
        take: where a place is at this very position already, True is one more name of it, for
        nothing; False draws and charges another noisy position; None is refused.

        Raises QuoteVoid where the price is another one now, PlaceError for a name that is taken and
        for a position outside the region or that has a name, and BudgetExceeded, in each of which
        cases nothing was drawn.
        """
        place = self._place_at(spot, take)
        self._profile.change(
            lambda document: self._paid(
                place, document, document.with_place(name, place), shown, take
            )
        )
        return self._view(name, place)

    def move(
        self, name: str, spot: Spot, shown: Cost | None = None, *, take: bool | None = None
    ) -> PlaceView:
        """The place is elsewhere from now on: a new draw and a new charge, as by `add`. The old
        position is erased; what servers learned stays known, and its cost stays spent.
        """
        place = self._place_at(spot, take)
        self._profile.change_for_good(
            lambda document: self._paid(
                place,
                document,
                document.without_place(name).with_place(name, place),
                shown,
                take,
            )
        )
        return self._view(name, place)

    def forget(self, name: str) -> None:
        """Erase the place from the profile. Refunds nothing: its signal is known to who got it."""
        self._profile.change_for_good(lambda document: document.without_place(name))

    def request(self, place: str | Spot, handle: str = "") -> PendingRequest:
        """A question from a named place, or from a spot without a name: a fresh signal and a charge
        each time, under the handle that a quote gave it. Raises AskewError before any call.
        """
        if not isinstance(place, str):
            return fresh_request(place, handle or new_handle(self._bits), self._settings)
        known = self._profile.read().place(place)
        return stored_request(known, self._stored(known), self._signals.account().refused)

    def _place_at(self, spot: Spot, take: bool | None) -> NamedPlace:
        """A place of its own, or the one that is at this very position, if that is taken."""
        if not take:
            return NamedPlace(new_handle(self._bits), spot)
        document = self._profile.read()
        name = self._named_at(document, spot)
        if name is None:
            raise PlaceError("no place with a noisy position is at this very position")
        return document.place(name)

    def _paid(
        self,
        place: NamedPlace,
        before: ProfileDocument,
        after: ProfileDocument,
        shown: Cost | None,
        take: bool | None,
    ) -> ProfileDocument:
        """Return `after`, whose new place is paid for and stored if it needs no server. Inside the
        profile's transaction, so that nobody else pays for the same name, or the same position.
        """
        if take:
            return after
        request = fresh_request(place.spot, place.handle, self._settings)
        if isinstance(request, PendingPosition):
            if take is None and self._named_at(before, place.spot) is not None:
                raise PlaceError(_NAMED)
            request.settle(month_of(self._today()), self._signals, self._bits, shown)
        return after

    def _named_at(self, document: ProfileDocument, spot: Spot) -> str | None:
        """One whose noisy position the ledger has lost is charged, and of no use to anybody."""
        for name, place in document.places.items():
            if place.spot == spot and self._stored(place) is not None:
                return name
        return None

    def _stored(self, place: NamedPlace) -> Signal | None:
        """The noisy position of a place; None on axes, and where the ledger has none."""
        return self._signals.find(ANY_SPACE, month_of(self._today()), place.handle)[1]

    def _view(self, name: str, place: NamedPlace) -> PlaceView:
        return view_of(name, place, self._stored(place), self._signals.account())


def allowance(settings: ClientSettings) -> str:
    """Whole positions of this level, for life and a month, and what costs less."""
    each = LEVELS[settings.level]
    life, month = settings.place_lifetime_cap // each, settings.place_monthly_cap // each
    text = (
        f"At level {settings.level} the caps allow {life} positions for life and {month} a month, "
        "unnamed ones included; the settings place_lifetime_cap and place_monthly_cap change that."
    )
    if settings.level == "county":
        return text
    share = LEVELS["county"] / each
    return f"{text} Level county costs {float(share):.2g} of it."
