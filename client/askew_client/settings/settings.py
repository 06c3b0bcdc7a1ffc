"""The device's settings. Static: none depends on the profile, and none comes from a server."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from askew.dp.privacy import DEVICE_DIAMETER, DEVICE_EPSILON
from askew.errors import ParameterError
from askew.limits import DEVICE_BYTES
from askew.settings import check, exact, host_of, is_loopback, number, one_of, setting, text, whole

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


def absolute(path: object) -> Path:
    """Return text as an absolute path, with ~ replaced by the home. Raises ValueError for a path
    that a working folder would change.

    A Path is returned as it is: that of a flag, which is typed for one run.
    """
    if isinstance(path, Path):
        return path
    if not isinstance(path, str) or "\0" in path:
        raise ValueError
    try:
        place = Path(path).expanduser()
    except RuntimeError:  # nobody of that name
        raise ValueError from None
    if not place.is_absolute():
        raise ValueError
    return place


_BASE = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(?::([0-9]{1,5}))?"
    r"((?:/[A-Za-z0-9._~-]+)*)/?"
)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class StaticHost:
    """A directory on a host. path: "" or what follows it, without the last slash."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, base: str) -> StaticHost:
        """Return the directory that an address names: https://host[:port][/path], or http:// on
        this machine alone. StaticHost("https", "example.org", 443, "/askew") of
        "https://example.org/askew/". Raises ParameterError for more, as a user's name or a query.
        """
        match = _BASE.fullmatch(base) if isinstance(base, str) else None
        scheme, host, port, path = match.groups() if match else ("", "", "", "")
        number = int(port) if port else _PORTS.get(scheme, 0)
        is_private = scheme == "https" or is_loopback(host)
        if not (match and is_private and 0 < number < 65536):
            limit = "https://host/path (http:// on this machine alone), with nothing else in it"
            raise ParameterError("held_from", base, limit)
        return cls(scheme, host.strip("[]"), number, path)

    @classmethod
    def of_server(cls, server: str, *, tls: bool) -> StaticHost:
        """Return a server's own files, path "/catalog" on the port after its own, or on 443 itself.
        https, but http to this machine unless `tls`. Raises ParameterError for a server that is not
        host:port below 65535.
        """
        host, port = host_of(server), int(server.rpartition(":")[2])
        if port == 65535:
            raise ParameterError("server", server, "on a port below 65535: files have the next one")
        scheme = "https" if tls or not is_loopback(host) else "http"
        return cls(scheme, host.strip("[]"), port if port == 443 else port + 1, "/catalog")


def _check_region(text: str) -> None:
    from askew_client.settings.regions import region_of  # 18 ms, and most have none

    region_of(text)


_RATE = exact(Fraction(1, 1024), Fraction(1024))
_COST = exact(Fraction(1, 10**6), Fraction(10**12))
_WIDTH = number(1e-6, 1e12)


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
    """How type checkers see an exact setting: a Fraction; an int or text such as "1/3" makes it."""

    if TYPE_CHECKING:

        def __get__(self, settings: object, owner: type) -> Fraction: ...
        def __set__(self, settings: object, value: Fraction | int | str) -> None: ...


