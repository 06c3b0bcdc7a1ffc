"""Regions that a person can name: countries, from GeoNames (CC BY 4.0; see GEONAMES.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from askew.errors import ParameterError
from askew.metric.region import Region

_LIMIT = "a country's English name, its two-letter code, or south/west/north/east in degrees"


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
    raise ParameterError("region", text, _LIMIT)


def countries() -> Iterator[Country]:
    """The table, in the order of the codes."""
    import csv
    import io
    from importlib import resources

    table = resources.files("askew_client.settings").joinpath("regions.csv")
    for row in csv.reader(io.StringIO(table.read_text(encoding="utf-8").partition("\n")[2])):
        code, name, *edges = row
        yield Country(code, name, Region(*map(float, edges)))


def _of_edges(text: str) -> Region:
    try:
        south, west, north, east = map(float, text.split("/"))
    except ValueError:
        raise ParameterError("region", text, _LIMIT) from None
    return Region(south, west, north, east)


def _key(text: str) -> str:
    """A name as people vary it: case, spaces and a leading article do not count."""
    return " ".join(text.casefold().split()).removeprefix("the ")
