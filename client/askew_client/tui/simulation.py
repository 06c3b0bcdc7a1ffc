"""The app without a server: a made-up person, SIMULATED models, and stores that leave no file.

Places lie around real towns. Each of their numbers is a digest of a name, so the same places stand
at every start, and nobody can take them for randomness that protects somebody. A place lies around
a town of the device's own list, with odds that grow with the 0.8th power of the town's people; one
in ten lies anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import HEAD_BYTES, FileHead, Part
from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.protocol.cards import (
    Card,
    CollectionCard,
    MetricCard,
    MetricRuleKind,
    ModelCard,
    PlaceSlate,
)
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.spaces.map import MapSpace, Position, Region
from askew.wire.catalog_file import catalog_from_body
from askew_client.near.gazetteer import named_towns
from askew_client.opening import Device, open_device
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.regions import region_of
from askew_client.settings.settings import ClientSettings
from askew_client.transport.in_process import InProcess, LocalPlaces, LocalTransport

HOME = Position(50.9375, 6.9603)  # nobody lives there: it is a station


class SimulatedServers(InProcess):
    """One server of tastes and one of places, behind one address."""

    def __init__(self, tastes: LocalTransport, places: LocalPlaces) -> None:
        self._tastes, self._places = tastes, places

    def card_for(self, collection: int | None) -> Card:
        return (self._tastes if collection is None else self._places).card_for(collection)

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        # Places have nothing to hold.
        return await self._tastes.read(catalog_date, part, start, size)

    async def metric_card(self) -> MetricCard:
        return self._places.card

    async def retrieve(self, query: Query, card: Card) -> Slate | PlaceSlate:
        server = self._tastes if query.collection is None else self._places
        return await server.retrieve(query, card)


@asynccontextmanager
async def simulated_device(settings: ClientSettings) -> AsyncIterator[Device]:
    """Open and yield a made-up person's device, with ten ratings and a place "home" in Cologne,
    already charged, which leaves no file and touches no real one. Its region is Germany where
    `settings` has none.
    """
    transport = SimulatedServers(LocalTransport(*simulated_model()), simulated_places())
    with tempfile.TemporaryDirectory(prefix="askew-tui-") as directory:
        async with open_device(
            replace(settings, region=settings.region or COUNTRY),
            directory=Path(directory),
            transport=transport,
            profile=PassingProfile(ProfileDocument(dict(FAVORITES))),
        ) as device:
            device.places.add("home", HOME)
            yield device


def simulated_model() -> tuple[ModelCard, Catalog]:
    """Return the card and the catalog that `askew-server serve --demo` lets devices hold.

    The file is base64, written by `python -m benchmarks.write_demo_model`.
    """
    text = resources.files("askew_client.tui").joinpath("simulated_model.txt").read_text("ascii")
    file = base64.b64decode(text)
    FileHead.of(file).check(file[HEAD_BYTES:])
    return catalog_from_body(file[HEAD_BYTES:])


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
    """Return a server of two made-up collections, "food" and "pharmacies", of so many items over
    one map, that of Germany; the same items each time.
    """
    region = region_of(COUNTRY)
    food = tuple(_food(_scattered("food", n_food, region)))
    on_duty = (_spread("on duty", n_pharmacies) < 0.25).tolist()
    pharmacies = tuple(
        Listing(item, f"Pharmacy {item + 1}", tuple(at), (on_duty[item],))
        for item, at in enumerate(_scattered("pharmacies", n_pharmacies, region).tolist())
    )
    cards = []
    for number, (name, things, items, attributes) in enumerate(
        (
            ("food", "places to eat", food, _FOOD),
            ("pharmacies", "pharmacies", pharmacies, _DUTY),
        )
    ):
        version = hashlib.sha256(repr([items, attributes]).encode()).hexdigest()[:32]
        source = f"SIMULATED {things} around real towns"
        cards.append(
            CollectionCard(name, version, len(items), source, True, attributes, number=number)
        )
    card = MetricCard(MapSpace(region), tuple(cards), 64, MetricRuleKind.CODEBOOK)
    return LocalPlaces(card, {"food": food, "pharmacies": pharmacies})


def _spread(name: str, n: int) -> Floats:
    digest = hashlib.shake_256(name.encode()).digest(8 * n)
    return np.asarray(np.frombuffer(digest, "<u8") / 2.0**64)


def _normal(name: str, n: int) -> Floats:
    # Box and Muller 1958.
    radius = np.sqrt(-2 * np.log1p(-_spread(f"{name} radius", n)))
    return np.asarray(radius * np.cos(2 * np.pi * _spread(f"{name} angle", n)))


def _scattered(name: str, n: int, region: Region) -> Floats:
    # (n, 2) in degrees.
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
    points = np.where(anywhere, low + box * (high - low), middle[chosen] + away)
    clipped: Floats = np.round(np.clip(points, low, high), 5)
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


# Loves a crime story and would rather not be sung to.
FAVORITES: Final = MappingProxyType(
    {
        "Chinatown (1974)": 5.0,
        "The Godfather (1972)": 5.0,
        "Goodfellas (1990)": 5.0,
        "Fargo (1996)": 4.5,
        "Double Indemnity (1944)": 4.5,
        "L.A. Confidential (1997)": 4.5,
        "Heat (1995)": 4.0,
        "Toy Story (1995)": 2.0,
        "Frozen (2013)": 1.5,
        "Mary Poppins (1964)": 1.0,
    }
)
