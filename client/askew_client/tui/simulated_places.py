"""SIMULATED places around real towns, for the app without a server; nobody's meal is at stake.

Every number is a digest of a name, so the same places stand at every start, and nothing here could
be taken for randomness that protects somebody. A place lies around a town of the device's own list
with odds that grow with the 0.8th power of the town's people, and one in ten lies anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.catalog.listing import Attribute, AttributeKind, Listing
from askew.protocol.metric_card import CollectionCard, MetricCard, MetricRule
from askew.protocol.rule_kind import MetricRuleKind
from askew.spaces.map import MapSpace, Region
from askew_client.settings.regions import region_of
from askew_client.settings.towns import named_towns
from askew_client.transport.in_process import LocalPlaces

COUNTRY: Final = "DE"
_KINDS: Final = ("bakery", "café", "pizzeria", "noodle bar", "tavern", "curry house")
_FIRST: Final = ("Golden", "Little", "Old", "Crooked", "Quiet", "Blue", "Seventh", "Lucky")
_FOOD: Final = (
    Attribute("kind", AttributeKind.CATEGORY),
    Attribute("price", AttributeKind.NUMBER, unit="EUR"),
    Attribute("free table", AttributeKind.FLAG, live=True),
)
_DUTY: Final = (Attribute("on duty", AttributeKind.FLAG, live=True),)
_ANYWHERE = 10  # one place in so many lies anywhere in the region
_SPREAD = 8.0  # kilometers around a town of a million; smaller towns spread by the root

Floats = NDArray[np.float64]


def simulated_places(n_food: int = 6000, n_pharmacies: int = 2000) -> LocalPlaces:
    """Two collections over one map."""
    region = region_of(COUNTRY)
    items = {
        "food": tuple(_food(_scattered("food", n_food, region))),
        "pharmacies": tuple(_pharmacies(_scattered("pharmacies", n_pharmacies, region))),
    }
    cards = (
        _card("food", "SIMULATED places to eat around real towns", items["food"], _FOOD),
        _card("pharmacies", "SIMULATED pharmacies around real towns", items["pharmacies"], _DUTY),
    )
    rule = MetricRule(MetricRuleKind.CODEBOOK)
    return LocalPlaces(MetricCard(MapSpace(region), cards, 64, rule), items)


def _spread(name: str, n: int) -> Floats:
    """n numbers in [0, 1) that look like chance, and are the same for the same name."""
    digest = hashlib.shake_256(name.encode()).digest(8 * n)
    found: Floats = np.frombuffer(digest, "<u8") / 2.0**64
    return found


def _normal(name: str, n: int) -> Floats:
    """n numbers that look like a normal law's (Box and Muller 1958)."""
    radius = np.sqrt(-2 * np.log1p(-_spread(f"{name} radius", n)))
    found: Floats = radius * np.cos(2 * np.pi * _spread(f"{name} angle", n))
    return found


def _scattered(name: str, n: int, region: Region) -> Floats:
    """Coordinates (n, 2) in degrees."""
    low, high = np.array([region.south, region.west]), np.array([region.north, region.east])
    towns = [town for town in named_towns() if region.contains(town.at)]
    middle = np.array([(town.at.latitude, town.at.longitude) for town in towns])
    people = np.array([town.population for town in towns], dtype=np.float64)
    shares = np.cumsum(people**0.8) / (people**0.8).sum()
    chosen = np.minimum(np.searchsorted(shares, _spread(f"{name} town", n)), len(towns) - 1)
    away = np.column_stack([_normal(f"{name} north", n), 1.6 * _normal(f"{name} east", n)])
    away *= (_SPREAD * np.sqrt(people[chosen] / 1e6) / 111)[:, np.newaxis]
    anywhere = (_spread(f"{name} anywhere", n) < 1 / _ANYWHERE)[:, np.newaxis]
    box = np.column_stack([_spread(f"{name} latitude", n), _spread(f"{name} longitude", n)])
    found = np.where(anywhere, low + box * (high - low), middle[chosen] + away)
    clipped: Floats = np.round(np.clip(found, low, high), 5)
    return clipped


def _food(coordinates: Floats) -> Iterator[Listing]:
    n = len(coordinates)
    kinds = (_spread("kind", n) * len(_KINDS)).astype(int).tolist()
    first = (_spread("first word", n) * len(_FIRST)).astype(int).tolist()
    prices = np.round(8 * np.exp(0.4 * _normal("price", n)), 1).tolist()
    free = (_spread("free table", n) < 0.5).tolist()
    for item, at in enumerate(coordinates.tolist()):
        kind = _KINDS[kinds[item]]
        title = f"{_FIRST[first[item]]} {kind.title()} {item + 1}"
        yield Listing(item, title, tuple(at), (kind, prices[item], free[item]))


def _pharmacies(coordinates: Floats) -> Iterator[Listing]:
    on_duty = (_spread("on duty", len(coordinates)) < 0.25).tolist()
    for item, at in enumerate(coordinates.tolist()):
        yield Listing(item, f"Pharmacy {item + 1}", tuple(at), (on_duty[item],))


def _card(
    name: str, source: str, items: tuple[Listing, ...], attributes: tuple[Attribute, ...]
) -> CollectionCard:
    version = hashlib.sha256(repr([items, attributes]).encode()).hexdigest()[:32]
    return CollectionCard(name, version, len(items), source, True, attributes)
