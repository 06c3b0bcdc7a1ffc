"""A place as a person types it, or as a file has it. Pure.

A position is a latitude and a longitude in degrees, "48.86, 2.35"; values on axes are written
"axis = number", such as "hour = 8.5", on lines of their own or with a semicolon between.
"""

from __future__ import annotations

import re

from askew.errors import PlaceError
from askew.metric.position import Position
from askew_client.profile.named_place import AxisValues, Spot

_NUMBER = r"[-+]?[0-9]{1,12}(?:\.[0-9]{1,15})?"
_POSITION = re.compile(rf"({_NUMBER})\s*[,\s]\s*({_NUMBER})")
_VALUE = re.compile(rf"([^=]+?)\s*=\s*({_NUMBER})")


def spot_of(text: str) -> Spot:
    """The position or the values of a text. Raises PlaceError, which repeats nothing of it."""
    position = _POSITION.fullmatch(text.strip())
    if position is not None:
        return Position(*map(float, position.groups()))
    lines = [_VALUE.fullmatch(line.strip()) for line in re.split("[\n;]", text) if line.strip()]
    found = [line for line in lines if line is not None]
    values = {line[1].strip(): float(line[2]) for line in found}
    if not lines or len(values) != len(lines):
        hint = 'a latitude and a longitude in degrees, "48.86, 2.35", or "axis = number; ..."'
        raise PlaceError(f"a place must be {hint}")
    return AxisValues(values)
