"""Towns by which a map is read, from GeoNames (CC BY 4.0; see GEONAMES.md)."""

from __future__ import annotations

import csv
import io
import unicodedata
from difflib import get_close_matches
from functools import cache
from importlib import resources

from askew.spaces.map import Position
from askew_client.views.place_map import Town


@cache
def named_towns() -> tuple[Town, ...]:
    """The large towns of the world and the largest of each country, most people first."""
    table = resources.files("askew_client.settings").joinpath("towns.csv")
    rows = csv.reader(io.StringIO(table.read_text(encoding="utf-8").partition("\n")[2]))
    return tuple(
        Town(name, Position(float(latitude), float(longitude)), int(population))
        for name, latitude, longitude, population in rows
    )


def towns_called(name: str) -> tuple[Town, ...]:
    """Every town of a name, most people first; case, accents and spaces do not count."""
    wanted = _key(name)
    return tuple([town for town in named_towns() if _key(town.name) == wanted])


def towns_like(name: str, most: int = 5) -> tuple[Town, ...]:
    """The towns whose names are most like one that is none's."""
    known = {_key(town.name): town for town in reversed(named_towns())}
    return tuple([known[key] for key in get_close_matches(_key(name), known, most)])


def _key(name: str) -> str:
    letters = unicodedata.normalize("NFKD", " ".join(name.split()).casefold())
    return "".join([each for each in letters if not unicodedata.combining(each)])
