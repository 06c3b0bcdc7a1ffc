"""Regions and towns that a person can name, from GeoNames (CC BY 4.0; see GEONAMES.md)."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from itertools import product
from typing import TYPE_CHECKING

from askew.errors import ParameterError, maybe
from askew.spaces.map import Position, Region

if TYPE_CHECKING:
    from askew_client.views.place_map import Town

_LIMIT = "a country's English name, its two-letter code, or south/west/north/east in degrees"

_LONGEST = 100  # characters of a name: those of a longer one take seconds, and it is like none


@dataclass(frozen=True)
class Country:
    """A row of the table: a two-letter code, an English name, and the box around its towns."""

    code: str
    name: str
    region: Region


def region_of(text: str) -> Region:
    """The region that a person names: "Germany", "de", or "47.1/5.5/55.4/15.4".

    West > east where it crosses 180 degrees. Raises ParameterError for anything else.
    """
    if "/" in text:
        return _of_edges(text)
    wanted = _key(text)
    for country in countries():
        if wanted in (country.code.casefold(), _key(country.name)):
            return country.region
    hint = maybe(text, [each.name for each in countries()])
    raise ParameterError("region", text, f"{_LIMIT}{hint}")


def region_words(text: str) -> tuple[str, ...]:
    """What a region of one's own edges tells, and the countries that hold it; none of a country."""
    if "/" not in text:
        return ()
    own = region_of(text)
    around = sorted((each for each in countries() if _holds(each.region, own)), key=_size)
    advice = " or ".join([f"--region {each.code}" for each in around[:3]])
    told = "these edges are your own, and every signal shows them: its lattice begins at a corner"
    return (told, f"a country's are those of many: {advice}" if advice else "no country holds them")


def corners_of(text: str) -> tuple[Position, ...]:
    """A region's south-west and north-east corner; none of no name. Raises ParameterError."""
    if not text:
        return ()
    region = region_of(text)
    return (Position(region.south, region.west), Position(region.north, region.east))


@cache
def countries() -> tuple[Country, ...]:
    """The table, in the order of the codes."""
    return tuple(
        Country(code, name, Region(*map(float, edges)))
        for code, name, *edges in _rows("regions.csv")
    )


def _rows(table: str) -> Iterator[list[str]]:
    """Of a table beside this module, without its line of names."""
    text = resources.files("askew_client.settings").joinpath(table).read_text(encoding="utf-8")
    return csv.reader(io.StringIO(text.partition("\n")[2]))


def _of_edges(text: str) -> Region:
    try:
        south, west, north, east = map(float, text.split("/"))
    except ValueError:
        raise ParameterError("region", text, _LIMIT) from None
    return Region(south, west, north, east)


def _holds(country: Region, own: Region) -> bool:
    corners = product((own.south, own.north), (own.west, own.east))
    return own.width <= country.width and all(country.contains(Position(*at)) for at in corners)


def _size(country: Country) -> float:
    region = country.region
    return float(region.width) * (region.north - region.south)


def _key(text: str) -> str:
    """A name as people vary it: case, spaces and a leading article do not count."""
    return " ".join(text.casefold().split()).removeprefix("the ")


@cache
def named_towns() -> tuple[Town, ...]:
    """The large towns of the world and the largest of each country, most people first."""
    from askew_client.views.place_map import Town

    return tuple(
        Town(name, Position(float(latitude), float(longitude)), int(population))
        for name, latitude, longitude, population in _rows("towns.csv")
    )


@cache
def _by_key() -> dict[str, list[Town]]:
    found: dict[str, list[Town]] = {}
    for town in named_towns():
        found.setdefault(_town_key(town.name), []).append(town)
    return found


def towns_called(name: str) -> tuple[Town, ...]:
    """Every town of a name, most people first; case, accents and spaces do not count."""
    return tuple(_by_key().get(_town_key(name), ()))


def towns_like(name: str, most: int = 5) -> tuple[Town, ...]:
    """The towns whose names are most like one that is none's."""
    known = _by_key()
    wanted = _town_key(name[:_LONGEST])
    return tuple([known[key][0] for key in get_close_matches(wanted, known, most)])


def _town_key(name: str) -> str:
    letters = unicodedata.normalize("NFKD", " ".join(name.split()).casefold())
    return "".join([each for each in letters if not unicodedata.combining(each)])
