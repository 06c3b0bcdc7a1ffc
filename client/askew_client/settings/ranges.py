"""The ranges of settings, known before anything heavy is loaded.

So a command refuses a wrong flag before it reads, asks or charges, and the app before it draws.
What reads a setting that most people leave alone is loaded where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from askew.dp.privacy import exact_rational
from askew.errors import ParameterError

# What the mechanisms themselves accept, which is not asked here because it takes numpy.
EPSILONS: Final = {
    "geo_laplace": (Fraction(1, 1024), Fraction(1024)),
    "bucket_rr": (Fraction(1, 1024), Fraction(20)),
}
# Epsilon per crow's kilometer, rounded down: odds change at most 4 times within 1, 5 and 20 km. A
# public setting, and never derived from where a place is: the public epsilon would tell it.
LEVELS: Final = {
    "district": Fraction(1386, 1000),
    "town": Fraction(277, 1000),
    "county": Fraction(693, 10_000),
}
_PLACE_CAPS: Final = ("place_draw_cap", "place_monthly_cap", "place_lifetime_cap")
_EXACT: Final = ("epsilon", "lifetime_cap", "monthly_cap", *_PLACE_CAPS)
_POSITIVE: Final = (
    "lifetime_cap",
    "monthly_cap",
    *_PLACE_CAPS,
    "max_axes_diameter",
    "max_diameter",
    "max_one_rating",
    "interval",
    "timeout",
)
_MOST: Final = 1e24  # what a flag has digits for, and far from what overflows in a float
MODES: Final = ("auto", "local", "cached", "query")
# Far longer ones overflow the clocks that they are told to.
_SECONDS: Final = {"timeout": (0.0, 3600.0, " seconds"), "interval": (0.1, 3600.0, " seconds")}


@dataclass(frozen=True)
class Caps:
    """What fresh signals may cost, in the two accounts of the ledger.

    lifetime, monthly: as epsilon between any two people, in all and in one month; monthly is None
    where a month has no cap of its own. places_...: of all places together, as epsilon per crow's
    kilometer, in all, in one month and in one draw.
    """

    lifetime: Fraction
    monthly: Fraction | None = None
    places_lifetime: Fraction = Fraction(21, 5)
    places_monthly: Fraction = Fraction(7, 5)
    places_draw: Fraction = Fraction(7, 5)


def exact_number(name: str, value: object) -> Fraction:
    """An exact number such as 2, 0.5 or 1/3. Raises ParameterError."""
    # Short digits only: Fraction would spend minutes on "1e99999999". A ratio has room for what
    # 12 digits before and after a point become when they are written down again.
    if re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,12})?|-?[0-9]{1,24}/[0-9]{1,24}", str(value)):
        try:
            return Fraction(str(value))
        except ZeroDivisionError:
            pass
    raise ParameterError(name, value, "a number such as 2, 0.5 or 1/3")


def check_settings(chosen: Mapping[str, Any]) -> None:
    """Raises ParameterError for a setting of ClientSettings out of range; absent ones are fine."""
    mechanism = chosen.get("mechanism", "geo_laplace")
    if not isinstance(mechanism, str) or mechanism not in EPSILONS:
        raise ParameterError("mechanism", mechanism, "geo_laplace or bucket_rr")
    for name in _EXACT:
        exact_rational(name, chosen.get(name, 1))
    (low, high), epsilon = EPSILONS[mechanism], chosen.get("epsilon", 1)
    if not low <= epsilon <= high:
        limit = f"between {low} and {high} for {mechanism}"
        raise ParameterError("epsilon", epsilon, limit)
    _check_questions(chosen)
    _check_modes(chosen)
    if not isinstance(authority := chosen.get("authority", ""), str) or "\0" in authority:
        raise ParameterError("authority", authority, "the path of a file")
    for name in _POSITIVE:
        value = chosen.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise ParameterError(name, value, "a number")
        least, most, unit = _SECONDS.get(name, (0, _MOST, ""))
        if not (least <= value <= most and value > 0):  # written so that NaN is refused too
            limit = (
                f"from {least:g} to {most:g}{unit}"
                if least
                else f"positive and at most {most:g}{unit}"
            )
            raise ParameterError(name, value, limit)


def _check_modes(chosen: Mapping[str, Any]) -> None:
    mode, size = chosen.get("mode", "auto"), chosen.get("byte_budget", 1)
    if not isinstance(mode, str) or mode not in MODES:
        raise ParameterError("mode", mode, "auto, local, cached or query")
    if type(size) is not int or size < 1:
        raise ParameterError("byte_budget", size, "a whole number of at least 1")
    if (consent := chosen.get("consent", "")) != "":
        from askew_client.settings.consent import consents_of

        consents_of(consent)
    if (held_from := chosen.get("held_from", "")) != "":
        from askew_client.settings.static_host import StaticHost

        StaticHost.of(held_from)


def _check_questions(chosen: Mapping[str, Any]) -> None:
    for name in ("k", "near_k"):
        k = chosen.get(name, 1)
        if type(k) is not int or k < 1:
            raise ParameterError(name, k, "a whole number of at least 1")
    level, region = chosen.get("level", "town"), chosen.get("region", "")
    if not isinstance(level, str) or level not in LEVELS:
        raise ParameterError("level", level, f"one of {', '.join(LEVELS)}")
    if not isinstance(region, str):
        raise ParameterError("region", region, "text")
    if region:
        from askew_client.settings.regions import region_of

        region_of(region)
