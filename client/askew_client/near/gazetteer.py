"""A place as a person types it, or as a file has it, and the towns that they can name, on this
device alone (GeoNames, CC BY 4.0; see GEONAMES.md).

A position is a latitude and a longitude in degrees, "48.86, 2.35", or a town of the device's own
list, "Berlin" or "Frankfurt, Hesse", whose middle it is. Values on axes are written "axis =
number", such as "hour = 8.5", on lines of their own or with a semicolon between.

`towns.txt` has a line for each town, by country and the most populous first, with tabs between its
name, country, district, latitude, longitude, people, and the names that it goes by, folded, between
bars. Names are sought in the text as it is, and only the lines that were found are parsed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final

from askew.errors import PlaceError, UnclearTown
from askew.spaces.map import Position
from askew_client.profile.document import AxisValues, Spot
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
    """Return a name in small letters without accents and apostrophes, any other signs and spaces
    as one space: "lodz" of "Łódź", "saint etienne" of "Saint-Étienne", "laquila" of "L'Aquila".
    """
    letters = unicodedata.normalize("NFKD", name.casefold().translate(_LETTERS))
    plain = [letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Lm")]
    return " ".join("".join([letter if letter.isalnum() else " " for letter in plain]).split())


def n_towns() -> int:
    """Return how many towns this device knows, some 35,000: the lines of its list."""
    return _text().count("\n")


def find_towns(name: str, region: str = "") -> tuple[Town, ...]:
    """Return all towns of this name, which may be one of several that a town goes by: those of the
    country first, then others that lie in the region, then the rest; of each, those of most people
    first. () where there is none.

    name: all of it, as by `folded`, such as "Kiel", or with a country or the beginning of a
    district, "Frankfurt, Hesse". region: a country, or edges in degrees; "" is anywhere. Raises
    ParameterError for a region that is none.
    """
    wanted, _, where = name.partition(",")
    towns = [town for town in _with_names(f"{folded(wanted)}|") if _is_of(town, where)]
    far = _distance_in(region)
    return tuple(sorted(towns, key=lambda town: (far(town), -town.population)))


def towns_like(name: str, region: str = "") -> tuple[Town, ...]:
    """Return at most five towns of a region that have a name with the longest beginning of this
    one that any there has, 3 to 30 letters as by `folded`: in Germany Berlin first of "Berlinn".
    Those of the country come first, then those of most people; () where none is alike. region: as
    in `find_towns`, and its ParameterError.
    """
    wanted, far = folded(name)[:_LONGEST], _distance_in(region)
    while len(wanted) >= _SHORTEST:
        near = [(far(town), -town.population, town) for town in _with_names(wanted)]
        if best := sorted([town for town in near if town[0] < 2], key=lambda town: town[:2]):
            return tuple([town for _, _, town in best[:5]])
        wanted = wanted[:-1]
    return ()


def _distance_in(region: str) -> Callable[[Town], int]:
    # 0 for a town of the country that the region is called by, 1 for another that lies in it, 2 for
    # the others; 0 for every town where the region is "".
    if not region:
        return lambda _: 0
    country, box = country_called(region), region_of(region)
    own = country and country.code
    return lambda town: 0 if town.country == own else 1 if box.contains(town.at) else 2


@cache
def named_towns() -> tuple[Town, ...]:
    """Return the towns that a map names: all of 300,000 people or more, and the 25 largest of each
    country that have any people; those of most people first.
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


_NUMBER = r"[-+]?[0-9]{1,12}(?:\.[0-9]{1,15})?"
_POSITION = re.compile(rf"({_NUMBER})\s*[,\s]\s*({_NUMBER})")
_TOWN = re.compile(r"[^=\n;]*[^\W\d_][^=\n;]*")
_MOST = 8  # towns that are listed
_VALUE = re.compile(rf"([^=]+?)\s*=\s*({_NUMBER})")


def spot_of(text: str, region: str = "") -> Spot:
    """Return the place that a text says: a Position of "48.86, 2.35" or of a town's middle,
    "Berlin", or the AxisValues of "hour = 8.5; ...". region: of the settings, in which a town lies;
    "" is anywhere. Of several towns of a name, the largest is meant if it alone is called just so.

    Raises PlaceError, which repeats nothing of the text, for one that is no place or has an axis
    twice; UnclearTown, a PlaceError, for a name of no town of the region or of several; and
    ParameterError for a region that is none.
    """
    position = _POSITION.fullmatch(text.strip())
    if position is not None:
        return Position(*map(float, position.groups()))
    if _TOWN.fullmatch(text.strip()):
        return _town(text, region)
    lines = [_VALUE.fullmatch(line.strip()) for line in re.split("[\n;]", text) if line.strip()]
    found = [line for line in lines if line is not None]
    values = {line[1].strip(): float(line[2]) for line in found}
    if not lines or len(values) != len(lines):
        hint = 'a town, a latitude and a longitude, "48.86, 2.35", or "axis = number; ..."'
        raise PlaceError(f"a place must be {hint}")
    return AxisValues(values)


def _town(text: str, region: str) -> Position:
    # A town of this very name is meant, and not a smaller one that also goes by it: "Kiel" is a
    # name of Kehl's. Several of one name are for the person to tell apart.
    found = find_towns(text, region)
    how_far = [*map(_distance_in(region), found)]
    near = [town for town, far in zip(found, how_far, strict=True) if far == how_far[0] < 2]
    name = text.partition(",")[0].strip()
    called = [town for town in near if town.name.casefold() == name.casefold()]
    called = called or [town for town in near if folded(town.name) == folded(name)]
    if len(near) == 1 or (len(called) == 1 and called[0] == near[0]):
        return near[0].at
    if near:
        advice = "add the district behind a comma, or type a latitude and a longitude"
        raise UnclearTown(f"there are {len(near)} towns of this name: {advice}", _lines(near))
    if found:
        outside = f"no town of this name lies in the region {region_of(region).name or region}"
        raise UnclearTown(
            f"{outside}: `region` sets another, as in `--region FR`", _lines(found, remedy=True)
        )
    elsewhere = find_towns(name, region)
    if elsewhere:
        raise UnclearTown(
            "no town of this name lies in that district or country", _lines(elsewhere)
        )
    advice = "a latitude and a longitude always work, such as 48.86, 2.35"
    raise UnclearTown(
        f"this device knows {n_towns():,} towns and none of this name, and no addresses: {advice}",
        _lines(towns_like(name, region)),
    )


def _lines(towns: Sequence[Town], *, remedy: bool = False) -> tuple[str, ...]:
    return tuple(
        f"{town.name}, {town.district or town.country}: {town.at.latitude:.2f}, "
        f"{town.at.longitude:.2f} ({town.population:,} people"
        f"{f'; --region {town.country}' if remedy else ''})"
        for town in towns[:_MOST]
    )
