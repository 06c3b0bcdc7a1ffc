"""A small metric model: two collections in Germany, and one of axes."""

from __future__ import annotations

import numpy as np

from askew.catalog.attributes import Flags, Numbers, Titles, Words
from askew.catalog.item import Attribute, AttributeKind
from askew.protocol.cards import MetricRuleKind
from askew.protocol.collection import Collection, collection_of
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace
from askew_server.collections.artifact import Keys
from askew_server.collections.model import MetricModel, Towns, model_of

GERMANY = MapSpace(Area(47.0, 5.0, 55.0, 16.0))
DAY = AxisSpace((Axis("hour", "h", 0.0, 24.0, 1.0),))
ATTRIBUTES = (
    Attribute("kind", AttributeKind.CATEGORY),
    Attribute("price", AttributeKind.NUMBER, unit="EUR"),
    Attribute("hours", AttributeKind.HOURS),
    Attribute("open", AttributeKind.FLAG, live=True),
    Attribute("free", AttributeKind.NUMBER, live=True),
)


CAFES, POSTS = 0, 1  # their numbers


def cafes(n: int = 30, seed: int = 7) -> Collection:
    """Cafés at random in Germany; of each fifth nothing is known."""
    rng = np.random.default_rng(seed)
    coordinates = np.round(rng.uniform((47, 5), (55, 16), (n, 2)), 6)
    known = np.arange(n) % 5 > 0
    return collection_of(
        "cafes",
        ATTRIBUTES,
        coordinates,
        Titles.of([f"Café {i} ☕" for i in range(n)]),
        (
            Words(np.where(known, np.arange(n) % 2, -1).astype(np.int32), ("tea", "cake")),
            Numbers(np.where(known, np.arange(n) / 2, np.nan).astype(np.float32)),
            Words(np.full(n, -1, np.int32), ()),
            Flags(np.where(known, np.arange(n) % 2, -1).astype(np.int8)),
            Numbers.unknown(n),
        ),
        source="made up",
        simulated=True,
    )


def posts(space: MetricSpace = GERMANY, n: int = 12) -> Collection:
    coordinates = np.linspace(1, 23, n)[:, np.newaxis]
    if space.dimension == 2:
        coordinates = np.linspace((47.5, 6), (54.5, 15), n)
    titles = Titles.of([f"Post {i}" for i in range(n)])
    return collection_of(
        "posts", (), coordinates, titles, (), source="made up", simulated=True, number=POSTS
    )


def small_map() -> MetricModel:
    towns = Towns(np.array([[52.5, 13.4], [48.1, 11.6]]), np.array([3.6e6, 1.5e6]), "a list")
    return model_of(GERMANY, [cafes(), posts()], towns, MetricRuleKind.NEAREST, largest=8)


def keys_of(n: int) -> Keys:
    """Digests of made-up keys."""
    return np.outer(np.arange(n, dtype=np.uint64), np.array([1, 3], np.uint64))
