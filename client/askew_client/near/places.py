"""A person's named places: add, list, move, forget. No network.

A position gets one noisy position, when it is added: charged to the ledger, drawn and stored there
in one transaction, and only then kept in the profile. So a crash between the two loses budget and
never privacy. After that nothing draws it again: no server, month, level, epsilon or region. Values
on axes are drawn when they are asked from, since their space is a server's.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import LedgerRefused, PlaceError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Signal
from askew.spaces.map import Position
from askew_client.near.sources import LOST, check_spot, perturbed
from askew_client.profile.document import (
    AxisValues,
    NamedPlace,
    ProfileDocument,
    Spot,
    new_handle,
)
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import LEVELS, ClientSettings, month_of
from askew_client.signals.account import cost_of
from askew_client.signals.store import SignalStore
from askew_client.views.answers import PlaceView
from askew_client.views.cost import MAP_AXES, Cost

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
        """Replace the settings and caps from now on: of positions that are yet to be drawn."""
        self._settings = settings
        self._signals = self._signals.with_caps(settings.caps)

    def list(self) -> tuple[PlaceView, ...]:
        """Return a PlaceView of every named place, oldest first: name, axes, true, where it is,
        sent, the noisy position that every server gets of it, and cost; sent () and cost None on
        axes and where the ledger has lost it.
        """
        places = self._profile.read().places
        return tuple(self._view(name, place) for name, place in places.items())

    def price(self) -> Cost:
        """Return what a position that is added now would cost, in whichever region: a fresh signal
        by the level alone, noise None, with what is spent, and in `refused` the cap that refuses
        it, else "". Nothing is drawn.
        """
        lattice = HexagonalLattice.for_epsilon(LEVELS[self._settings.level])
        charge, account = SignalCharge.of_place(lattice.epsilon), self._signals.account()
        month = month_of(self._today())
        return cost_of(account.entries, ANY_SPACE, month, charge, account.caps, None)

    def price_of(self, spot: Spot) -> Cost | None:
        """Return what naming this spot would cost now, as `price`; None for values on axes, which
        cost when a server is asked. Raises PlaceError for a position outside the region,
        ParameterError where no region is set.
        """
        check_spot(spot, self._settings)
        return self.price() if isinstance(spot, Position) else None

    def allowance(self) -> str:
        """Return in words how many whole positions of the level in force the caps allow, for life
        and a month, whatever is spent; and, unless it is county, what share of it county costs: "At
        level town the caps allow 15 positions for life and 5 a month, unnamed ones included; the
        settings ... change that. Level county costs 0.25 of it."
        """
        settings, price = self._settings, LEVELS[self._settings.level]
        life, month = settings.place_lifetime_cap // price, settings.place_monthly_cap // price
        text = (
            f"At level {settings.level} the caps allow {life} positions for life and {month} a "
            "month, unnamed ones included; the settings place_lifetime_cap and place_monthly_cap "
            "change that."
        )
        share = f" Level county costs {float(LEVELS['county'] / price):.2g} of it."
        return text if settings.level == "county" else text + share

    def check_name(self, name: str, *, known: bool) -> None:
        """Raise PlaceError for a name that has no place (known=True), or that no new place can be
        given (known=False: it is taken or no name, or there are too many places), before a position
        is typed in vain. Else return None.
        """
        document = self._profile.read()
        if known:
            document.place(name)
        else:
            document.check_new(name)

    def named_at(self, spot: Spot) -> str | None:
        """Return the name of the oldest place at this very position whose noisy position is
        charged; None where there is none, and for values on axes, which are charged when they are
        asked from.
        """
        return self._named_at(self._profile.read(), spot)

    def add(
        self, name: str, spot: Spot, shown: Cost | None = None, *, take: bool | None = None
    ) -> PlaceView:
        """Name a place and return its PlaceView. A position is checked, charged, drawn, then kept;
        values on axes are kept, and nothing is charged or drawn. shown: the cost that was seen.
        take: where a place is at this very position already, True is one more name of it, for
        nothing; False draws and charges another noisy position; None is refused.

        Raises NotShown where a draw would tell more than `shown`, BudgetExceeded, ParameterError
        where no region is set, and PlaceError for a name that is bad or taken, a position outside
        the region, take=None where a place is there already, and take=True where none with a noisy
        position is, as never on axes: in each of which cases nothing was drawn.
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
        """Put a named place elsewhere from now on, with a new draw and a new charge, as by `add`,
        and return its PlaceView; `list` has it last then. The old position is erased; what servers
        learned stays known, and its cost stays spent. Raises PlaceError for a name that no place
        has, and as `add`.
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
        """Erase the place of this name from the profile for good. Refunds nothing: its signal is
        known to who got it. Raises PlaceError for a name that no place has, ProfileError while
        another program reads the file.
        """
        self._profile.change_for_good(lambda document: document.without_place(name))

    def locate(self, place: str | Spot, *, again: bool = False) -> tuple[NamedPlace, Signal | None]:
        """Return the NamedPlace (handle, spot) that a question is from, and its stored signal, on
        axes None. A spot without a name gets a handle that nobody has used, and None; with `again`
        the place of the last question without a name, which was charged and not answered.

        Raises PlaceError for a name that no place has, for a position outside the region, for one
        whose signal the ledger has lost, and with `again` where that question was not of this very
        spot; LedgerRefused where a newer copy of the ledger may have the signal.
        """
        if not isinstance(place, str):
            check_spot(place, self._settings)
            if not again:
                return NamedPlace(new_handle(self._bits), place), None
            waiting = self._profile.read().unanswered
            if waiting is None or waiting.spot != place:
                raise PlaceError("no charged signal of exactly this spot waits to be sent again")
            named = waiting
        else:
            named = self._profile.read().place(place)
        if isinstance(named.spot, AxisValues):
            return named, None
        signal, refused = self._stored(named), self._signals.account().refused
        if signal is None and refused:
            raise LedgerRefused(f"this ledger has no signal of the place, and {refused}")
        if signal is None:
            raise PlaceError(LOST)
        return named, signal

    def _place_at(self, spot: Spot, take: bool | None) -> NamedPlace:
        if not take:
            return NamedPlace(new_handle(self._bits), spot)
        document = self._profile.read()
        name = self._named_at(document, spot)
        if name is None:
            raise PlaceError(
                "no place with a noisy position is exactly here, so there is none to take"
            )
        return document.place(name)

    def _paid(
        self,
        place: NamedPlace,
        before: ProfileDocument,
        after: ProfileDocument,
        shown: Cost | None,
        take: bool | None,
    ) -> ProfileDocument:
        # Inside the profile's transaction, so that nobody else pays for the same name, or the same
        # position.
        if take:
            return after
        spot, settings = place.spot, self._settings
        check_spot(spot, settings)
        if isinstance(spot, Position):
            if take is None and self._named_at(before, spot) is not None:
                raise PlaceError(_NAMED)
            noise, region = settings.map_noise, settings.plane
            self._signals.remember(
                ANY_SPACE,
                month_of(self._today()),
                SignalCharge.of_place(noise.epsilon),
                lambda: perturbed(spot, noise, region, self._bits),
                handle=place.handle,
                check=None if shown is None else lambda cost: replace(cost, handle="").check(shown),
            )
        return after

    def _named_at(self, document: ProfileDocument, spot: Spot) -> str | None:
        # A place whose noisy position the ledger has lost is charged, and of no use to anybody.
        for name, place in document.places.items():
            if place.spot == spot and self._stored(place) is not None:
                return name
        return None

    def _stored(self, place: NamedPlace) -> Signal | None:
        return self._signals.find(ANY_SPACE, month_of(self._today()), place.handle)

    def _view(self, name: str, place: NamedPlace) -> PlaceView:
        spot, stored, account = place.spot, self._stored(place), self._signals.account()
        if isinstance(spot, AxisValues):
            return PlaceView(name, tuple(spot.values), tuple(spot.values.values()))
        true = spot.latitude, spot.longitude
        if stored is None:
            return PlaceView(name, MAP_AXES, true)
        spent, cap = account.spent_per_km, account.caps.places_lifetime
        cost = Cost.of_place(stored.mechanism, spent, cap)
        noisy = stored.position()
        return PlaceView(name, MAP_AXES, true, (noisy.latitude, noisy.longitude), cost)
