"""Where a question near a place comes from: a position on a map, or values on a server's axes.

A position needs no number of a server: its noise, its distances and its cost are the device's own.
Values on axes are of a server's space, whose numbers this device checks and limits. A place is a
pending request until it is bound to a server; bound, it is the source of a signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import asin, cos, log, radians, sin, sqrt
from typing import TYPE_CHECKING, Final

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import LedgerRefused, OutOfRange, ParameterError, PlaceError, QuoteVoid
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Position, Region
from askew_client.profile.document import AxisValues, NamedPlace, Spot
from askew_client.settings.settings import ClientSettings
from askew_client.signals.account import Account
from askew_client.signals.asking import SignalMemory
from askew_client.views.answers import PlaceView
from askew_client.views.quote import MAP_AXES, Cost, Price

if TYPE_CHECKING:
    from askew.protocol.metric_card import MetricCard  # brings numpy

EARTH_RADIUS: Final = 6371.0088  # kilometers, the mean radius
_EDGE: Final = 1e-6  # degrees, for edges that a server computes in floats
SIZES: Final = (5, 10, 20, 40, 80, 160)
"""What k a device takes by itself: few, since a server that says how large its items are could mark
a device by its k.
"""
FEWEST: Final = 1  # of a server that answers fewer than the least of these
REPLY_BYTES: Final = 4_000  # about what a reply takes then
LOST: Final = "this place's signal is not in the ledger: moving the place draws a new one"


def great_circle(here: Sequence[float], there: Sequence[float]) -> float:
    """Kilometers between two latitudes and longitudes on a sphere with the Earth's mean radius."""
    (latitude, longitude), (other, east_of) = map(radians, here), map(radians, there)
    north, east = sin((other - latitude) / 2), sin((east_of - longitude) / 2)
    share = north**2 + cos(latitude) * cos(other) * east**2
    return 2 * EARTH_RADIUS * asin(sqrt(min(1.0, share)))


