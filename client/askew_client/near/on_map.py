"""A position that asks: its noise, its distances and its cost, without a number of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import asin, cos, radians, sin, sqrt
from typing import Final

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import PlaceError, QuoteVoid
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.metric.area import Area
from askew.spaces.metric.map_noise import MapNoise
from askew.spaces.metric.position import Position
from askew.spaces.metric.region import Region
from askew_client.signals.account import Account
from askew_client.signals.asking import SignalMemory, ask
from askew_client.views.near import MAP_AXES, PlaceCost
from askew_client.views.quote import Price

EARTH_RADIUS: Final = 6371.0088  # kilometers, the mean radius
_EDGE: Final = 1e-6  # degrees, for edges that a server computes in floats
LOST: Final = "this place's signal is not in the ledger; `askew place move` draws a new one"


@dataclass(frozen=True)
class MapAsker:
    """A position that asks a map, and before it knows one is its own errand.

    region: whose plane a fresh signal is drawn in; None where the signal is stored. area: where a
    server says that its items are; neither the noise nor its cost depends on it.
    """

    position: Position = field(repr=False)
    handle: str = field(repr=False)
    noise: MapNoise
    region: Region | None
    k: int
    collection: str = ""
    area: Area | None = None

    axes = MAP_AXES
    unit = "km"
    space_version = ANY_SPACE

    @property
    def charge(self) -> SignalCharge:
        """Epsilon per crow's kilometer of the device's plane: no number of a server is in it."""
        return SignalCharge.of_place(self.noise.epsilon)

    def settle(
        self, slot: str, memory: SignalMemory, bits: RandomBits, shown: PlaceCost | None
    ) -> None:
        """Pay for and draw the noisy position, if that costs what was shown."""

        def check(price: Price) -> None:
            cost = self.cost(price.stored, price.spent, price.lifetime_cap, fresh=price.fresh)
            if shown not in (None, cost):
                raise QuoteVoid("what a position costs, or what is spent, changed")

        ask(self, slot, memory, bits, check=check)

    def price(self, account: Account) -> PlaceCost:
        """What the noisy position will cost."""
        return self.cost(None, account.spent_per_km, account.caps.places_lifetime, fresh=True)

    def on(self, area: Area, collection: str, k: int) -> MapAsker:
        """This position, on a server whose items lie in an area."""
        return replace(self, k=k, collection=collection, area=area)

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh noisy position. Raises PlaceError for a stored one that the ledger has lost."""
        if self.region is None:
            raise PlaceError(LOST)
        return Signal(ANY_SPACE, self.noise, self.noise.perturb(self.position, self.region, bits))

    def check(self, signal: Signal) -> None:
        """Raises OutOfRange for the signal of something else."""
        signal.map_noise  # noqa: B018  # a check

    @property
    def true(self) -> tuple[float, ...]:
        """The position."""
        return self.position.latitude, self.position.longitude

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """The noisy position."""
        noisy = signal.position()
        return noisy.latitude, noisy.longitude

    def distance(self, coordinates: Sequence[float]) -> float:
        """Kilometers along the great circle of a sphere with the Earth's mean radius."""
        here = radians(self.position.latitude), radians(self.position.longitude)
        there = radians(coordinates[0]), radians(coordinates[1])
        north, east = sin((there[0] - here[0]) / 2), sin((there[1] - here[1]) / 2)
        share = north**2 + cos(here[0]) * cos(there[0]) * east**2
        return 2 * EARTH_RADIUS * asin(sqrt(min(1.0, share)))

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Whether an item lies where the server says that its items are, by a microdegree."""
        if self.area is None:
            return False
        latitude, longitude = coordinates
        north = self.area.south - _EDGE <= latitude <= self.area.north + _EDGE
        east = (longitude - self.area.west + _EDGE) % 360
        return north and east <= float(self.area.width) + 2 * _EDGE

    @property
    def mechanism(self) -> MapNoise:
        """The noise of a fresh position."""
        return self.noise

    def cost(
        self, drawn_by: Mechanism | None, spent: Fraction, cap: Fraction, *, fresh: bool
    ) -> PlaceCost:
        """In the account of places."""
        noise = drawn_by if isinstance(drawn_by, MapNoise) else self.noise
        return PlaceCost.of(noise, spent, cap, fresh=fresh)
