"""A map as a server names it: the area in which its items lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from askew.errors import OutOfRange
from askew.sizes import VERSION_BYTES
from askew.spaces.metric.area import Area
from askew.spaces.metric.axes import AxisSpace


@dataclass(frozen=True)
class MapSpace:
    """An area, up to the whole Earth. No signal rests on it: it says where the items are, and
    nothing about noise.
    """

    area: Area

    @property
    def dimension(self) -> int:
        """Latitude and longitude."""
        return 2

    @cached_property
    def version(self) -> str:
        """32 hexadecimal digits: a digest of the area."""
        a = self.area
        said = ["map", *map(float, (a.south, a.west, a.north, a.east))]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[: 2 * VERSION_BYTES]

    def check_item(self, coordinates: Sequence[float]) -> None:
        """Raises OutOfRange unless these are a latitude and a longitude."""
        match coordinates:
            case (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180:
                return
        raise OutOfRange("the coordinates of an item", "a latitude and a longitude in degrees")


MetricSpace = MapSpace | AxisSpace