@dataclass(frozen=True)
class PendingPosition:
    """A position to ask from, before a server is known.

    region: whose plane a fresh signal is drawn in; None where the signal is stored.
    """

    position: Position = field(repr=False)
    handle: str = field(repr=False)
    noise: MapNoise
    region: Region | None

    @property
    def charge(self) -> SignalCharge:
        """Epsilon per straight-line kilometer of the device's plane: no number of a server is in
        it.
        """
        return SignalCharge.of_place(self.noise.epsilon)

    def price(self, account: Account) -> Cost:
        """What the noisy position will cost."""
        spent, cap = account.spent_per_km, account.caps.places_lifetime
        return Cost.of_place(self.noise, spent, cap, fresh=True)

    def settle(
        self, month: str, memory: SignalMemory, bits: RandomBits, shown: Cost | None
    ) -> None:
        """Pay for and draw the noisy position. Raises QuoteVoid where it costs something else than
        was shown.
        """

        def check(price: Price) -> None:
            drawn_by = self.noise if price.stored is None else price.stored
            cost = Cost.of_place(drawn_by, price.spent, price.lifetime_cap, fresh=price.fresh)
            if shown not in (None, cost):
                raise QuoteVoid("what a position costs, or what is spent, changed")

        memory.remember(
            ANY_SPACE,
            month,
            self.charge,
            lambda: self.perturb(bits),
            handle=self.handle,
            check=check,
        )

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh noisy position. Raises PlaceError for a stored one that the ledger has lost."""
        if self.region is None:
            raise PlaceError(LOST)
        return Signal(ANY_SPACE, self.noise, self.noise.perturb(self.position, self.region, bits))

    def bind(self, area: Area, collection: str, k: int) -> MapSource:
        """This position, on a server whose items lie in an area."""
        return MapSource(self, area, collection, k)


@dataclass(frozen=True)
class MapSource:
    """A position that asks a map about a collection.

    area: where the server says that its items are; neither the noise nor its cost depends on it.
    """

    place: PendingPosition
    area: Area
    collection: str
    k: int

    axes = MAP_AXES
    unit = "km"
    space_version = ANY_SPACE

    @property
    def handle(self) -> str:
        """Of the place."""
        return self.place.handle

    @property
    def charge(self) -> SignalCharge:
        """In the account of places."""
        return self.place.charge

    @property
    def mechanism(self) -> MapNoise:
        """The noise of a fresh position."""
        return self.place.noise

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh noisy position."""
        return self.place.perturb(bits)

    def check(self, signal: Signal) -> None:
        """Raises OutOfRange for the signal of something else."""
        signal.map_noise  # noqa: B018  # a check

    @property
    def true(self) -> tuple[float, ...]:
        """The position."""
        return self.place.position.latitude, self.place.position.longitude

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """The noisy position."""
        noisy = signal.position()
        return noisy.latitude, noisy.longitude

    def distance(self, coordinates: Sequence[float]) -> float:
        """Kilometers along the ground."""
        return great_circle(self.true, coordinates)

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Whether an item lies where the server says that its items are, by a microdegree."""
        latitude, longitude = coordinates
        north = self.area.south - _EDGE <= latitude <= self.area.north + _EDGE
        east = (longitude - self.area.west + _EDGE) % 360
        return north and east <= float(self.area.width) + 2 * _EDGE

    def cost(self, drawn_by: Mechanism, spent: Fraction, cap: Fraction, *, fresh: bool) -> Cost:
        """What its signal costs by the law that it was drawn by, beside what was spent."""
        return Cost.of_place(drawn_by, spent, cap, fresh=fresh)


@dataclass(frozen=True)
class PendingValues:
    """Values by the name of their axis, before a server is known."""

    spot: AxisValues = field(repr=False)
    handle: str = field(repr=False)

    def bind(
        self, space: AxisSpace, collection: str, k: int, settings: ClientSettings
    ) -> AxisSource:
        """These values, on a server with axes that they name and that this device enters.

        Which axes a value names is public, as the name of a place is; its numbers are not, so one
        beyond an axis counts as its nearest end. A refusal by limits that a server chooses would
        let it find the value by halves.
        """
        missing = [axis.name for axis in space.axes if axis.name not in self.spot.values]
        if missing:
            raise PlaceError(f"the place has no value on this server's axis {missing[0]}")
        diameter, most = float(space.diameter), settings.max_axes_diameter
        if diameter > most:
            limit = f"at most this device's limit, {most:g}, in the server's units of distance"
            raise ParameterError("the diameter of the axes", diameter, limit)
        point = tuple([axis.clamped(self.spot.values[axis.name]) for axis in space.axes])
        lattice = LatticeLaplace.for_epsilon(settings.epsilon_per_axis_unit)
        try:
            space.check_lattice(lattice)
        except OutOfRange as error:
            raise ParameterError(
                "epsilon_per_axis_unit", settings.epsilon_per_axis_unit, f"one for which {error}"
            ) from None
        return AxisSource(space, lattice, point, self.handle, k, collection)


@dataclass(frozen=True)
class AxisSource:
    """A point on a server's axes, within their ends and exact, that asks about a collection."""

    space: AxisSpace
    mechanism: LatticeLaplace
    point: tuple[Fraction, ...] = field(repr=False)
    handle: str = field(repr=False)
    k: int
    collection: str
    unit = "units of distance"

    @property
    def true(self) -> tuple[float, ...]:
        """The point, to be shown and ranked by."""
        return tuple(map(float, self.point))

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self.space.axes)

    @property
    def space_version(self) -> str:
        """A digest of the axes: other axes are another space."""
        return self.space.version

    @property
    def charge(self) -> SignalCharge:
        """Between any two values: epsilon * diameter, by the numbers of the axes."""
        return self.space.charge(self.mechanism)

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh noisy point."""
        drawn = self.space.perturb(self.point, self.mechanism, bits)
        return Signal(self.space_version, self.mechanism, drawn)

    def check(self, signal: Signal) -> None:
        """Raises a WireError unless the signal fits the axes."""
        signal.check(self.space.dimension)
        self.space.check_lattice(signal.lattice)

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """The noisy values, which may lie beyond the ends of a line."""
        steps = zip(self.space.axes, signal.point().tolist(), strict=True)
        return tuple([axis.low + axis.scale * step for axis, step in steps])

    def distance(self, coordinates: Sequence[float]) -> float:
        """The axes' distances added."""
        pairs = zip(self.space.axes, self.true, coordinates, strict=True)
        return sum(abs(here - there) / axis.scale for axis, here, there in pairs)

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Whether an item lies on the axes."""
        pairs = zip(self.space.axes, coordinates, strict=True)
        return all(axis.low <= value <= axis.high for axis, value in pairs)

    def cost(self, drawn_by: Mechanism, spent: Fraction, cap: Fraction, *, fresh: bool) -> Cost:
        """In the account of values on axes."""
        lattice = drawn_by if isinstance(drawn_by, LatticeLaplace) else self.mechanism
        return Cost(self.space.charge(lattice), spent, cap, fresh, per_unit=lattice.epsilon)


PendingRequest = PendingPosition | PendingValues
NearSource = MapSource | AxisSource


def results_of(card: MetricCard, collection: str, near_k: int, *, held: bool = False) -> int:
    """How many results to ask for. near_k: the person's own number, or 0 for as many as a reply of
    about REPLY_BYTES holds. held: the rows are, so a reply brings live values alone. Public: of the
    card, the settings and what is held.

    Raises NotFound for a collection that there is not, and ParameterError for a number that the
    server does not answer.
    """
    most = card.largest_slate(collection, held=held)
    if near_k > most:
        limit = f"at most what this server answers, {most}"
        raise ParameterError("k", near_k, limit)
    asked = card.asked(collection)
    size = max(each.value_bytes if held else each.item_bytes for each in asked)
    fit = min(SIZES, key=lambda k: abs(log(k * size / REPLY_BYTES)))
    return near_k or max([k for k in SIZES if k <= min(fit, most)], default=FEWEST)


def fresh_request(spot: Spot, handle: str, settings: ClientSettings) -> PendingRequest:
    """A spot that has no signal yet.

    Raises PlaceError, before any call, for a position outside the region, and ParameterError where
    no region is set or the spot has another type.
    """
    if isinstance(spot, AxisValues):
        return PendingValues(spot, handle)
    if not isinstance(spot, Position):
        raise ParameterError("place", type(spot).__name__, "a name, a Position or AxisValues")
    settings.plane.kilometers(spot)
    return PendingPosition(spot, handle, settings.map_noise, settings.plane)


def stored_request(place: NamedPlace, stored: Signal | None, refused: str | None) -> PendingRequest:
    """A named place. stored: its noisy position, which is never drawn again.

    Raises PlaceError for a position whose signal the ledger has lost, and LedgerRefused where a
    newer copy may have it (refused).
    """
    if isinstance(place.spot, AxisValues):
        return PendingValues(place.spot, place.handle)
    if stored is None and refused:
        raise LedgerRefused(f"this ledger has no signal of the place, and {refused}")
    if stored is None:
        raise PlaceError(LOST)
    return PendingPosition(place.spot, place.handle, stored.map_noise, None)


def bound(
    card: MetricCard,
    collection: str,
    request: PendingRequest,
    settings: ClientSettings,
    *,
    held: bool = False,
) -> NearSource:
    """A place that asks this server. Raises PlaceError for a place of the other kind, and
    ParameterError for axes beyond this device's limits or a k beyond the server's, NotFound for a
    collection that it does not have.
    """
    k = results_of(card, collection, settings.near_k, held=held)
    match request, card.space:
        case PendingPosition(), MapSpace(area):
            return request.bind(area, collection, k)
        case PendingValues(), AxisSpace() as space:
            return request.bind(space, collection, k, settings)
        case _, MapSpace():
            raise PlaceError("this server has a map, and the place is a value on axes")
        case _:
            raise PlaceError("this server has axes, and the place is a position on a map")


def view_of(name: str, place: NamedPlace, stored: Signal | None, account: Account) -> PlaceView:
    """A named place for the person's own eyes."""
    spot = place.spot
    if isinstance(spot, AxisValues):
        return PlaceView(name, tuple(spot.values), tuple(spot.values.values()))
    true = spot.latitude, spot.longitude
    if stored is None:
        return PlaceView(name, MAP_AXES, true)
    spent, cap = account.spent_per_km, account.caps.places_lifetime
    cost = Cost.of_place(stored.mechanism, spent, cap, fresh=False)
    noisy = stored.position()
    return PlaceView(name, MAP_AXES, true, (noisy.latitude, noisy.longitude), cost)
