"""A map, three axes, their collections and some items, for the tests of the wire."""

from __future__ import annotations

from fractions import Fraction

from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import CollectionCard, MetricCard, MetricRuleKind, PlaceSlate, Want
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Region
from askew.wire.places import metric_card_to_bytes, places_to_bytes
from askew.wire.queries import query_to_bytes

MONDAY = 20_780  # in days since 1970-01-01
VERSION = "000102030405060708090a0b0c0d0e0f"
GERMANY = Region(47.2, 5.8, 55.1, 15.1)
ATTRIBUTES = (
    Attribute("kind", AttributeKind.CATEGORY, words=("café", "grill")),
    Attribute("price", AttributeKind.NUMBER, live=True, unit="euros"),
    Attribute("open", AttributeKind.FLAG, live=True),
    Attribute("hours", AttributeKind.HOURS),
)
PLACES = CollectionCard("places to eat", VERSION, 300, "SIMULATED", simulated=True, number=2)
WANTS = (Want("kind", 0.1, "café"), Want("price", 0.05, rate=-0.5), Want("open", 0.25, "yes"))
CAFES = CollectionCard("cafés", "ff" * 16, 5, "a list", False, ATTRIBUTES, wants=WANTS, number=7)
MAP_CARD = MetricCard(
    MapSpace(Area(47.2, 5.8, 55.1, 15.1)),
    (PLACES, CAFES),
    5,
    MetricRuleKind.POSTERIOR,
    "towns of GeoNames",
)
AXES = AxisSpace(
    (
        Axis("kilometer post", "km", 0.0, 800.0, scale=100.0),
        Axis("time of day", "hours", 0.0, 24.0, scale=1.0),
    )
)
AXES_CARD = MetricCard(AXES, (PLACES,), 64, MetricRuleKind.CODEBOOK)
NOISE = MapNoise(HexagonalLattice(8, 1067), GERMANY.cosine)
LISTINGS = (
    Listing(0, "Café Amélie", (52.5, 13.375), ("café", 4.5, True, "Mo-Fr 08:00-18:00")),
    Listing(2, "100 % «fun»", (-0.0, 180.0), (None, None, None, None)),
    Listing(4, "Imbiß", (90.0, -180.0), ("grill", -1.0, False, None)),
)


def place_query(values: tuple[int, ...] = (52_500_000, 13_375_000), k: int = 3) -> Query:
    return Query(Signal(ANY_SPACE, NOISE, values), k, CAFES.number)


def axes_query(values: tuple[int, ...] = (0, 5)) -> Query:
    lattice = LatticeLaplace.for_epsilon(Fraction(1))
    return Query(Signal(AXES.version, lattice, values), 3, PLACES.number, MONDAY)


QUERY, AXES_QUERY = place_query(), axes_query()
REQUEST_BYTES = query_to_bytes(QUERY)
AXES_REQUEST_BYTES = query_to_bytes(AXES_QUERY)
REPLY = PlaceSlate("ff" * 16, LISTINGS)
REPLY_BYTES = places_to_bytes(REPLY, CAFES)
CARD_BYTES = metric_card_to_bytes(MAP_CARD)
AXES_CARD_BYTES = metric_card_to_bytes(AXES_CARD)
POSTS = PlaceSlate(VERSION, tuple(Listing(n, "a", (800.0, 24.0 - n), ()) for n in range(3)))
AXES_REPLY_BYTES = places_to_bytes(POSTS, PLACES)
