"""The ranges of settings, known before anything heavy is loaded.

So a command refuses a wrong flag before it reads, asks or charges, and the app before it draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from askew.errors import ParameterError

# What the mechanisms themselves accept, which is not asked here because it takes numpy.
EPSILONS: Final = {
    "geo_laplace": (Fraction(1, 1024), Fraction(1024)),
    "bucket_rr": (Fraction(1, 1024), Fraction(20)),
}
_POSITIVE: Final = (
    "lifetime_cap",
    "monthly_cap",
    "max_diameter",
    "max_one_rating",
    "pace",
    "timeout",
)
_SHORTEST_PACE: Final = 0.0001  # seconds
_LONGEST_WAIT: Final = 3600  # seconds; far longer ones overflow the clocks that they are told to


@dataclass(frozen=True)
class Caps:
    """What fresh signals may cost, as epsilon between any two people: in all, and in one month.

    monthly: None where a month has no cap of its own.
    """

    lifetime: Fraction
    monthly: Fraction | None = None


def check_settings(chosen: Mapping[str, Any]) -> None:
    """Raises ParameterError for a setting of ClientSettings out of range; absent ones are fine."""
    mechanism, k = chosen.get("mechanism", "geo_laplace"), chosen.get("k", 1)
    if mechanism not in EPSILONS:
        raise ParameterError("mechanism", mechanism, "geo_laplace or bucket_rr")
    (low, high), epsilon = EPSILONS[mechanism], chosen.get("epsilon", 1)
    if not low <= epsilon <= high:  # written so that NaN is refused too, here and below
        limit = f"between {low} and {high} for {mechanism}"
        raise ParameterError("epsilon", epsilon, limit)
    if type(k) is not int or k < 1:
        raise ParameterError("k", k, "a whole number of at least 1")
    for name in _POSITIVE:
        if not 0 < (value := chosen.get(name, 1)) < float("inf"):
            raise ParameterError(name, value, "positive and finite")
    if (pace := chosen.get("pace", 1)) < _SHORTEST_PACE:
        raise ParameterError("pace", pace, f"at least {_SHORTEST_PACE} seconds")
    for name in ("timeout", "pace"):
        if (seconds := chosen.get(name, 1)) > _LONGEST_WAIT:
            raise ParameterError(name, seconds, f"at most {_LONGEST_WAIT} seconds")
