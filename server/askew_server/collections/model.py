"""A metric model: a card, its collections, and where people are expected to be.

Of the server's storage, this is the one module that tells maps from axes.

*Wants*, what people may care about besides distance, are named by an operator, or by default. The
default knows columns alone and nothing of anybody's use:

    .15   prices: numbers whose unit is a currency. Each has five rates, .5 to 10 kilometers for as
          much as a price differs from another, half of what lies between the 16 % and the 84 %
    .20   kinds: each flag that an item has, and each word of a category with few words, evenly
    rest  nothing but distance
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from askew.catalog.attributes import Column, Flags, Numbers
from askew.catalog.catalog_file import Part
from askew.catalog.item import Attribute, AttributeKind
from askew.errors import DataError, OutOfRange, ParameterError
from askew.protocol.cards import MAX_SLATE, MAX_WANTS, MetricCard, MetricRuleKind, Want
from askew.protocol.collection import Collection
from askew.protocol.signal import Query
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace
from askew_server.taste.directory import Strict

LATITUDE = ("latitude", "lat")
LONGITUDE = ("longitude", "lon", "lng")
Mask = NDArray[np.bool_]


class _AxisFields(Strict, frozen=True):
    name: str
    unit: str
    low: float
    high: float
    scale: float = 1.0


class _AxesFile(Strict, frozen=True):
    axes: Annotated[list[_AxisFields], Meta(min_length=1, max_length=3)]


def column_names(space: MetricSpace) -> tuple[tuple[str, ...], ...]:
    """Return for each coordinate the names that its column may have: (("latitude", "lat"),
    ("longitude", "lon", "lng")) on a map, else the name of each axis, (("hour",),).
    """
    if isinstance(space, MapSpace):
        return LATITUDE, LONGITUDE
    return tuple([(axis.name,) for axis in space.axes])


def inside(space: MetricSpace, coordinates: NDArray[np.float64]) -> Mask:
    """Return a mask (n,) of the points (n, d) that lie in the space, edges included; NaN, and a
    longitude beyond 180 degrees, lies nowhere.
    """
    if isinstance(space, MapSpace):
        area, (latitude, longitude) = space.area, coordinates.T
        # Of floats as `Area` has it of fractions: a longitude may round onto the edge, no further.
        with np.errstate(invalid="ignore"):
            east = np.mod(longitude - area.west, 360.0)
            north = (latitude >= area.south) & (latitude <= area.north)
            return np.asarray(north & (np.abs(longitude) <= 180) & (east <= float(area.width)))
    low, high = np.array([(axis.low, axis.high) for axis in space.axes]).T
    within: Mask = ((coordinates >= low) & (coordinates <= high)).all(axis=1)
    return within


def swapped(space: MetricSpace, coordinates: NDArray[np.float64]) -> Mask:
    """Return a mask (n,) of the points outside the space that would lie in it if latitude and
    longitude were swapped; nothing but False for axes.
    """
    if isinstance(space, MapSpace):
        return ~inside(space, coordinates) & inside(space, coordinates[:, ::-1])
    return np.zeros(len(coordinates), np.bool_)


def describe_space(space: MetricSpace) -> str:
    """Return the space in words for an operator: "the region 47/5/55/16", or each axis from its low
    to its high end, "hour from 0 to 24 h, price from 5 to 50 EUR".
    """
    if isinstance(space, MapSpace):
        return f"the region {space.area.words}"
    return ", ".join(f"{a.name} from {a.low:g} to {a.high:g} {a.unit}" for a in space.axes)


def space_of_region(text: str) -> MapSpace:
    """Return the map of a text "south/west/north/east", in degrees. Raises ParameterError for
    another text, and for numbers that bound no area.
    """
    try:
        south, west, north, east = map(float, text.split("/"))
    except ValueError:
        limit = "south/west/north/east in degrees, such as 47/5/55/16"
        raise ParameterError("region", text, limit) from None
    return MapSpace(Area(south, west, north, east))


def space_of_axes(path: Path) -> AxisSpace:
    """Return the space of the axes in a TOML file, in its order: one to three tables [[axes]] of
    name, unit, low, high and, unless it is 1, scale. Raises DataError where the file cannot be
    read, or holds anything else.
    """
    try:
        fields = msgspec.toml.decode(path.read_bytes(), type=_AxesFile)
        return AxisSpace(tuple([Axis(**msgspec.structs.asdict(axis)) for axis in fields.axes]))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, OutOfRange) as error:
        raise DataError(f"{path}: no file of axes: {error}") from None


MOST_PEOPLE = 1e11  # of a town; far more would be infinitely many in 32 bits


@dataclass(frozen=True, eq=False)
class Towns:
    """A public density of people, as points: coordinates (m, d) like a collection's, people (m,)
    positive, at most MOST_PEOPLE. It may come from a csv of towns with their populations, never
    from who asked.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    people: NDArray[np.float64] = field(repr=False)
    source: str


