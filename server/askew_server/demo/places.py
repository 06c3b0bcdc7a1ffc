"""Simulated collections around real towns: a generative model with a fixed seed.

The towns are real, the places are not. Every draw comes from one PCG64 generator that the seed
starts, so anyone can repeat it: this is simulation, and it protects nobody. A place lies around

    town t with P(t) proportional to people_t ** 0.8,    at the town's middle plus (z_1, z_2) km,
    z normal with standard deviation 0.4 + 0.0035 * sqrt(people_t),    kept within the region,

so a town of 10,000 spreads over less than a kilometer and a city of a million over four. Kinds have
the shares of KINDS; a price is the kind's times exp(0.25 z), z standard normal, to half a EUR;
hours are one of a few habits; a live flag is 1 for half of the places and unknown for a tenth.
What they are called is made up. The towns and their people are from GeoNames (CC BY 4.0; see
GEONAMES.md).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import UNKNOWN, Column, Flags, Numbers, Titles, Words
from askew.catalog.item import Attribute, AttributeKind
from askew.errors import ParameterError
from askew.protocol.cards import MAX_SLATE, MetricCard, MetricRuleKind
from askew.protocol.collection import Collection, collection_of
from askew.spaces.map import KM_OF_LATITUDE, KM_OF_LONGITUDE, MapSpace, Region
from askew_server.collections.model import MetricModel, Towns, default_wants


@dataclass(frozen=True)
class PlaceKind:
    """A kind of place: its share of all, a typical price in EUR, and last words of its names."""

    name: str
    share: float
    price: float
    called: tuple[str, str, str]


KINDS: Final = (
    PlaceKind("German", 0.22, 17.0, ("Tavern", "Inn", "Cellar")),
    PlaceKind("Italian", 0.18, 15.0, ("Trattoria", "Oven", "Osteria")),
    PlaceKind("Turkish", 0.14, 9.0, ("Grill", "Meze House", "Hearth")),
    PlaceKind("Bakery", 0.13, 5.0, ("Bakery", "Crumb", "Loaf")),
    PlaceKind("Burgers", 0.09, 12.0, ("Burgers", "Diner", "Bun")),
    PlaceKind("Greek", 0.07, 16.0, ("Taverna", "Olive", "Ouzeri")),
    PlaceKind("Vietnamese", 0.05, 12.0, ("Pho", "Bowl", "Noodles")),
    PlaceKind("Indian", 0.05, 14.0, ("Tandoor", "Thali", "Spice Room")),
    PlaceKind("Sushi", 0.04, 21.0, ("Sushi", "Counter", "Roll")),
    PlaceKind("Vegan", 0.03, 14.0, ("Greens", "Kitchen", "Table")),
)
BAKERY: Final = 3

_FIRST = """
Amber Blue Brass Chalk Clover Copper Crooked Drowsy Early Ember Faraway Gentle Golden Hidden Idle
Iron Jolly Kind Late Little Lucky Merry Mossy Narrow Northern Old Paper Quiet Red Rusty Salty Silver
Sleepy Slow Southern Sunny Tall Tin Velvet Wandering White Wild Windy Winter
"""
_SECOND = """
Anchor Badger Barrel Bear Bell Bicycle Bridge Button Candle Chestnut Cricket Crow Drum Fern Fiddle
Fox Garden Goose Hare Harbor Hedgehog Heron Kettle Lantern Linden Magpie Mill Moon Otter Owl Pear
Plum Raven River Rooster Sparrow Spoon Stork Thimble Trout Walnut Wren
"""
NUMBERS: Final = {"food": 0, "pharmacies": 1}
FIRST_WORDS: Final = tuple(_FIRST.split())
SECOND_WORDS: Final = tuple(_SECOND.split())

MEAL_HOURS: Final = (
    "Mo-Su 11:00-22:00",
    "Tu-Su 17:00-23:00",
    "Mo-Fr 11:30-21:30; Sa-Su 12:00-22:00",
    "We-Su 12:00-21:00",
)
BAKERY_HOURS: Final = "Mo-Fr 06:00-18:00; Sa 06:00-13:00; Su 08:00-11:00"
SHOP_HOURS: Final = (
    "Mo-Fr 08:00-18:00; Sa 09:00-13:00",
    "Mo-Fr 08:30-18:30; Sa 08:30-14:00",
    "Mo-Sa 09:00-20:00",
)


SOURCE = "towns of Germany (GeoNames, CC BY 4.0)"


def german_towns(least: float = 0) -> Towns:
    """Return the 10,000 most populous places of Germany, the most populous first, in float64:
    `coordinates` (n, 2), degrees of latitude and longitude, and `people` (n,); or those of at least
    so many people, which `source` then says: "... of at least 5,000 people".
    """
    table = resources.files("askew_server.demo").joinpath("towns.csv")
    rows = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline=""))
    numbers = [(row["latitude"], row["longitude"], row["population"]) for row in rows]
    towns = np.array(numbers, dtype=np.float64)
    towns = towns[towns[:, 2] >= least]
    source = f"{SOURCE} of at least {least:,.0f} people" if least else SOURCE
    return Towns(towns[:, :2].copy(), towns[:, 2].copy(), source)


CROWDING: Final = 0.8  # the power of a town's people by which the number of its places grows

Floats = NDArray[np.float64]


def scattered(
    n: int, towns: Towns, region: Region, rng: np.random.Generator, power: float = CROWDING
) -> Floats:
    """Draw n places around towns that are drawn by their people to this power, by default .8:
    degrees of latitude and longitude, (n, 2), to five decimals, about a meter, within the region.
    Raises ParameterError below one place.
    """
    if n < 1:
        raise ParameterError("n", n, "at least 1")
    weight = towns.people**power
    town = rng.choice(len(weight), size=n, p=weight / weight.sum())
    middle, people = towns.coordinates[town], towns.people[town]
    kilometers = (0.4 + 0.0035 * np.sqrt(people))[:, np.newaxis] * rng.standard_normal((n, 2))
    of_latitude = np.full(n, float(KM_OF_LATITUDE))
    of_longitude = float(KM_OF_LONGITUDE) * np.cos(np.radians(middle[:, 0]))
    found = middle + kilometers / np.column_stack([of_latitude, of_longitude])
    low, high = (region.south, region.west), (region.north, region.east)
    clipped: Floats = np.round(np.clip(found, np.array(low), np.array(high)), 5)
    return clipped


def places_to_eat(n: int, towns: Towns, region: Region, seed: int = 20261122) -> Collection:
    """Return the collection "food" of `n` SIMULATED places to eat: kind, price in EUR, hours, and
    the live flag "free table", with default wants.

    Deterministic for a seed. Raises ParameterError below one place.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    coordinates = scattered(n, towns, region, rng)
    kind = rng.choice(len(KINDS), size=n, p=[each.share for each in KINDS])
    typical = np.array([each.price for each in KINDS])[kind]
    price = np.round(2 * typical * np.exp(0.25 * rng.standard_normal(n))) / 2
    hours = np.where(kind == BAKERY, len(MEAL_HOURS), rng.integers(len(MEAL_HOURS), size=n))
    last = [KINDS[at].called[word] for at, word in zip(kind, rng.integers(3, size=n), strict=True)]
    columns: dict[Attribute, Column] = {
        Attribute("kind", AttributeKind.CATEGORY): Words(
            kind.astype(np.int32), tuple(each.name for each in KINDS)
        ),
        Attribute("price", AttributeKind.NUMBER, unit="EUR"): Numbers(price.astype(np.float32)),
        Attribute("hours", AttributeKind.HOURS): Words(
            hours.astype(np.int32), (*MEAL_HOURS, BAKERY_HOURS)
        ),
        Attribute("free table", AttributeKind.FLAG, live=True): _flags(n, rng),
    }
    source = f"SIMULATED places to eat around real {towns.source}"
    return _collection("food", source, coordinates, _names(last, rng), columns)


