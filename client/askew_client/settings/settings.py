"""The device's settings. Static: none depends on the profile, and none comes from a server."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from askew.dp.privacy import DEVICE_REACH, exact_rational
from askew.errors import ParameterError
from askew.protocol.utility_table import DEVICE_BYTES
from askew_client.settings.ranges import LEVELS, Caps, check_settings, exact_number

if TYPE_CHECKING:
    from askew.protocol.signal import TasteMechanism
    from askew.spaces.map import MapNoise, Region

Level = Literal["district", "town", "county"]
MechanismName = Literal["geo_laplace", "bucket_rr"]
ModeName = Literal["auto", "local", "cached", "query"]


class ExactNumber:
    """A setting that is an exact number, given as a Fraction, an int or text: "1.5" or "1/3"."""

    def __init__(self, default: int | str) -> None:
        self._default = Fraction(default)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, settings: object | None, owner: type) -> Fraction:
        if settings is None:
            return self._default
        value: Fraction = vars(settings)[self._name]
        return value

    def __set__(self, settings: object, value: Fraction | int | str) -> None:
        text = isinstance(value, str)
        exact = exact_number(self._name, value) if text else exact_rational(self._name, value)
        vars(settings)[self._name] = exact


@dataclass(frozen=True)
class ClientSettings:
    """How a device asks.

    Exact numbers are Fractions, ints or text such as "1.5" and "1/3", and never floats.
    mechanism: geo_laplace hides a person among people like them, epsilon being per unit distance;
    bucket_rr hides them among everybody alike, epsilon being between any two people.
    epsilon: for one fresh signal. k: results per question.
    lifetime_cap: the sum, over all fresh signals that this device will ever send, of their epsilon
    between any two people, which is epsilon * diameter for geo_laplace. The default pays for twelve
    months at the other defaults in the widest space that the device enters: 12 * 4 * 4.
    monthly_cap: the same for the fresh signals of one month; by default, two such signals.
    max_diameter: the widest feature space that this device enters. That distance 1 is the median
    distance between two people is only what a server says; epsilon * max_diameter bounds the loss
    of one signal between any two profiles whether that is true or not.
    max_one_rating: the farthest that one rating may move a point in a space that this device
    enters; epsilon * max_one_rating bounds what one signal says of one rating. How far it does
    follows from numbers that a server chooses; training keeps both limits, and made .3 to .52 of
    the ratings tried. Neither limit
    concerns bucket_rr, whose epsilon holds for every pair of people.
    interval: seconds from the end of one connection to the start of the next, whatever the device
    does in between, so that this time does not tell how much work a profile made.
    timeout: seconds for one call, with all its retries. authority: a file of certificates in PEM,
    which are trusted in place of the public authorities, and then on this machine too; "" trusts
    those.
    mode: how this device is served : "auto" is by itself, as its own reckoning and what a
    card proposes come to; else this mode, at these settings. byte_budget: what a catalog may take
    that is held whole. held_from: the address of a static host that has what devices hold
    (`settings.static_host`); "" is the server itself. consent: the person's consents, each to
    one server's proposal in one space that costs more (`settings.consent`).
    region: where places lie, a country or edges in degrees (`settings.regions`); level: how far
    apart two places may be for the odds between them to change at most 4 times, 1 km in a district,
    5 km in a town, 20 km in a county. Both are of positions that are yet to be drawn.
    near_k: results per question near a place.
    place_draw_cap, place_monthly_cap, place_lifetime_cap: what one position, those of a month and
    all that this device will ever draw may cost, as epsilon per crow's kilometer.
    max_axes_diameter: the widest list of axes that this device enters, in units of distance: a
    server that says a unit is a second instead of an hour makes a day 86,400 wide.
    Raises ParameterError for a setting out of range.
    """

    mechanism: MechanismName = "geo_laplace"
    epsilon: ExactNumber = ExactNumber(4)
    k: int = 8
    lifetime_cap: ExactNumber = ExactNumber(192)
    monthly_cap: ExactNumber = ExactNumber(32)
    max_diameter: float = float(DEVICE_REACH.diameter)
    max_one_rating: float = float(DEVICE_REACH.one_rating)
    interval: float = 0.5
    timeout: float = 8.0
    authority: str = ""
    mode: ModeName = "auto"
    byte_budget: int = DEVICE_BYTES
    held_from: str = ""
    consent: str = ""
    region: str = ""
    level: Level = "town"
    near_k: int = 20
    place_draw_cap: ExactNumber = ExactNumber("1.4")
    place_monthly_cap: ExactNumber = ExactNumber("1.4")
    place_lifetime_cap: ExactNumber = ExactNumber("4.2")
    max_axes_diameter: float = 32.0

    def __post_init__(self) -> None:
        check_settings(vars(self))

    @property
    def caps(self) -> Caps:
        """What fresh signals may cost."""
        return Caps(
            self.lifetime_cap,
            self.monthly_cap,
            self.place_lifetime_cap,
            self.place_monthly_cap,
            self.place_draw_cap,
        )

    @property
    def plane(self) -> Region:
        """The region of places. Raises ParameterError where none was set."""
        if not self.region:
            limit = (
                "set first (--region, ASKEW_REGION or the file): a country such as DE, or S/W/N/E"
            )
            raise ParameterError("region", "", limit)
        from askew_client.settings.regions import region_of

        return region_of(self.region)

    @property
    def map_noise(self) -> MapNoise:
        """The noise of a place that is drawn now. Raises ParameterError without a region."""
        from askew.spaces.map import MapNoise

        return MapNoise.in_region(LEVELS[self.level], self.plane)

    def mechanism_in(self, n_buckets: int) -> TasteMechanism:
        """The mechanism, in a space of so many buckets. Raises ParameterError where it has none."""
        from askew.noise.lattice import LatticeLaplace
        from askew.noise.randomized_response import RandomizedResponse

        if self.mechanism == "geo_laplace":
            return LatticeLaplace.for_epsilon(self.epsilon)
        if n_buckets == 0:
            limit = "geo_laplace: this server's space has no buckets"
            raise ParameterError("mechanism", self.mechanism, limit)
        return RandomizedResponse.for_epsilon(n_buckets, self.epsilon)


def slot_of(day: datetime.date) -> str:
    """The slot of a day: its calendar month, "2026-11". One signal serves a whole slot."""
    return f"{day:%Y-%m}"
