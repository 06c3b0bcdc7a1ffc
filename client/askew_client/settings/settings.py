"""The device's settings. Static: none depends on the profile, and none comes from a server.

The table is known before anything heavy is loaded. So a command refuses a wrong flag before it
reads, asks or charges, and the app before it draws. What reads a setting that most people leave
alone is loaded where there is one.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, get_args

from askew.dp.privacy import DEVICE_DIAMETER, DEVICE_EPSILON
from askew.errors import ParameterError
from askew.protocol.modes import DEVICE_BYTES
from askew.settings import Exact, Number, OneOf, Setting, Text, ValueKind, Whole

if TYPE_CHECKING:
    from askew.spaces.map import MapNoise, Region

Level = Literal["district", "town", "county"]
ModeName = Literal["auto", "held", "ask"]

# Epsilon per straight-line kilometer, rounded down: odds change at most 4 times within 1, 5 and 20
# km. A public setting, and never derived from where a place is: the public epsilon would tell it.
LEVELS: Final = {
    "district": Fraction(1386, 1000),
    "town": Fraction(277, 1000),
    "county": Fraction(693, 10_000),
}


def _check_region(text: str) -> None:
    from askew_client.settings.regions import region_of

    region_of(text)


def _check_host(text: str) -> None:
    from askew_client.settings.paths import StaticHost

    StaticHost.of(text)


_RATE = Exact(Fraction(1, 1024), Fraction(1024))
_COST = Exact(Fraction(1, 10**6), Fraction(10**12))
_WIDTH = Number(1e-6, 1e12)
_COUNT = Whole(1)
_KINDS: Mapping[str, tuple[ValueKind, str]] = {
    "epsilon_per_rating": (_RATE, "What one signal may tell of one rating."),
    "k": (_COUNT, "Results of a question about tastes."),
    "rating_lifetime_cap": (_COST, "What all signals may ever tell of one rating."),
    "rating_monthly_cap": (_COST, "What the signals of one month may tell of one rating."),
    "max_ratings_apart": (_WIDTH, "How far apart people may be in a space of tastes, in ratings."),
    "interval": (
        Number(0.1, 3600, " seconds"),
        "Seconds from the end of one connection to the start of the next.",
    ),
    "timeout": (Number(0.001, 3600, " seconds"), "Seconds for one call with its retries."),
    "authority": (
        Text("the path of a file", empty=True),
        "Certificates that are trusted in place of the public authorities.",
    ),
    "mode": (
        OneOf(get_args(ModeName)),
        "held ranks what this device holds; ask sends a signal too; auto asks if rows do not fit.",
    ),
    "byte_budget": (_COUNT, "The most bytes that a held catalog may take."),
    "held_from": (
        Text(check=_check_host, empty=True),
        "The https:// address of a static host that has what devices hold.",
    ),
    "region": (
        Text(check=_check_region, empty=True),
        "Where places lie: a country, such as DE, or edges in degrees, S/W/N/E.",
    ),
    "level": (
        OneOf(tuple(LEVELS)),
        "Odds change at most 4 times within 1 km (district), 5 km (town) or 20 km (county).",
    ),
    "near_k": (
        Whole(0),
        "Results of a question near a place; 0 is as many as 4 kB hold, at most 160.",
    ),
    "place_draw_cap": (_COST, "What one noisy position may cost, as epsilon per kilometer."),
    "place_monthly_cap": (_COST, "What the noisy positions of one month may cost."),
    "place_lifetime_cap": (_COST, "What the noisy positions of all places may ever cost."),
    "epsilon_per_axis_unit": (_RATE, "Privacy loss of a value on axes, per unit of distance."),
    "axis_monthly_cap": (
        _COST,
        "What the values on axes of one month may cost, as epsilon of one.",
    ),
    "axis_lifetime_cap": (_COST, "What all values on axes may ever cost, as epsilon of one."),
    "max_axes_diameter": (_WIDTH, "The widest list of axes that is asked, in units of distance."),
}
ASKED: Final = tuple(
    Setting(name, kind, f"ASKEW_{name.upper()}", help=words)
    for name, (kind, words) in _KINDS.items()
)
"""The fields of ClientSettings."""


@dataclass(frozen=True)
class Caps:
    """What fresh signals may cost, in the three accounts of the ledger.

    lifetime, monthly: as epsilon of one rating, in all and in one month; monthly is None where a
    month has no cap of its own. places_...: of all places together, as epsilon per straight-line
    kilometer, in all, in one month and in one draw. axes_...: of all values on axes together, as
    epsilon between any two values.
    """

    lifetime: Fraction
    monthly: Fraction | None = None
    places_lifetime: Fraction = Fraction(21, 5)
    places_monthly: Fraction = Fraction(7, 5)
    places_draw: Fraction = Fraction(7, 5)
    axes_lifetime: Fraction = Fraction(192)
    axes_monthly: Fraction = Fraction(32)


class ExactNumber:
    """A setting that is an exact number, given as a Fraction, an int or text: "1.5" or "1/3"."""

    def __init__(self, default: int | str | Fraction) -> None:
        self._default = Fraction(default)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, settings: object | None, owner: type) -> Fraction:
        if settings is None:
            return self._default
        value: Fraction = vars(settings)[self._name]
        return value

    def __set__(self, settings: object, value: Fraction | int | str) -> None:
        vars(settings)[self._name] = value  # which the settings check when they are complete


@dataclass(frozen=True)
class ClientSettings:
    """How a device asks.

    Exact numbers are Fractions, ints or text such as "1.5" and "1/3", and never floats.
    epsilon_per_rating: what one fresh signal of a taste tells at most of one rating that is added,
    removed or changed, for each person alike; replacing a title is two. The rate of the noise
    follows from it alone. A device refuses a space where one rating could tell more.
    k: results per question.
    rating_lifetime_cap: the sum, over all fresh signals that this device will ever send, of what
    they tell of one rating. The default pays for five years of monthly questions: 60 * 0.8.
    rating_monthly_cap: the same for the fresh signals of one month; by default, two.
    max_ratings_apart: the widest space of tastes that this device enters, in ratings:
    epsilon_per_rating * max_ratings_apart, 16 by default, bounds what one signal tells between any
    two people.
    interval: seconds from the end of one connection to the start of the next, whatever the device
    does in between, so that this time does not tell how much work a profile made.
    timeout: seconds for one call, with all its retries. authority: a file of certificates in PEM,
    which are trusted in place of the public authorities, and then on this machine too; "" trusts
    those.
    mode: "held" ranks what this device holds, all or the first items, and sends nothing; "ask"
    sends a signal and ranks what comes beside that. "auto" holds titles, and places where all rows
    fit and none of their values is live; else it asks. byte_budget: what a catalog may take that is
    held whole. held_from: the address of a static host that has what devices hold
    region: where places lie, a country or edges in degrees (`settings.regions`); level: how far
    apart two places may be for the odds between them to change at most 4 times, 1 km in a district,
    5 km in a town, 20 km in a county. Both are of positions that are yet to be drawn.
    near_k: results per question near a place; 0 for as many as a reply of about 4 kB holds.
    place_draw_cap, place_monthly_cap, place_lifetime_cap: what one position, those of a month and
    all that this device will ever draw may cost, as epsilon per straight-line kilometer.
    epsilon_per_axis_unit: for one fresh signal of a value on axes, per unit of distance. It costs
    that times the diameter, between any two values. axis_monthly_cap, axis_lifetime_cap: what the
    values of a month, and all that this device will ever draw, may cost. By default a month pays
    for two draws on the widest list of axes, and a lifetime for twelve.
    max_axes_diameter: the widest list of axes that this device enters, in units of distance: a
    server that says a unit is a second instead of an hour makes a day 86,400 wide.
    Raises ParameterError for a setting out of range.
    """

    epsilon_per_rating: ExactNumber = ExactNumber(DEVICE_EPSILON)
    k: int = 20
    rating_lifetime_cap: ExactNumber = ExactNumber(48)
    rating_monthly_cap: ExactNumber = ExactNumber("1.6")
    max_ratings_apart: float = float(DEVICE_DIAMETER)
    interval: float = 0.5
    timeout: float = 8.0
    authority: str = ""
    mode: ModeName = "auto"
    byte_budget: int = DEVICE_BYTES
    held_from: str = ""
    region: str = ""
    level: Level = "town"
    near_k: int = 0
    place_draw_cap: ExactNumber = ExactNumber("1.4")
    place_monthly_cap: ExactNumber = ExactNumber("1.4")
    place_lifetime_cap: ExactNumber = ExactNumber("4.2")
    epsilon_per_axis_unit: ExactNumber = ExactNumber("0.5")
    axis_monthly_cap: ExactNumber = ExactNumber(32)
    axis_lifetime_cap: ExactNumber = ExactNumber(192)
    max_axes_diameter: float = 32.0

    def __post_init__(self) -> None:
        for setting in ASKED:
            vars(self)[setting.name] = setting.of(getattr(self, setting.name))

    @property
    def caps(self) -> Caps:
        """What fresh signals may cost."""
        return Caps(
            self.rating_lifetime_cap,
            self.rating_monthly_cap,
            self.place_lifetime_cap,
            self.place_monthly_cap,
            self.place_draw_cap,
            self.axis_lifetime_cap,
            self.axis_monthly_cap,
        )

    @property
    def plane(self) -> Region:
        """The region of places. Raises ParameterError where none was set."""
        if not self.region:
            limit = "set first: a country such as DE, or S/W/N/E"
            raise ParameterError("region", "", limit)
        from askew_client.settings.regions import region_of

        return region_of(self.region)

    @property
    def map_noise(self) -> MapNoise:
        """The noise of a place that is drawn now. Raises ParameterError without a region."""
        from askew.spaces.map import MapNoise

        return MapNoise.in_region(LEVELS[self.level], self.plane)


def month_of(day: datetime.date) -> str:
    """The calendar month of a day, "2026-11". One signal serves a whole month."""
    return f"{day:%Y-%m}"
