"""What the modes of a collection take and give: bytes a device-week, and how much farther than the
nearest item the best result is, for townspeople and for people in the country.

Whoever holds every row has the nearest item. People and their noise are SIMULATED: positions around
towns, drawn by their people or, for the country, each town alike; the noise of level town at fixed
quantiles. The same input gives the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import ANY_SPACE
from askew.errors import ParameterError
from askew.protocol.collection import Collection
from askew.protocol.metric_card import CollectionCard
from askew.protocol.modes import DEVICE_BYTES, ServingMode
from askew.protocol.signal import Query, Signal
from askew.spaces.map import (
    COSINE_PARTS,
    KM_OF_LATITUDE,
    KM_OF_LONGITUDE,
    MICRODEGREES,
    MapNoise,
    MapSpace,
    Region,
)
from askew_server.collections.model import MetricModel, Towns
from askew_server.demo.places import scattered
from askew_server.retrieval.near.answers import MetricAnswers
from askew_server.retrieval.near.density import low_discrepancy
from askew_server.retrieval.near.index import MapFrame
from askew_server.taste.measures import Estimate, mean_of

QUESTIONS: Final = 14  # a week
_EPSILON = Fraction(277, 1000)  # per km: level town
_PEOPLE = 100  # of each kind
_REPLY = 4_000  # bytes: about what a device asks for
_CALL = 100  # bytes of a question, and of what frames its answer
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ModeCost:
    """One way to serve a collection. weekly: bytes a device-week. k: results of a question, 0
    without one. town, country: kilometers beyond the nearest item, of people; None where there is
    no map.
    """

    name: str
    mode: ServingMode
    weekly: int
    k: int = 0
    town: Estimate | None = None
    country: Estimate | None = None


@dataclass(frozen=True)
class FileSizes:
    """Bytes of a collection's rows, of the default ones, and of the file of all collections."""

    rows: int
    default: int
    whole: int


def mode_costs(
    model: MetricModel,
    answers: MetricAnswers,
    collection: Collection,
    sizes: FileSizes,
    weeks: float,
) -> tuple[ModeCost, ...]:
    """The modes that can serve a collection. weeks: how long its rows stay as they are."""
    card, crowds = collection.card, _crowds(model, collection)
    k = _most(model, card, card.item_bytes)
    asked = QUESTIONS * (_CALL + k * card.item_bytes)
    query = ModeCost(
        "query", ServingMode.QUERY, asked, k, *_asking(model, answers, card, crowds, k)
    )
    held = round(sizes.rows / weeks)
    if card.is_live:
        k = _most(model, card, card.value_bytes)
        values = held + QUESTIONS * (_CALL + k * card.value_bytes)
        kilometers = _asking(model, answers, card, crowds, k)
        return query, ModeCost("rows, values", ServingMode.CACHED, values, k, *kilometers)
    nothing = (Estimate(0.0, 0.0),) * 2 if crowds else (None, None)
    local = ModeCost("local", ServingMode.LOCAL, held, 0, *nothing)
    if sizes.default >= sizes.rows:
        return local, query
    some = collection.spread(sizes.default / sizes.rows)
    farther = tuple([_beyond(collection, some, crowd) for crowd in crowds])
    default = round(sizes.default / weeks)
    return local, ModeCost("cached", ServingMode.CACHED, default, 0, *farther), query


def proposed(costs: tuple[ModeCost, ...], whole: int) -> ServingMode:
    """What a card proposes: all rows where devices hold them, since nothing is better; of rows with
    live values what takes less; else the default rows, unless asking is better for anybody.
    """
    by_mode = {each.mode: each for each in costs}
    query, cached = by_mode[ServingMode.QUERY], by_mode.get(ServingMode.CACHED)
    fits = whole <= DEVICE_BYTES
    if ServingMode.LOCAL not in by_mode:
        cheap = fits and cached is not None and cached.weekly <= query.weekly
        return ServingMode.CACHED if cheap else ServingMode.QUERY
    if fits:
        return ServingMode.LOCAL
    worse = cached is None or any(
        held is not None and asked is not None and held.mean > asked.mean
        for held, asked in ((cached.town, query.town), (cached.country, query.country))
    )
    return ServingMode.QUERY if worse else ServingMode.CACHED


def _most(model: MetricModel, card: CollectionCard, size: int) -> int:
    return max(1, min(_REPLY // size, model.card.max_slate_size, card.n_items))


def _crowds(model: MetricModel, collection: Collection) -> tuple[_Floats, ...]:
    """Townspeople and people of the country; none where a map has no plane for them."""
    space = model.card.space
    if not isinstance(space, MapSpace) or space.area.west >= space.area.east:
        return ()
    area = space.area
    try:
        region = Region(area.south, area.west, area.north, area.east)
    except ParameterError:
        return ()
    where = model.towns or Towns(collection.coordinates, np.ones(len(collection)), "the items")
    rng = np.random.default_rng(0)
    return tuple([scattered(_PEOPLE, where, region, rng, power) for power in (1.0, 0.0)])


def _asking(
    model: MetricModel,
    answers: MetricAnswers,
    card: CollectionCard,
    crowds: tuple[_Floats, ...],
    k: int,
) -> Iterator[Estimate]:
    """How much farther the best of k results is, for each crowd."""
    if not crowds:
        return
    collection = model.collections[card.name]
    for crowd in crowds:
        found = [answers.answer(query).item_ids for query in _questions(model, card, crowd, k)]
        at = [collection.coordinates[list(rows)] for rows in found]
        best = [_kilometers(here, there).min() for here, there in zip(crowd, at, strict=True)]
        yield mean_of(best - _nearest(collection, crowd))


def _questions(model: MetricModel, card: CollectionCard, crowd: _Floats, k: int) -> Iterator[Query]:
    space = model.card.space
    if not isinstance(space, MapSpace):
        raise TypeError
    area = space.area
    noise = MapNoise.in_region(_EPSILON, Region(area.south, area.west, area.north, area.east))
    zero = Signal(ANY_SPACE, noise, (0, 0))
    moves = MapFrame(area).noise(zero, low_discrepancy(len(crowd), 2))  # east and north
    north = moves[:, 1] / float(KM_OF_LATITUDE)
    east = moves[:, 0] / (float(KM_OF_LONGITUDE) * noise.cosine / COSINE_PARTS)
    noisy = crowd + np.column_stack([north, east])
    for values in np.rint(np.clip(noisy, (-90, -180), (90, 180)) * MICRODEGREES).astype(int):
        yield Query(Signal(ANY_SPACE, noise, tuple(values.tolist())), k, card.name)


def _beyond(collection: Collection, some: Collection, crowd: _Floats) -> Estimate:
    """How much farther the nearest of some items is."""
    return mean_of(_nearest(some, crowd) - _nearest(collection, crowd))


def _nearest(collection: Collection, crowd: _Floats) -> _Floats:
    return np.array([_kilometers(here, collection.coordinates).min() for here in crowd])


def _kilometers(here: _Floats, there: _Floats) -> _Floats:
    a, b = np.radians(here), np.radians(there)
    half = np.sin((b - a) / 2) ** 2
    share = half[:, 0] + np.cos(a[0]) * np.cos(b[:, 0]) * half[:, 1]
    return np.asarray(2 * 6371.0088 * np.arcsin(np.sqrt(np.minimum(1.0, share))))
