"""A metric model: a card, its collections, and where people are expected to be.

A collection says where its items are, what they are called, and what is known of them. Of the
server's storage, this is the one module that tells maps from axes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from askew.catalog.item import MAX_WORDS, Attribute, AttributeKind, Listing
from askew.errors import DataError, DimensionMismatch, OutOfRange, ParameterError
from askew.limits import MAX_NAME, VERSION_BYTES
from askew.protocol.metric_card import CollectionCard, MetricCard, MetricRule, MetricRuleKind
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace
from askew_server.collections.columns import UNKNOWN, Column, Titles, Words, is_of_kind, named
from askew_server.taste.model.directory import Strict


@dataclass(frozen=True, eq=False)
class Collection:
    """An item's id is its row. coordinates: (n, d) float64, degrees of latitude and longitude on a
    map, else one value an axis. columns: one an attribute of the card, in their order.
    """

    card: CollectionCard
    coordinates: NDArray[np.float64] = field(repr=False)
    titles: Titles = field(repr=False)
    columns: tuple[Column, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for part in (self.coordinates, self.titles, *self.columns):
            if len(part) != self.card.n_items:
                raise DimensionMismatch(len(part), self.card.n_items)
        if len(self.columns) != len(self.card.attributes):
            raise DimensionMismatch(len(self.columns), len(self.card.attributes))
        for attribute, column in zip(self.card.attributes, self.columns, strict=True):
            if not is_of_kind(column, attribute.kind):
                raise OutOfRange(f"the column {attribute.name}", f"a {attribute.kind}'s")

    def __len__(self) -> int:
        return self.card.n_items

    def listings(self, items: Iterable[int]) -> tuple[Listing, ...]:
        """The items of these ids, whole, in the given order."""
        rows = np.fromiter(items, np.int64)
        coordinates = map(tuple, self.coordinates[rows].tolist())
        columns = [column.take(rows) for column in self.columns]
        values = zip(*columns, strict=True) if columns else repeat((), len(rows))
        return tuple(map(Listing, rows.tolist(), self.titles.take(rows), coordinates, values))

    def check(self) -> None:
        """Raises OutOfRange for a title or a value that no reply could carry, and for a version
        that is not its content's. O(n); whoever made the columns of checked values does without.
        """
        self.titles.check("the titles")
        for attribute, column in zip(self.card.attributes, self.columns, strict=True):
            column.check(f"the column {attribute.name}")
        attributes = self.card.attributes
        if self.card.version != version_of(attributes, self.coordinates, self.titles, self.columns):
            raise OutOfRange("the version of a collection", "its content's")

    def with_live(self, columns: Mapping[str, Column]) -> Collection:
        """The same items with other live values; nothing else is copied.

        Raises ParameterError for a name that is no live attribute.
        """
        live = {each.name for each in self.card.attributes if each.live}
        if unknown := sorted(columns.keys() - live):
            raise ParameterError("live", unknown[0], f"one of {', '.join(sorted(live)) or 'none'}")
        names = [each.name for each in self.card.attributes]
        pairs = zip(names, self.columns, strict=True)
        return replace(self, columns=tuple([columns.get(name, old) for name, old in pairs]))


def collection_of(  # noqa: PLR0913 - what a collection is made of
    name: str,
    attributes: tuple[Attribute, ...],
    coordinates: NDArray[np.float64],
    titles: Titles,
    columns: tuple[Column, ...],
    *,
    source: str,
    simulated: bool,
) -> Collection:
    """A collection of these items, with the version of what they are."""
    version = version_of(attributes, coordinates, titles, columns)
    card = CollectionCard(
        name, version, len(titles), source, simulated, with_words(attributes, columns)
    )
    return Collection(card, coordinates, titles, columns)


def with_words(attributes: Iterable[Attribute], columns: Iterable[Column]) -> tuple[Attribute, ...]:
    """The attributes, each category with what it may be: few words, which devices list."""
    return tuple(
        replace(attribute, words=_words_of(attribute, column))
        for attribute, column in zip(attributes, columns, strict=True)
    )


def _words_of(attribute: Attribute, column: Column) -> tuple[str, ...]:
    if attribute.kind is not AttributeKind.CATEGORY or attribute.live:
        return ()
    if not isinstance(column, Words):
        return ()
    used = [code for code in np.unique(column.codes).tolist() if code != UNKNOWN]
    words = sorted({column.vocabulary[code] for code in used[: MAX_WORDS + 1]})
    return (
        tuple(words)
        if len(words) <= MAX_WORDS and max(map(len, words), default=0) <= MAX_NAME
        else ()
    )


def version_of(
    attributes: tuple[Attribute, ...],
    coordinates: NDArray[np.float64],
    titles: Titles,
    columns: tuple[Column, ...],
) -> str:
    """32 hexadecimal digits: a digest of titles, positions and whatever is not live."""
    fixed = [each for each in zip(attributes, columns, strict=True) if not each[0].live]
    arrays: dict[str, NDArray[Any]] = {
        "coordinates": coordinates,
        "titles": titles.blob,
        "ends": titles.ends,
    }
    for at, (_, column) in enumerate(fixed):
        arrays.update(named(str(at), column.arrays))
    said = [[a.name, a.kind, a.unit] for a, _ in fixed]
    shapes = {name: array.shape for name, array in arrays.items()}
    digest = hashlib.sha256(json.dumps(["collection", said, shapes]).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[: 2 * VERSION_BYTES]


LATITUDE = ("latitude", "lat")
LONGITUDE = ("longitude", "lon", "lng")
Mask = NDArray[np.bool_]


class RegionFields(Strict, frozen=True, tag="map", tag_field="kind"):
    """A map, as it stands in a card."""

    region: tuple[float, float, float, float]

    def space(self) -> MetricSpace:
        """Raises ParameterError as the core does."""
        return MapSpace(Area(*self.region))


class AxisFields(Strict, frozen=True):
    """An axis, as it stands in a card or in a file of axes."""

    name: str
    unit: str
    low: float
    high: float
    scale: float = 1.0


class AxesFields(Strict, frozen=True, tag="axes", tag_field="kind"):
    """Axes, as they stand in a card."""

    axes: Annotated[list[AxisFields], Meta(min_length=1, max_length=3)]

    def space(self) -> MetricSpace:
        """Raises OutOfRange as the core does."""
        return AxisSpace(tuple([Axis(**msgspec.structs.asdict(each)) for each in self.axes]))


SpaceFields = RegionFields | AxesFields


class _AxesFile(Strict, frozen=True):
    axes: Annotated[list[AxisFields], Meta(min_length=1, max_length=3)]


def fields_of(space: MetricSpace) -> SpaceFields:
    """What a card says of a space."""
    if isinstance(space, MapSpace):
        return RegionFields(astuple(space.area))
    return AxesFields([AxisFields(*astuple(axis)) for axis in space.axes])


def column_names(space: MetricSpace) -> tuple[tuple[str, ...], ...]:
    """The names that the column of each coordinate may have."""
    if isinstance(space, MapSpace):
        return LATITUDE, LONGITUDE
    return tuple([(axis.name,) for axis in space.axes])


def inside(space: MetricSpace, coordinates: NDArray[np.float64]) -> Mask:
    """Which of these points, (n, d), lie in the space; NaN lies nowhere."""
    if isinstance(space, MapSpace):
        return _in_area(space.area, coordinates)
    low, high = np.array([(axis.low, axis.high) for axis in space.axes]).T
    within: Mask = ((coordinates >= low) & (coordinates <= high)).all(axis=1)
    return within


def swapped(space: MetricSpace, coordinates: NDArray[np.float64]) -> Mask:
    """Which points outside would lie in the space if latitude and longitude were swapped."""
    if isinstance(space, MapSpace):
        return ~inside(space, coordinates) & inside(space, coordinates[:, ::-1])
    return np.zeros(len(coordinates), np.bool_)


def words_of(space: MetricSpace) -> str:
    """The space, for an operator."""
    if isinstance(space, MapSpace):
        return f"the region {space.area.words}"
    return ", ".join(f"{a.name} from {a.low:g} to {a.high:g} {a.unit}" for a in space.axes)


def space_of_region(text: str) -> MapSpace:
    """The map of "south/west/north/east". Raises ParameterError."""
    try:
        south, west, north, east = map(float, text.split("/"))
    except ValueError:
        limit = "south/west/north/east in degrees, such as 47/5/55/16"
        raise ParameterError("region", text, limit) from None
    return MapSpace(Area(south, west, north, east))


def space_of_axes(path: Path) -> AxisSpace:
    """The axes of a TOML file. Raises DataError."""
    try:
        fields = msgspec.toml.decode(path.read_bytes(), type=_AxesFile)
        return AxisSpace(tuple([Axis(**msgspec.structs.asdict(each)) for each in fields.axes]))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, OutOfRange) as error:
        raise DataError(f"{path}: no file of axes: {error}") from None


def _in_area(area: Area, coordinates: NDArray[np.float64]) -> Mask:
    latitude, longitude = coordinates[:, 0], coordinates[:, 1]
    # Of floats as `Area` has it of fractions: a longitude may round onto the edge, no further.
    with np.errstate(invalid="ignore"):
        east = np.mod(longitude - area.west, 360.0)
        north = (latitude >= area.south) & (latitude <= area.north)
        return np.asarray(north & (np.abs(longitude) <= 180) & (east <= float(area.width)))


NO_DENSITY = "none"
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
    """What a server of collections serves; `collections` by name, one a collection of the card."""

    card: MetricCard
    collections: Mapping[str, Collection] = field(repr=False)
    towns: Towns | None = field(default=None, repr=False)

    @property
    def words(self) -> str:
        """What it is, for an operator."""
        n_items = sum(map(len, self.collections.values()))
        return f"{n_items} items, {', '.join(self.collections)}"

    def with_live(self, columns: Mapping[str, Mapping[str, Column]]) -> MetricModel:
        """The same with other live values, by collection and attribute; nothing else is copied."""
        changed = {
            name: self.collections[name].with_live(each) for name, each in columns.items() if each
        }
        return replace(self, collections={**self.collections, **changed})


def model_of(
    space: MetricSpace,
    collections: Sequence[Collection],
    towns: Towns | None = None,
    rule: MetricRuleKind | None = None,
    largest: int = 64,
) -> MetricModel:
    """A model of collections over one space, that answers `largest` items, or as many as there
    are. rule: else `posterior` with towns and `items` without.

    Raises OutOfRange for two collections of one name, and ParameterError for a rule that needs
    towns where there are none.
    """
    if rule is None:
        rule = MetricRuleKind.ITEMS if towns is None else MetricRuleKind.POSTERIOR
    if rule is MetricRuleKind.POSTERIOR and towns is None:
        raise ParameterError("rule", str(rule), "another without a list of towns")
    uses = towns is not None and rule is MetricRuleKind.POSTERIOR
    density = f"{len(towns.people):,} towns, {towns.source}" if towns and uses else NO_DENSITY
    cards = tuple([each.card for each in collections])
    size = min(largest, max(map(len, collections)))
    card = MetricCard(space, cards, size, MetricRule(rule, density))
    return MetricModel(card, {each.card.name: each for each in collections}, towns)
