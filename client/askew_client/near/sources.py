"""Where a question near a place comes from: a position on a map, or values on a server's axes; and
how far the noise of a position reaches.

A position needs no number of a server: its noise, its distances and its cost are the device's own.
Values on axes are of a server's space, whose numbers this device checks and limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import asin, cos, log, radians, sin, sqrt
from typing import TYPE_CHECKING, Final

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import OutOfRange, ParameterError, PlaceError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Position, Region
from askew_client.profile.document import AxisValues, NamedPlace, Spot
from askew_client.settings.settings import ClientSettings
from askew_client.views.cost import MAP_AXES

if TYPE_CHECKING:
    from askew.protocol.cards import MetricCard  # brings numpy


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
    """Return the kilometers between two points, each a latitude and a longitude in degrees, on a
    sphere with the Earth's mean radius.
    """
    (latitude, longitude), (other, east_of) = map(radians, here), map(radians, there)
    north, east = sin((other - latitude) / 2), sin((east_of - longitude) / 2)
    share = north**2 + cos(latitude) * cos(other) * east**2
    return 2 * EARTH_RADIUS * asin(sqrt(min(1.0, share)))


def perturbed(position: Position, noise: MapNoise, region: Region, bits: RandomBits) -> Signal:
    """Draw and return a signal with a noisy position, neither charged nor stored. region: whose
    plane the position is drawn in. Raises PlaceError for a position outside it, ParameterError for
    one whose plane is not that of the noise.
    """
    return Signal(ANY_SPACE, noise, noise.perturb(position, region, bits))


@dataclass(frozen=True)
class MapSource:
    """A position that asks a map about a collection.

    region: whose plane a fresh signal is drawn in; None where the signal is stored. area: where the
    server says that its items are; neither the noise nor its cost depends on it.
    """

    position: Position = field(repr=False)
    handle: str = field(repr=False)
    mechanism: MapNoise
    region: Region | None
    area: Area
    collection: str
    k: int

    axes = MAP_AXES
    unit = "km"
    space_version = ANY_SPACE

    @property
    def charge(self) -> SignalCharge:
        """Return the charge of a fresh signal, epsilon per straight-line kilometer of the device's
        plane as its `epsilon_per_km`: no number of a server is in it.
        """
        return SignalCharge.of_place(self.mechanism.epsilon)

    def perturb(self, bits: RandomBits) -> Signal:
        """Draw and return a signal with a noisy position, neither charged nor stored. Raises
        PlaceError for a position outside `region`, or where `region` is None: the ledger has stored
        the signal then, or has lost it.
        """
        if self.region is None:
            raise PlaceError(LOST)
        return perturbed(self.position, self.mechanism, self.region, bits)

    def check(self, signal: Signal) -> None:
        """Raise OutOfRange for a signal that is no position on a map; else return None."""
        signal.map_noise  # noqa: B018  # a check

    @property
    def true(self) -> tuple[float, ...]:
        """Return the true position: latitude and longitude in degrees."""
        return self.position.latitude, self.position.longitude

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """Return the noisy position of this signal: latitude and longitude in degrees."""
        noisy = signal.position()
        return noisy.latitude, noisy.longitude

    def distance(self, coordinates: Sequence[float]) -> float:
        """Return the kilometers along the ground from the true position to these coordinates."""
        return great_circle(self.true, coordinates)

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Return True if coordinates lie in `area`, where the server says that its items are, or at
        most a microdegree outside.
        """
        latitude, longitude = coordinates
        north = self.area.south - _EDGE <= latitude <= self.area.north + _EDGE
        east = (longitude - self.area.west + _EDGE) % 360
        return north and east <= float(self.area.width) + 2 * _EDGE


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
        """Return the true value on each axis, kept within its ends, as floats."""
        return tuple(map(float, self.point))

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes, in the server's order."""
        return tuple(axis.name for axis in self.space.axes)

    @property
    def space_version(self) -> str:
        """Return a digest of the axes, 32 hexadecimal digits: other axes are another space."""
        return self.space.version

    @property
    def charge(self) -> SignalCharge:
        """Return the charge of a fresh signal, between any two values: epsilon * diameter of the
        axes, a Fraction, as its `epsilon_per_rating`. Raises OutOfRange for a lattice that does
        not fit them.
        """
        return self.space.charge(self.mechanism)

    def perturb(self, bits: RandomBits) -> Signal:
        """Draw and return a signal with a noisy point on the axes, neither charged nor stored.
        Raises OutOfRange for a lattice whose steps do not fit them.
        """
        drawn = self.space.perturb(self.point, self.mechanism, bits)
        return Signal(self.space_version, self.mechanism, drawn)

    def check(self, signal: Signal) -> None:
        """Raise DimensionMismatch unless the signal has a number for each axis, OutOfRange for a
        map's signal or a lattice that does not fit them (both are WireErrors); else return None.
        """
        signal.check(self.space.dimension)
        self.space.check_lattice(signal.lattice)

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """Return the noisy value on each axis, in the axis' own unit, perhaps beyond its ends."""
        steps = zip(self.space.axes, signal.point().tolist(), strict=True)
        return tuple([axis.low + axis.scale * step for axis, step in steps])

    def distance(self, coordinates: Sequence[float]) -> float:
        """Return the distance from the true point to these coordinates: |difference| / scale, added
        over the axes.
        """
        pairs = zip(self.space.axes, self.true, coordinates, strict=True)
        return sum(abs(here - there) / axis.scale for axis, here, there in pairs)

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Return True if every coordinate lies between the ends of its axis, the ends included."""
        pairs = zip(self.space.axes, coordinates, strict=True)
        return all(axis.low <= value <= axis.high for axis, value in pairs)


NearSource = MapSource | AxisSource


def results_of(card: MetricCard, collection: str, near_k: int, *, held: bool = False) -> int:
    """Return how many results to ask for: near_k, the person's own number, or for 0 the one of 5,
    10, 20, 40, 80, 160 whose reply is nearest to 4,000 bytes, by ratio, or the largest of them that
    the server answers, if that is less (1 where it answers fewer than 5). held: the rows are, so a
    reply brings live values alone. Raises NotFound for a collection that there is not,
    ParameterError for near_k beyond what the server answers.
    """
    most = card.largest_slate(collection, held=held)
    if near_k > most:
        limit = f"at most what this server answers, {most}"
        raise ParameterError("k", near_k, limit)
    asked = card.asked(collection)
    size = max(each.value_bytes if held else each.item_bytes for each in asked)
    fit = min(SIZES, key=lambda k: abs(log(k * size / REPLY_BYTES)))
    return near_k or max([k for k in SIZES if k <= min(fit, most)], default=FEWEST)


def check_spot(spot: Spot, settings: ClientSettings) -> None:
    """Raise PlaceError, before any call, for a position outside the region, and ParameterError
    where a position has no region set or the spot has another type; else return None.
    """
    if isinstance(spot, Position):
        settings.plane.kilometers(spot)
    elif not isinstance(spot, AxisValues):
        raise ParameterError("place", type(spot).__name__, "a name, a Position or AxisValues")


def source_at(  # noqa: PLR0913  # a place, a server, and what is public of a question
    card: MetricCard,
    collection: str,
    place: NamedPlace,
    settings: ClientSettings,
    *,
    stored: MapNoise | None = None,
    held: bool = False,
) -> NearSource:
    """Return the source of a question from this place at this server: a MapSource on a map, an
    AxisSource on axes, with the k of `results_of`. stored: the noise of a place's position, which
    is never drawn again: `region` is None then. held: the rows are.

    Which axes a value names is public, as the name of a place is; its numbers are not, so one
    beyond an axis counts as its nearest end. A refusal by limits that a server chooses would let it
    find the value by halves. Raises PlaceError for a place of the other kind or without a value on
    an axis, ParameterError for axes beyond this device's limits, a k beyond the server's or a
    missing region, NotFound for a collection that it does not have.
    """
    k, spot, space = (
        results_of(card, collection, settings.near_k, held=held),
        place.spot,
        card.space,
    )
    if isinstance(space, MapSpace):
        if not isinstance(spot, Position):
            raise PlaceError("this server has a map, and the place is a value on axes")
        noise, region = (stored, None) if stored else (settings.map_noise, settings.plane)
        return MapSource(spot, place.handle, noise, region, space.area, collection, k)
    if not isinstance(spot, AxisValues):
        raise PlaceError("this server has axes, and the place is a position on a map")
    missing = [axis.name for axis in space.axes if axis.name not in spot.values]
    if missing:
        raise PlaceError(f"the place has no value on this server's axis {missing[0]}")
    diameter, most = float(space.diameter), settings.max_axes_diameter
    if diameter > most:
        limit = f"at most this device's limit, {most:g}, in the server's units of distance"
        raise ParameterError("the diameter of the axes", diameter, limit)
    point = tuple([axis.clamped(spot.values[axis.name]) for axis in space.axes])
    lattice = LatticeLaplace.for_epsilon(settings.epsilon_per_axis_unit)
    try:
        space.check_lattice(lattice)
    except OutOfRange as error:
        raise ParameterError(
            "epsilon_per_axis_unit", settings.epsilon_per_axis_unit, f"one for which {error}"
        ) from None
    return AxisSource(space, lattice, point, place.handle, k, collection)


# Of the hexagonal law at epsilon 1 (see below): the mean distance, and what 9 in 10 are within.
_MEAN: Final = 2.1065406
_MOST: Final = 4.1003712


def landing(epsilon: float) -> tuple[float, float]:
    """Return how many kilometers from the true place a fresh signal lands on average, and within
    how many it lands 9 times in 10: 2.1065 / epsilon and 4.1004 / epsilon. epsilon: per
    straight-line kilometer.

    With the gauge g of `askew_client.views.place_map` and rate = epsilon / 1.1545, the noise has a
    density in proportion to exp(-rate g). In the direction u its distance r has the Gamma law of
    shape 2 and rate a(u) = rate g(u), and the direction has the density 1 / a(u)^2. So the mean is
    that of 2 / a(u), and Pr[r > x] that of (1 + a(u) x) exp(-a(u) x), over directions.
    """
    return _MEAN / epsilon, _MOST / epsilon
