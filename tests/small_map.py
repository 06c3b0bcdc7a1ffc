"""A small map and two lines, with servers that answer with the nearest items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import hypot

from askew.catalog.catalog_file import Part
from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.protocol.cards import Card, CollectionCard, MetricCard, MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import MetricSpace, Region
from askew_client.transport.in_process import InProcess

VERSION = "ab" * 16
GERMANY = Region(47.0, 5.5, 55.5, 15.5)
DAY = AxisSpace((Axis("hour", "h", 0.0, 24.0, 8.0),))
ROAD = AxisSpace((Axis("post", "km", 0.0, 800.0, 100.0),))
ATTRIBUTES = (
    Attribute("cuisine", AttributeKind.CATEGORY),
    Attribute("price", AttributeKind.NUMBER, live=False, unit="EUR"),
    Attribute("hours", AttributeKind.HOURS),
)


def made_items(space: MetricSpace, count: int = 120) -> tuple[Listing, ...]:
    """Items with a cuisine of three, a price up to 29, and every other one closed."""
    places: list[tuple[float, ...]] = []
    if isinstance(space, AxisSpace):
        axis = space.axes[0]
        span = axis.high - axis.low
        places = [(axis.low + span * i / count,) for i in range(count)]
    else:
        r = space.area
        tall, wide = r.north - r.south, float(r.width)
        for i in range(count):
            east = (r.west + wide * (i // 11) * 11 / count + 180) % 360 - 180
            places.append((r.south + tall * (i % 11) / 11, east))
    values = [
        (("italian", "thai", "greek")[i % 3], float(i % 30), "24/7" if i % 2 else "off")
        for i in range(count)
    ]
    return tuple(Listing(i, f"Item {i}", places[i], values[i]) for i in range(count))


def made_card(space: MetricSpace, n_items: int = 120, most: int = 50) -> MetricCard:
    """A card of one collection, "places", and one more over the same items, "shops"."""
    collections = tuple(
        CollectionCard(name, VERSION, n_items, "SIMULATED", True, ATTRIBUTES, number=number)
        for number, name in enumerate(("places", "shops"))
    )
    return MetricCard(space, collections, most, MetricRuleKind.NEAREST)


def nearest(items: Sequence[Listing], signal: Signal, k: int) -> PlaceSlate:
    def far(item: Listing) -> float:
        if signal.space_version == "":
            here, (latitude, longitude) = signal.position(), item.coordinates
            east = (longitude - here.longitude + 180) % 360 - 180
            return hypot(latitude - here.latitude, 0.61 * east)  # degrees, at Germany's height
        return abs(item.coordinates[0] - float(signal.point()[0]))

    found = sorted(items, key=far)[:k]
    return PlaceSlate(VERSION, tuple(sorted(found, key=lambda item: item.id)))


@dataclass
class NearServer(InProcess):
    """A server in this process."""

    card: MetricCard
    items: Sequence[Listing] = ()
    requests: list[bytes] = field(default_factory=list)
    n_cards: int = 0
    spoil: Callable[[PlaceSlate], PlaceSlate] = lambda slate: slate

    def __post_init__(self) -> None:
        self.items = self.items or made_items(self.card.space)

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        raise NotImplementedError

    def card_for(self, collection: int | None) -> MetricCard:
        return self.card

    async def metric_card(self) -> MetricCard:
        self.n_cards += 1
        return self.card

    async def retrieve(self, query: Query, card: Card) -> PlaceSlate:
        here = self.items[: self.card.collection(query.collection).n_items]
        return self.spoil(nearest(here, query.signal, query.k))

    async def call(self, method: str, request: bytes) -> bytes:
        if method == "Retrieve":
            self.requests.append(request)
        return await super().call(method, request)
