"""A place as a person types it, or as a file has it.

A position is a latitude and a longitude in degrees, "48.86, 2.35", or a town of the device's own
list, "Berlin" or "Frankfurt, Hesse", whose middle it is. Values on axes are written "axis =
number", such as "hour = 8.5", on lines of their own or with a semicolon between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from askew.errors import PlaceError, UnclearTown
from askew.spaces.map import Position
from askew_client.profile.document import AxisValues, Spot
from askew_client.settings.gazetteer import (
    distance_in,
    find_towns,
    folded,
    n_towns,
    towns_like,
)
from askew_client.settings.regions import region_of
from askew_client.views.place_map import Town

_NUMBER = r"[-+]?[0-9]{1,12}(?:\.[0-9]{1,15})?"
_POSITION = re.compile(rf"({_NUMBER})\s*[,\s]\s*({_NUMBER})")
_TOWN = re.compile(r"[^=\n;]*[^\W\d_][^=\n;]*")
_MOST = 8  # towns that are listed
_VALUE = re.compile(rf"([^=]+?)\s*=\s*({_NUMBER})")


def spot_of(text: str, region: str = "") -> Spot:
    """Return the place that a text says: a Position of "48.86, 2.35" or of a town's middle,
    "Berlin", or the AxisValues of "hour = 8.5; ...". region: of the settings, in which a town lies;
    "" is anywhere. Raises PlaceError, which repeats nothing of the text; UnclearTown for a name
    that is not one town's.
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
    """Return the middle of the one town of a name that lies in the region. Raises UnclearTown.

    A town of this very name is meant, and not a smaller one that also goes by it: "Kiel" is a name
    of Kehl's. Several of one name are for the person to tell apart.
    """
    found = find_towns(text, region)
    how_far = [*map(distance_in(region), found)]
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
    """Return for each of the first eight towns what can be typed, its position and its people, as a
    line. remedy: add the `--region` that has it.
    """
    return tuple(
        f"{town.name}, {town.district or town.country}: {town.at.latitude:.2f}, "
        f"{town.at.longitude:.2f} ({town.population:,} people"
        f"{f'; --region {town.country}' if remedy else ''})"
        for town in towns[:_MOST]
    )
