"""The embedded towns: real places with their people, from GeoNames (CC BY 4.0; see GEONAMES.md)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from askew_server.collections.model import Towns

SOURCE = "towns of Germany (GeoNames, CC BY 4.0)"


@dataclass(frozen=True, eq=False)
class TownList:
    """Towns by name, the most populous first, and where their people are."""

    names: tuple[str, ...] = field(repr=False)
    towns: Towns

    def __len__(self) -> int:
        return len(self.names)

    def of_at_least(self, population: float) -> TownList:
        """The larger ones: a coarser list than the one that it is taken from."""
        kept = self.towns.people >= population
        names = tuple(name for name, keep in zip(self.names, kept, strict=True) if keep)
        coordinates, people = self.towns.coordinates[kept], self.towns.people[kept]
        source = f"{self.towns.source} of at least {population:,.0f} people"
        return TownList(names, Towns(coordinates, people, source))


def german_towns() -> TownList:
    """The 10,000 most populous places of Germany, in the order of towns.csv."""
    table = resources.files("askew_server.demo").joinpath("towns.csv")
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline="")))
    coordinates: NDArray[np.float64] = np.array(
        [(row["latitude"], row["longitude"]) for row in rows], dtype=np.float64
    )
    people: NDArray[np.float64] = np.array([row["population"] for row in rows], dtype=np.float64)
    return TownList(tuple(row["name"] for row in rows), Towns(coordinates, people, SOURCE))
