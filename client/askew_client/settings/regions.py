"""The region and the level of places: public settings, and never derived from where a place is.

An epsilon that followed from the place would tell it.
"""

from __future__ import annotations

import csv
import re
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Final

from askew.errors import ParameterError
from askew.metric.region import Region

# Epsilon per crow's kilometer, rounded down: odds change at most 4 times within 20, 5 and 1 km.
LEVELS: Final = {
    "county": Fraction(693, 10_000),
    "town": Fraction(277, 1000),
    "district": Fraction(1386, 1000),
}
_NUMBER = r"-?[0-9]{1,3}(?:\.[0-9]{1,6})?"
_EDGES = re.compile("/".join([f"({_NUMBER})"] * 4))


def region_named(text: str) -> Region:
    """A country by its name or its code of two letters, or edges as S/W/N/E in degrees.

    Raises ParameterError.
    """
    edges = _EDGES.fullmatch(text)
    if edges is not None:
        south, west, north, east = map(float, edges.groups())
        return Region(south, west, north, east)
    found = _countries().get(text.casefold())
    if found is None:
        limit = 'a country, such as DE or Germany, or edges in degrees, as "47.2/5.8/55.1/15.1"'
        raise ParameterError("region", text, f"{limit} (south, west, north, east)")
    return found


def country_names() -> tuple[str, ...]:
    """The countries that have a region here, by name."""
    return tuple(row["name"] for row in _rows())


@cache
def _countries() -> dict[str, Region]:
    found: dict[str, Region] = {}
    for row in _rows():
        edges = [float(row[edge]) for edge in ("south", "west", "north", "east")]
        found[row["code"].casefold()] = found[row["name"].casefold()] = Region(*edges)
    return found


def _rows() -> list[dict[str, str]]:
    text = files(__package__).joinpath("regions.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