@dataclass(frozen=True)
class ClientSettings:
    """How a device asks. Exact numbers are Fractions, ints or text such as "1.5", never floats.

    epsilon_per_rating: of a rating that is added, removed or changed; replacing a title is two. The
    rate of the noise follows from it alone. By default a lifetime pays for five years of monthly
    questions (60 * 0.8), a month for two, and for two draws on the widest list of axes.
    max_ratings_apart: epsilon_per_rating * max_ratings_apart, 16 by default, bounds what one signal
    tells between any two people. interval: seconds between two connections, whatever the device
    does, so that they do not tell how much work a profile made. region, level: of positions that
    are yet to be drawn. max_axes_diameter: a server that says a unit is a second instead of an hour
    makes a day 86,400 wide. Raises ParameterError for a setting out of range.
    """

    epsilon_per_rating: ExactNumber = setting(
        _RATE, DEVICE_EPSILON, "What one signal may tell of one rating.", "--epsilon-per-rating"
    )
    k: int = setting(whole(1), 20, "Results of a question about tastes.", "-k")
    rating_lifetime_cap: ExactNumber = setting(
        _COST, Fraction(48), "What all signals may ever tell of one rating."
    )
    rating_monthly_cap: ExactNumber = setting(
        _COST, Fraction(8, 5), "What the signals of one month may tell of one rating."
    )
    max_ratings_apart: float = setting(_WIDTH, float(DEVICE_DIAMETER))
    interval: float = setting(number(0.1, 3600, " seconds"), 0.5)
    timeout: float = setting(
        number(0.001, 3600, " seconds"), 8.0, "Seconds for one call with its retries."
    )
    authority: str = setting(
        text("an absolute path, or one that begins with ~", absolute, empty=True),
        "",
        "A file of certificates that are trusted in place of the public authorities, here too.",
    )
    mode: ModeName = setting(
        one_of(*get_args(ModeName)),
        "auto",
        "held ranks what this device holds; ask sends a signal too; auto asks if rows do not fit.",
        "--mode",
    )
    byte_budget: int = setting(
        whole(1), DEVICE_BYTES, "The most bytes that a held catalog may take."
    )
    held_from: str = setting(
        text(check=StaticHost.of, empty=True),
        "",
        "The https:// address of a static host that has what devices hold.",
    )
    region: str = setting(
        text(check=_check_region, empty=True),
        "",
        "Where places lie: a country, such as DE, or edges in degrees, S/W/N/E.",
        "--region",
    )
    level: Level = setting(
        one_of(*LEVELS),
        "town",
        "Odds change at most 4 times within 1 km (district), 5 km (town) or 20 km (county).",
        "--level",
    )
    near_k: int = setting(
        whole(0), 0, "Results of a question near a place; 0: what 4 kB hold, at most 160.", "-k"
    )
    place_monthly_cap: ExactNumber = setting(
        _COST, Fraction(7, 5), "What the noisy positions of one month may cost, a kilometer."
    )
    place_lifetime_cap: ExactNumber = setting(
        _COST, Fraction(21, 5), "What the noisy positions of all places may ever cost."
    )
    epsilon_per_axis_unit: ExactNumber = setting(
        _RATE, Fraction(1, 2), "Privacy loss of a value on axes, per unit of distance."
    )
    axis_monthly_cap: ExactNumber = setting(
        _COST, Fraction(32), "What the values on axes of one month may cost, as epsilon of one."
    )
    axis_lifetime_cap: ExactNumber = setting(
        _COST, Fraction(192), "What all values on axes may ever cost, as epsilon of one."
    )
    max_axes_diameter: float = setting(_WIDTH, 32.0)

    def __post_init__(self) -> None:
        check(self)

    @property
    def caps(self) -> Caps:
        """Return the Caps of the three accounts: lifetime, monthly, places_lifetime,
        places_monthly, axes_lifetime and axes_monthly by these settings, and places_draw the
        default, 7/5.
        """
        return Caps(
            self.rating_lifetime_cap,
            self.rating_monthly_cap,
            self.place_lifetime_cap,
            self.place_monthly_cap,
            axes_lifetime=self.axis_lifetime_cap,
            axes_monthly=self.axis_monthly_cap,
        )

    @property
    def plane(self) -> Region:
        """Return the Region in which places lie, by the setting `region`, a country or edges in
        degrees. Raises ParameterError where none was set.
        """
        if not self.region:
            limit = "set first: a country such as DE, or S/W/N/E"
            raise ParameterError("region", "", limit)
        from askew_client.settings.regions import region_of

        return region_of(self.region)

    @property
    def map_noise(self) -> MapNoise:
        """Return the noise by which a place is drawn now, of this level in this region. Raises
        ParameterError without a region.
        """
        from askew.spaces.map import MapNoise

        return MapNoise.in_region(LEVELS[self.level], self.plane)


def month_of(day: datetime.date) -> str:
    """Return the calendar month of a day, "2026-11". One signal serves a whole month."""
    return f"{day:%Y-%m}"
