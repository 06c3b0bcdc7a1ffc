"""Towns by which a map is read, from GeoNames (CC BY 4.0; see GEONAMES.md)."""

from __future__ import annotations

import csv
import io
from functools import cache
from importlib import resources

from askew.metric.position import Position
from askew_client.views.place_glow import Town


@cache
def named_towns() -> tuple[Town, ...]:
    """The large towns of the world and the largest of each country, most people first."""
    table = resources.files("askew_client.settings").joinpath("towns.csv")
    rows = csv.reader(io.StringIO(table.read_text(encoding="utf-8").partition("\n")[2]))
    return tuple(
        Town(name, Position(float(latitude), float(longitude)), int(population))
        for name, latitude, longitude, population in rows
    )