@dataclass(frozen=True, eq=False)
class MetricModel:
    """What a server of collections serves; `collections` by name, one a collection of the card.
    files: what devices may hold of it.
    """

    card: MetricCard
    collections: Mapping[str, Collection] = field(repr=False)
    towns: Towns | None = field(default=None, repr=False)
    files: Mapping[Part, bytes] = field(default_factory=dict, repr=False)

    @property
    def words(self) -> str:
        """Return the model in words for an operator, all items and the names of its collections:
        "36000 items, food, pharmacies".
        """
        n_items = sum(map(len, self.collections.values()))
        return f"{n_items} items, {', '.join(self.collections)}"

    def asked(self, query: Query) -> Collection:
        """Return the collection whose number a question names. Raises NotFound where there is
        none.
        """
        return self.collections[self.card.collection(query.collection).name]

    def with_live(self, columns: Mapping[str, Mapping[str, Column]]) -> MetricModel:
        """Return the model with these live values in place of its own, by collection and attribute;
        others stay, and are not copied.
        """
        changed = {
            name: self.collections[name].with_live(values)
            for name, values in columns.items()
            if values
        }
        return replace(self, collections={**self.collections, **changed})


def model_of(
    space: MetricSpace,
    collections: Sequence[Collection],
    towns: Towns | None = None,
    rule: MetricRuleKind | None = None,
    largest: int = MAX_SLATE,
) -> MetricModel:
    """Return a model of collections over one space, that answers at most `largest` items. rule:
    None takes `posterior` with towns and `items` without.

    Raises OutOfRange for no collection, and two of one name or number; ParameterError for a rule
    that needs towns where there are none.
    """
    if rule is None:
        rule = MetricRuleKind.ITEMS if towns is None else MetricRuleKind.POSTERIOR
    if rule is MetricRuleKind.POSTERIOR and towns is None:
        raise ParameterError("rule", str(rule), "another without a list of towns")
    density = "none"
    if towns is not None and rule is MetricRuleKind.POSTERIOR:
        density = f"{len(towns.people):,} towns, {towns.source}"
    cards = tuple([collection.card for collection in collections])
    card = MetricCard(space, cards, largest, rule, density)
    return MetricModel(card, {part.card.name: part for part in collections}, towns)


_PRICES, _KINDS = 0.15, 0.20
_RATES = (0.5, 1.25, 2.5, 5.0, 10.0)
_SIGNS = """
€ $ £ ¥ ₹ ₽ ₩ ₺ euro aud bgn brl cad chf clp cny czk dkk eur gbp hkd huf idr ils inr isk jpy krw mxn
myr nok nzd php pln ron rsd rub sek sgd thb try uah usd vnd zar
"""
_CURRENCIES = frozenset(_SIGNS.split())


def default_wants(attributes: Sequence[Attribute], columns: Sequence[Column]) -> tuple[Want, ...]:
    """Return the wants that a collection takes where its operator names none: of each of the first
    three prices whose spread (half of what lies between its 16 % and 84 %) is above 0 five rates,
    .5, 1.25, 2.5, 5 and 10 km over the spread, to two digits, .15 of weight together; then "yes" of
    each flag that is live or that an item has, and each of `attribute.words`, .20 together, evenly.
    At most 64 in all.
    """
    pairs = [*zip(attributes, columns, strict=True)]
    prices = [
        (attribute.name, spread)
        for attribute, column in pairs
        if is_price(attribute) and (spread := _spread(column)) > 0
    ][: MAX_WANTS // 4 // len(_RATES)]
    weight = _PRICES / len(_RATES) / max(1, len(prices))
    rates = [
        Want(name, weight, rate=float(f"{kilometers / spread:.2g}"))
        for name, spread in prices
        for kilometers in _RATES
    ]
    # Every flag that some item has, or may have once it is live; then every word.
    words = [
        (attribute.name, "yes")
        for attribute, column in pairs
        if isinstance(column, Flags) and (attribute.live or (column.values == 1).any())
    ]
    words += [(attribute.name, word) for attribute, _ in pairs for word in attribute.words]
    words = words[: MAX_WANTS - len(rates)]
    return (*rates, *[Want(name, _KINDS / len(words), word) for name, word in words])


def is_price(attribute: Attribute) -> bool:
    """Return True for a number attribute whose unit is a currency, or a currency by something, in
    any case: "EUR/kWh", "usd", "€"; False for "kWh" and "".
    """
    unit = attribute.unit.partition("/")[0].strip().casefold()
    return attribute.kind is AttributeKind.NUMBER and unit in _CURRENCIES


def named_wants(texts: Iterable[str], attributes: Sequence[Attribute]) -> tuple[Want, ...]:
    """Return the wants of options "COLUMN=WORD:WEIGHT" or, of a number, "COLUMN=RATE:WEIGHT", in
    their order; those of columns that are no attributes are left out. Raises ParameterError for
    another text, as for a weight that is not above 0 and at most 1.
    """
    kinds, wants = {attribute.name: attribute.kind for attribute in attributes}, []
    for text in texts:
        option, _, weight = text.rpartition(":")
        name, _, value = option.partition("=")
        try:
            if kinds.get(name) is AttributeKind.NUMBER:
                wants.append(Want(name, float(weight), rate=float(value)))
            else:
                wants.append(Want(name, float(weight), value))
        except (ValueError, OutOfRange):
            limit = "COLUMN=WORD:WEIGHT, of a number COLUMN=KILOMETERS:WEIGHT, weights at most 1"
            raise ParameterError("want", text, limit) from None
    return tuple([want for want in wants if want.attribute in kinds])


def _spread(column: Column) -> float:
    # Half of what lies between 16 % and 84 %: a normal law's standard deviation.
    values = column.values[~np.isnan(column.values)] if isinstance(column, Numbers) else np.empty(0)
    if not len(values):
        return 0.0
    low, high = np.percentile(values.astype(np.float64), [16, 84])
    return float(high - low) / 2
