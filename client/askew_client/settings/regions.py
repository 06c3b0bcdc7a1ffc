"""Regions that a person can name, from GeoNames (CC BY 4.0; see GEONAMES.md)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product

from askew.errors import ParameterError, maybe
from askew.spaces.map import Position, Region

_LIMIT = "a country's English name, its two-letter code, or south/west/north/east in degrees"


@dataclass(frozen=True)
class Country:
    """A row of the table: a two-letter code, an English name, and the box around its towns."""

    code: str
    name: str
    region: Region


def region_of(text: str) -> Region:
    """Return the region that a person names: "Germany", "de", or "47.1/5.5/55.4/15.4".

    West > east where it crosses 180 degrees. Raises ParameterError for anything else.
    """
    if "/" in text:
        return _of_edges(text)
    country = country_called(text)
    if country is not None:
        return country.region
    hint = maybe(text, [country.name for country in countries()])
    raise ParameterError("region", text, f"{_LIMIT}{hint}")


def country_called(text: str) -> Country | None:
    """Return the Country (code, name, region) of an English name or a two-letter code, in any case,
    with or without "the"; None where there is none.
    """
    wanted = _key(text)
    matches = (
        country
        for country in countries()
        if wanted in (country.code.casefold(), _key(country.name))
    )
    return next(matches, None)


def region_words(text: str) -> tuple[str, ...]:
    """Return two lines on a region of own edges, south/west/north/east: what every signal tells of
    them, and which countries hold them, at most three; () for any text without a "/". Raises
    ParameterError for edges that bound no region.
    """
    if "/" not in text:
        return ()
    own = region_of(text)
    corners = [Position(*at) for at in product((own.south, own.north), (own.west, own.east))]
    holding = [
        country
        for country in countries()
        if own.width <= country.region.width and all(map(country.region.contains, corners))
    ]
    around = sorted(holding, key=lambda c: c.region.width * (c.region.north - c.region.south))
    advice = " or ".join([f"--region {country.code}" for country in around[:3]])
    warning = (
        "these edges are your own, and every signal shows them: its lattice begins at a corner"
    )
    return (
        warning,
        f"a country's are those of many: {advice}" if advice else "no country holds them",
    )


def corners_of(text: str) -> tuple[Position, ...]:
    """Return a region's south-west and north-east corner; () for "". Raises ParameterError for any
    other text that names no region.
    """
    if not text:
        return ()
    region = region_of(text)
    return (Position(region.south, region.west), Position(region.north, region.east))


@cache
def countries() -> tuple[Country, ...]:
    """Return all countries that this device knows, in the order of their codes."""
    table = resources.files("askew_client.settings").joinpath("regions.csv")
    text = table.read_text(encoding="utf-8")
    return tuple(
        Country(code, name, Region(*map(float, edges), name=f"{name} ({code})"))
        for code, name, *edges in csv.reader(io.StringIO(text.partition("\n")[2]))
    )


def _of_edges(text: str) -> Region:
    try:
        south, west, north, east = map(float, text.split("/"))
    except ValueError:
        raise ParameterError("region", text, _LIMIT) from None
    return Region(south, west, north, east)


def _key(text: str) -> str:
    # Case, spaces and a leading article do not count.
    return " ".join(text.casefold().split()).removeprefix("the ")
