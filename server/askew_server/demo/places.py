"""Simulated collections around real towns: a generative model with a fixed seed.

The towns are real, the places are not. Every draw comes from one PCG64 generator that the seed
starts, so anyone can repeat it: this is simulation, and it protects nobody. A place lies around

    town t with P(t) proportional to people_t ** 0.8,    at the town's middle plus (z_1, z_2) km,
    z normal with standard deviation 0.4 + 0.0035 * sqrt(people_t),    kept within the region,

so a town of 10,000 spreads over less than a kilometer and a city of a million over four. Kinds have
the shares of KINDS; a price is the kind's times exp(0.25 z), z standard normal, to half a EUR;
hours are one of a few habits; a live flag is 1 for half of the places and unknown for a tenth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.listing import Attribute, AttributeKind
from askew.metric.region import KM_OF_LATITUDE, KM_OF_LONGITUDE, Region
from askew.metric_card import CollectionCard
from askew_server.collections.collection import Collection, with_words
from askew_server.collections.columns import UNKNOWN, Column, Flags, Numbers, Words
from askew_server.collections.model import Towns
from askew_server.collections.titles import Titles
from askew_server.demo.place_words import (
    BAKERY,
    BAKERY_HOURS,
    FIRST_WORDS,
    KINDS,
    MEAL_HOURS,
    SECOND_WORDS,
    SHOP_HOURS,
)

CROWDING: Final = 0.8  # the power of a town's people by which the number of its places grows

Floats = NDArray[np.float64]


def scattered(
    n: int, towns: Towns, region: Region, rng: np.random.Generator, power: float = CROWDING
) -> Floats:
    """Coordinates of n places around towns that are drawn by their people to this power, (n, 2) in
    degrees, to five decimals: about a meter. Raises ParameterError below one place.
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
    """`n` SIMULATED places to eat, by cuisine, with prices, hours and free tables.

    Deterministic. Raises ParameterError below one place.
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
    """`n` SIMULATED pharmacies with their hours and who is on duty. As places_to_eat."""
    rng = np.random.Generator(np.random.PCG64(seed))
    coordinates = scattered(n, towns, region, rng)
    hours = Words(rng.integers(len(SHOP_HOURS), size=n).astype(np.int32), SHOP_HOURS)
    columns: dict[Attribute, Column] = {
        Attribute("hours", AttributeKind.HOURS): hours,
        Attribute("on duty", AttributeKind.FLAG, live=True): _flags(n, rng),
    }
    source = f"SIMULATED pharmacies around real {towns.source}"
    return _collection("pharmacies", source, coordinates, _names(["Pharmacy"] * n, rng), columns)


def _names(last: list[str], rng: np.random.Generator) -> list[str]:
    """Made-up names with these last words; some repeat, as names do."""
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
    titles = Titles.of(names)
    version = hashlib.sha256(coordinates.tobytes() + titles.blob.tobytes()).hexdigest()[:32]
    attributes = with_words(columns, columns.values())
    card = CollectionCard(name, version, len(names), source, True, attributes)
    return Collection(card, coordinates, titles, tuple(columns.values()))
