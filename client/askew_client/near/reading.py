"""A place as a person types it, or as a file has it.

A position is a latitude and a longitude in degrees, "48.86, 2.35", or a town of the device's own
list, "Berlin" or "London, Canada", whose middle it is. Values on axes are written "axis = number",
such as "hour = 8.5", on lines of their own or with a semicolon between.
"""

from __future__ import annotations

import re

from askew.errors import ParameterError, PlaceError, UnclearTown
from askew.spaces.map import Position
from askew_client.profile.document import AxisValues, Spot
from askew_client.settings.regions import region_of, towns_called, towns_like
from askew_client.views.place_map import Town

_NUMBER = r"[-+]?[0-9]{1,12}(?:\.[0-9]{1,15})?"
_POSITION = re.compile(rf"({_NUMBER})\s*[,\s]\s*({_NUMBER})")
_VALUE = re.compile(rf"([^=]+?)\s*=\s*({_NUMBER})")


def spot_of(text: str, region: str = "") -> Spot:
    """The position or the values of a text. region: of the settings, which tells apart towns of one
    name. Raises PlaceError, which repeats nothing of it; UnclearTown for a name.
    """
    position = _POSITION.fullmatch(text.strip())
    if position is not None:
        return Position(*map(float, position.groups()))
    if re.fullmatch(r"[^=\n;\d]+", text.strip()):
        return _town(text, region)
    lines = [_VALUE.fullmatch(line.strip()) for line in re.split("[\n;]", text) if line.strip()]
    found = [line for line in lines if line is not None]
    values = {line[1].strip(): float(line[2]) for line in found}
    if not lines or len(values) != len(lines):
        hint = 'a town, a latitude and a longitude, "48.86, 2.35", or "axis = number; ..."'
        raise PlaceError(f"a place must be {hint}")
    return AxisValues(values)


def _town(text: str, region: str) -> Position:
    """The middle of the one town of a name, in a country named behind it, or else in the region."""
    name, _, country = map(str.strip, text.partition(","))
    found = towns_called(name)
    if not found:
        advice = "type a latitude and a longitude, such as 48.86, 2.35"
        raise UnclearTown(
            f"this device knows no town of this name: {advice}", _choices(towns_like(name))
        )
    within = tuple(each for each in found if _lies_in(each.at, country or region))
    if country and not within:
        raise UnclearTown("this device knows no town of this name in that country", _choices(found))
    left = within or found
    if len(left) > 1:
        advice = "add the country behind a comma, or type a latitude and a longitude"
        raise UnclearTown(f"there are {len(left)} towns of this name: {advice}", _choices(left))
    return left[0].at


def _choices(towns: tuple[Town, ...]) -> tuple[str, ...]:
    return tuple(
        f"{town.name}: {town.at.latitude:.2f}, {town.at.longitude:.2f} ({town.population:,} people)"
        for town in towns
    )


def _lies_in(position: Position, region: str) -> bool:
    try:
        region_of(region).kilometers(position)
    except (ParameterError, PlaceError):
        return False
    return True
