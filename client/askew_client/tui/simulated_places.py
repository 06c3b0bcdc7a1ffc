"""SIMULATED places around real towns, for the app without a server; nobody's meal is at stake.

Every draw comes from one PCG64 generator with a fixed seed, so the same places stand at every
start: this is simulation, and it protects nobody. A place lies around a town of the device's own
list with odds that grow with the 0.8th power of the town's people, and one in ten lies anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.listing import Attribute, AttributeKind, Listing, Value
from askew.metric.map_space import MapSpace
from askew.metric.region import Region
from askew.metric_card import CollectionCard, MetricCard, MetricRule
from askew.rule_kind import MetricRuleKind
from askew_client.settings.regions import region_of
from askew_client.settings.towns import named_towns
from askew_client.transport.places_in_process import LocalPlaces

COUNTRY: Final = "DE"
_KINDS: Final = ("bakery", "café", "pizzeria", "noodle bar", "tavern", "curry house")
_FIRST: Final = ("Golden", "Little", "Old", "Crooked", "Quiet", "Blue", "Seventh", "Lucky")
_FOOD: Final = (
    Attribute("kind", AttributeKind.CATEGORY),
    Attribute("price", AttributeKind.NUMBER, unit="EUR"),
    Attribute("free table", AttributeKind.FLAG, live=True),
)
_DUTY: Final = (Attribute("on duty", AttributeKind.FLAG, live=True),)
_SEED = 20261122
_ANYWHERE = 10  # one place in so many lies anywhere in the region
_SPREAD = 8.0  # kilometers around a town of a million; smaller towns spread by the root

Floats = NDArray[np.float64]


def simulated_places(n_food: int = 6000, n_pharmacies: int = 2000) -> LocalPlaces:
    """Two collections over one map."""
    rng = np.random.Generator(np.random.PCG64(_SEED))
    region = region_of(COUNTRY)
    items = {
        "food": tuple(_food(_scattered(n_food, region, rng), rng)),
        "pharmacies": tuple(_pharmacies(_scattered(n_pharmacies, region, rng), rng)),
    }
    cards = (
        _card("food", "SIMULATED places to eat around real towns", items["food"], _FOOD),
        _card("pharmacies", "SIMULATED pharmacies around real towns", items["pharmacies"], _DUTY),
    )
    rule = MetricRule(MetricRuleKind.CODEBOOK)
    return LocalPlaces(MetricCard(MapSpace(region), cards, 64, rule), items)


def _scattered(n: int, region: Region, rng: np.random.Generator) -> Floats:
    """Coordinates (n, 2) in degrees."""
    low, high = np.array([region.south, region.west]), np.array([region.north, region.east])
    towns = [town for town in named_towns() if region.contains(town.at)]
    middle = np.array([(town.at.latitude, town.at.longitude) for town in towns])
    people = np.array([town.population for town in towns], dtype=np.float64)
    chosen = rng.choice(len(towns), size=n, p=people**0.8 / (people**0.8).sum())
    spread = _SPREAD * np.sqrt(people[chosen] / 1e6) / 111
    away = rng.standard_normal((n, 2)) * spread[:, np.newaxis] * (1.0, 1.6)
    anywhere = (rng.integers(_ANYWHERE, size=n) == 0)[:, np.newaxis]
    found = np.where(anywhere, low + rng.random((n, 2)) * (high - low), middle[chosen] + away)
    clipped: Floats = np.round(np.clip(found, low, high), 5)
    return clipped


def _food(coordinates: Floats, rng: np.random.Generator) -> Iterator[Listing]:
    for item, at in enumerate(coordinates.tolist()):
        kind = _KINDS[rng.integers(len(_KINDS))]
        price = float(np.round(8 * np.exp(0.4 * rng.standard_normal()), 1))
        values: tuple[Value, ...] = kind, price, bool(rng.integers(2))
        first = _FIRST[rng.integers(len(_FIRST))]
        yield Listing(item, f"{first} {kind.title()} {item + 1}", tuple(at), values)


def _pharmacies(coordinates: Floats, rng: np.random.Generator) -> Iterator[Listing]:
    for item, at in enumerate(coordinates.tolist()):
        yield Listing(item, f"Pharmacy {item + 1}", tuple(at), (bool(rng.integers(4) == 0),))


def _card(
    name: str, source: str, items: tuple[Listing, ...], attributes: tuple[Attribute, ...]
) -> CollectionCard:
    version = hashlib.sha256(repr([items, attributes]).encode()).hexdigest()[:32]
    return CollectionCard(name, version, len(items), source, True, attributes)