def pharmacies(n: int, towns: Towns, region: Region, seed: int = 20261123) -> Collection:
    """Return the collection "pharmacies" of `n` SIMULATED pharmacies: hours, and the live flag "on
    duty". Deterministic and raises as places_to_eat.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    coordinates = scattered(n, towns, region, rng)
    hours = Words(rng.integers(len(SHOP_HOURS), size=n).astype(np.int32), SHOP_HOURS)
    columns: dict[Attribute, Column] = {
        Attribute("hours", AttributeKind.HOURS): hours,
        Attribute("on duty", AttributeKind.FLAG, live=True): _flags(n, rng),
    }
    source = f"SIMULATED pharmacies around real {towns.source}"
    names = _names(["Pharmacy"] * n, rng)
    return _collection("pharmacies", source, coordinates, names, columns)


def _names(last: list[str], rng: np.random.Generator) -> list[str]:
    first = rng.integers(len(FIRST_WORDS), size=len(last)).tolist()
    second = rng.integers(len(SECOND_WORDS), size=len(last)).tolist()
    return [
        f"{FIRST_WORDS[a]} {SECOND_WORDS[b]} {word}"
        for a, b, word in zip(first, second, last, strict=True)
    ]


def _flags(n: int, rng: np.random.Generator) -> Flags:
    return Flags(rng.choice([1, 0, UNKNOWN], size=n, p=[0.5, 0.4, 0.1]).astype(np.int8))


def _collection(
    name: str,
    source: str,
    coordinates: Floats,
    names: list[str],
    columns: Mapping[Attribute, Column],
) -> Collection:
    attributes, values = tuple(columns), tuple(columns.values())
    collection = collection_of(
        name,
        attributes,
        coordinates,
        Titles.of(names),
        values,
        source=source,
        simulated=True,
        number=NUMBERS[name],
    )
    card = collection.card
    card = replace(card, wants=default_wants(card.attributes, values))
    return replace(collection, card=card)


GERMANY: Final = Region(47.1, 5.5, 55.4, 15.4)
N_TO_EAT, N_PHARMACIES = 30_000, 6_000
LARGE = 5_000  # people: what the server knows of who lives where is coarser than where they do


def places_model() -> MetricModel:
    """Return the model of the demo: 30,000 simulated places to eat, "food", and 6,000 "pharmacies",
    in Germany, by the rule `posterior` and the towns of 5,000 people and more. Deterministic; the
    cards of both are `simulated`.
    """
    towns, density = german_towns(), german_towns(LARGE)
    food, shops = (
        places_to_eat(N_TO_EAT, towns, GERMANY),
        pharmacies(N_PHARMACIES, towns, GERMANY),
    )
    card = MetricCard(
        space=MapSpace(GERMANY),
        collections=(food.card, shops.card),
        max_slate_size=MAX_SLATE,
        rule=MetricRuleKind.POSTERIOR,
        density=density.source,
    )
    return MetricModel(card, {"food": food, "pharmacies": shops}, density)
