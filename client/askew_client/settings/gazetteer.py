"""The towns that a person can name, on this device alone (GeoNames, CC BY 4.0; see GEONAMES.md).

`towns.txt` has a line for each town, by country and the most populous first, with tabs between its
name, country, district, latitude, longitude, people, and the names that it goes by, folded, between
bars. Names are sought in the text as it is, and only the lines that were found are parsed.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Final

from askew.spaces.map import Position
from askew_client.settings.regions import country_called, region_of
from askew_client.views.place_map import Town, gap

OF_A_COUNTRY: Final = 25  # so many towns of each country are named on a map,
LARGE: Final = 300_000  # and all of so many people
_LONGEST = 30  # letters of a name that may be one that is known
_SHORTEST = 3  # letters that a proposed name shares with what was typed, at least
_LETTERS: Final = str.maketrans(  # what is no letter with an accent, and is typed without one
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ə": "e"}
    | {"\u0131": "i", "'": "", "\u2019": "", "`": ""}
)


def folded(name: str) -> str:
    """Return a name in small letters without accents, apostrophes and other signs, with one space
    between words: "lodz" of "Łódź".
    """
    letters = unicodedata.normalize("NFKD", name.casefold().translate(_LETTERS))
    plain = [letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Lm")]
    return " ".join("".join([letter if letter.isalnum() else " " for letter in plain]).split())


def n_towns() -> int:
    """Return how many towns this device knows: the lines of its list."""
    return _text().count("\n")


def find_towns(name: str, region: str = "") -> tuple[Town, ...]:
    """Return all towns of this name, which may be one of several that a town goes by: those in a
    region first, and of these those of most people; () where there is none.

    name: as people write it, such as "Kiel", or with a district or a country, "Frankfurt, Hesse".
    region: a country, whose own towns come before its neighbors' in the same box, or edges in
    degrees; "" is anywhere. Nothing is sent or fetched. Raises ParameterError for a region that is
    none.
    """
    wanted, _, where = name.partition(",")
    towns = [town for town in _with_names(f"{folded(wanted)}|") if _is_of(town, where)]
    far = distance_in(region)
    return tuple(sorted(towns, key=lambda town: (far(town), -town.population)))


def towns_like(name: str, region: str = "", most: int = 5) -> tuple[Town, ...]:
    """Return at most `most` towns of a region that have a name with the longest beginning of this
    one that any has, at least three letters; those of the country first, then of most people. ()
    where none is alike.
    """
    wanted, far = folded(name)[:_LONGEST], distance_in(region)
    while len(wanted) >= _SHORTEST:
        near = [(far(town), -town.population, town) for town in _with_names(wanted)]
        if best := sorted([town for town in near if town[0] < 2], key=lambda town: town[:2]):
            return tuple([town for _, _, town in best[:most]])
        wanted = wanted[:-1]
    return ()


def distance_in(region: str) -> Callable[[Town], int]:
    """Return a function of a town: 0 for one of the country that the region is called by, 1 for
    another that lies in the region, 2 for the others; 0 for every town where the region is "".
    Raises ParameterError for a region that is none.
    """
    if not region:
        return lambda _: 0
    country, box = country_called(region), region_of(region)
    own = country and country.code
    return lambda town: 0 if town.country == own else 1 if box.contains(town.at) else 2


@cache
def named_towns() -> tuple[Town, ...]:
    """Return the towns that a map names: all of 300,000 people or more, and the 25 largest of each
    country; those of most people first.
    """
    seen = Counter[str]()
    towns = []
    for line in _text().splitlines():
        _, country, _, _, _, people, _ = line.split("\t")
        seen[country] += 1
        if int(people) >= LARGE or (seen[country] <= OF_A_COUNTRY and int(people)):
            towns.append(_parsed(line))
    return tuple(sorted(towns, key=lambda town: -town.population))


def nearest_town(at: Position) -> tuple[Town, float]:
    """Return the town of the list that is nearest to a position, and its distance in kilometers."""

    def far(line: str) -> float:
        latitude, longitude = line.split("\t")[3:5]
        return gap(Position(float(latitude), float(longitude)), at)

    line = min(_text().splitlines(), key=far)
    return _parsed(line), far(line)


@cache
def _text() -> str:
    table = resources.files("askew_client.settings").joinpath("towns.txt")
    return table.read_text(encoding="utf-8")


def _with_names(beginning: str) -> Iterator[Town]:
    """Yield the towns that have a name of this beginning; none where that begins with no letter or
    digit.
    """
    text, at = _text(), 0
    while beginning[:1].isalnum() and (at := text.find(f"|{beginning}", at)) >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.index("\n", at)
        yield _parsed(text[start:end])
        at = end


def _parsed(line: str) -> Town:
    name, country, district, latitude, longitude, people, _ = line.split("\t")
    at = Position(float(latitude), float(longitude))
    return Town(name, at, int(people), country, district)


def _is_of(town: Town, where: str) -> bool:
    # Nothing typed is anywhere.
    if not where.strip():
        return True
    country = country_called(where)
    if country is not None and country.code == town.country:
        return True
    return folded(town.district).startswith(folded(where))
