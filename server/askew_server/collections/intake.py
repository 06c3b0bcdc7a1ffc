"""A collection, a list of towns or live values from a file: every row is checked, none is lost
silently.

A column has a role, and the role says what makes a row bad. Of a bad row the first reason counts.
Values are values as they come, without a Python object an item.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from askew.catalog.attributes import (
    COLUMN_OF,
)
from askew.catalog.item import MAX_ATTRIBUTES, Attribute, AttributeKind
from askew.errors import ArtifactError, DataError, ParameterError
from askew.protocol.collection import Collection, collection_of, curve_order
from askew.protocol.metric_card import MAX_ITEMS
from askew.spaces.map import MapSpace, MetricSpace
from askew_server.collections import artifact
from askew_server.collections.artifact import (
    Keys,
    live_path,
    one_writer,
    read_live,
    write_live,
)
from askew_server.collections.model import Towns, column_names, inside, swapped, words_of
from askew_server.collections.roles import (
    AttributeColumn,
    FileColumn,
    KeyColumn,
    Mask,
    TitleColumn,
    guess,
    number_column,
    people_column,
)
from askew_server.collections.wants import default_wants, named_wants
from askew_server.tables import BAD_SHARE, Omissions, Table, open_table

_KEY = ("key", "id")
_TITLE = ("title", "name")
_PEOPLE = ("population", "people")
_GUESSED_FROM = 10_000  # rows


@dataclass(frozen=True)
class AttributeOption:
    """A column that becomes an attribute, as an operator names it; the kind may be left to us."""

    name: str
    kind: AttributeKind | None = None
    unit: str = ""
    live: bool = False

    @classmethod
    def parsed(cls, text: str, *, live: bool = False) -> AttributeOption:
        """Read the option "NAME", "NAME=KIND" or "NAME=KIND:UNIT". Raises ParameterError."""
        name, _, rest = text.partition("=")
        kind, _, unit = rest.partition(":")
        if not name or (kind and kind not in list(AttributeKind)):
            limit = f"NAME, NAME=KIND or NAME=KIND:UNIT with a kind of {', '.join(AttributeKind)}"
            raise ParameterError("live" if live else "attribute", text, limit)
        return cls(name, AttributeKind(kind) if kind else None, unit, live)

    def attribute(self, kind: AttributeKind) -> Attribute:
        """Return what it becomes. Raises OutOfRange for a name that is no plain text."""
        return Attribute(self.name, kind, self.live, self.unit)


@dataclass(frozen=True)
class CollectionFile:
    """A collection as an operator names it, or new values of one. day: one of the week whose hours
    count; source: where its items come from, in words; max_bad_rows: the share of rows that may be
    no rows, or lack what each must have.
    """

    name: str
    path: Path
    day: datetime.date
    source: str = ""
    simulated: bool = False
    max_bad_rows: float = BAD_SHARE

    @property
    def monday(self) -> datetime.date:
        """Return the first day of the week whose hours count."""
        return self.day - datetime.timedelta(self.day.weekday())


@dataclass(frozen=True)
class ReadCollection:
    """A collection that was read. omissions: rows that were left out; unknown: values that could
    not be read. unused: columns of the file that no reply will show.
    """

    collection: Collection
    keys: Keys | None = field(repr=False)
    omissions: Omissions
    unknown: Omissions
    unused: tuple[str, ...]


@dataclass(frozen=True)
class LiveUpdate:
    """What an update did. columns: the live columns that the file has."""

    n_items: int
    columns: tuple[str, ...]
    omissions: Omissions
    unknown: Omissions


@dataclass(frozen=True)
class Told:
    """Who is told what is being done, and how much of it."""

    step: Callable[[str], None] = lambda _: None
    share: Callable[[float], object] = lambda _: None
    note: Callable[[str], None] = lambda _: None


NOBODY = Told()


def read_collection(
    file: CollectionFile,
    space: MetricSpace,
    options: Sequence[AttributeOption] = (),
    told: Told = NOBODY,
    wants: Sequence[str] | None = None,
) -> ReadCollection:
    """Read the items of a file, along a curve, so that neighbors follow each other.

    Options name attributes; those of columns that it lacks do not count, but for live ones of a
    declared kind, whose values are unknown until the first update. Keys are read where values are
    live. day: one of the week whose hours count. wants: as an operator names them; else those by
    default. Raises DataError for a file that cannot be read, that lacks a title or a coordinate, or
    of which no row is usable.
    """
    table = _opened(file.path, told)
    points = _points(table, space)
    title = TitleColumn(_found(table, _TITLE))
    attributes = _attributes(table, options, file.monday)
    is_live = any(attribute.live for attribute, _ in attributes)
    has_key = is_live and any(name in table.columns for name in _KEY)
    keys = [KeyColumn(_found(table, _KEY))] if has_key else []
    present = [values for _, values in attributes if values is not None]
    rows = _CheckedRows(table, [*points, title, *keys, *present], told, file.max_bad_rows)
    rows.refuse_outside(space, points)
    for each in keys:
        rows.refuse_again(each.digests())
    count = rows.kept()
    coordinates = _rounded(space, _coordinates(points, rows.good))
    order = curve_order(coordinates)
    columns = [
        COLUMN_OF[attribute.kind].unknown(count) if values is None else values.column(rows.good)
        for attribute, values in attributes
    ]
    collection = collection_of(
        file.name,
        tuple([attribute for attribute, _ in attributes]),
        coordinates[order],
        title.titles(rows.good).part(order),
        tuple([each.part(order) for each in columns]),
        source=file.source,
        simulated=file.simulated,
    )
    card = collection.card
    wanted = (
        default_wants(card.attributes, collection.columns)
        if wants is None
        else named_wants(wants, card.attributes)
    )
    collection = replace(collection, card=replace(card, wants=wanted))
    halves = Keys(*keys[0].digests()[rows.good][order].T.copy()) if keys else None
    return ReadCollection(collection, halves, rows.omissions, rows.unknown, rows.unused)


def read_towns(
    path: Path,
    space: MetricSpace,
    source: str,
    told: Told = NOBODY,
    max_bad_rows: float = BAD_SHARE,
) -> tuple[Towns, Omissions]:
    """Read the towns of a file that lie in the space. Return them, and what was left out.

    Raises DataError as read_collection does.
    """
    table = _opened(path, told)
    points, people = _points(table, space), people_column(_found(table, _PEOPLE))
    rows = _CheckedRows(table, [*points, people], told, max_bad_rows)
    rows.refuse_outside(space, points)
    rows.kept()
    return Towns(_coordinates(points, rows.good), people.found[rows.good], source), rows.omissions


def update_live(
    directory: Path, file: CollectionFile, told: Told = NOBODY, *, strict: bool = False
) -> LiveUpdate:
    """Write the live values of a collection anew, with those of a file in place of its own.

    Raises DataError for a file without a key and a live column, or of which no row is usable, or
    if `strict` any is not or any value is unknown; ArtifactError for a model without keys, or with
    a live file that cannot be read: without it the items that are not named would lose their
    values. Then nothing changes.
    """
    with one_writer(directory):
        numbers = {each.name: each.number for each in artifact.read_card(directory).collections}
        if file.name not in numbers:
            there = ", ".join(numbers)
            raise DataError(f"{directory} has no collection {file.name}; it has {there}")
        number = numbers[file.name]
        keys = artifact.read_keys(directory, number)
        if keys is None:
            what = "without a column key or id, or without --live"
            raise ArtifactError(f"{file.name} was made {what}: no item can be named")
        collection = artifact.load(directory).collections[file.name]
        place = live_path(directory, number)
        if place.exists():
            collection = collection.with_live(read_live(place, collection))
        update, changed = _changed(file, collection, keys, told)
        if strict and (said := [*update.omissions.lines, *update.unknown.lines]):
            raise DataError(
                f"{file.path}: not all of it is usable, and nothing was changed: {'; '.join(said)}"
            )
        told.step(f"writing {place.name}")
        write_live(place, changed)
        return update


def _changed(
    file: CollectionFile, collection: Collection, keys: Keys, told: Told
) -> tuple[LiveUpdate, Collection]:
    """Return what a file changes, and the collection with its values."""
    table = _opened(file.path, told)
    key = KeyColumn(_found(table, _KEY))
    live = [each for each in collection.card.attributes if each.live]
    columns = [
        (each, AttributeColumn(each.name, each.kind, file.monday))
        for each in live
        if each.name in table.columns
    ]
    if not columns:
        known = ", ".join([each.name for each in live]) or "none"
        raise DataError(f"{file.path}: no live column; those of {file.name} are: {known}")
    rows = _CheckedRows(table, [key, *[values for _, values in columns]], told, file.max_bad_rows)
    rows.refuse_again(key.digests())
    items = _items_of(keys, key.digests())
    rows.refuse(items < 0, "no item has its key")
    rows.kept()
    items = items[rows.good]
    # Any: a column of the attribute's kind, as are the new values.
    now: dict[Attribute, Any] = dict(
        zip(collection.card.attributes, collection.columns, strict=True)
    )
    new = {
        each.name: now[each].changed(items, values.column(rows.good)) for each, values in columns
    }
    update = LiveUpdate(len(items), tuple(new), rows.omissions, rows.unknown)
    return update, collection.with_live(new)


class _CheckedRows:
    """The rows of a table, of which each column has taken its text. good: which of them stay;
    unknown: the optional values that could not be read, by reason.

    Raises DataError where more rows are bad than a share.
    """

    def __init__(
        self, table: Table, columns: Sequence[FileColumn], told: Told, max_bad_rows: float
    ) -> None:
        self._path, self.omissions, self.unknown = table.path, table.omissions(), table.omissions()
        names = list(dict.fromkeys(name for column in columns for name in column.names))
        self.unused = tuple([name for name in table.columns if name not in names])
        numbers, good = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        for batch in table.batches(names, self.omissions):
            texts = dict(zip(names, batch.texts, strict=True))
            stays = np.ones(len(batch.rows), np.bool_)
            unknown: list[tuple[int, str]] = []
            for column in columns:
                faults = column.take(_filled([texts[name] for name in column.names]))
                if column.is_optional:
                    unknown += faults
                    continue
                for at, reason in faults:
                    if stays[at]:
                        self.omissions.add(int(batch.rows[at]), reason, batch.file)
                    stays[at] = False
            for at, reason in unknown:
                if stays[at]:
                    self.unknown.add(int(batch.rows[at]), reason, batch.file)
            numbers.append(batch.rows)
            good.append(stays)
            told.share(batch.share)
        self._numbers, self.good = np.concatenate(numbers), np.concatenate(good)
        self.omissions.refuse_many(int(self.good.sum()), max_bad_rows)

    def refuse(self, bad: Mask, reason: str) -> None:
        """Leave these rows out, too."""
        for row in self._numbers[self.good & bad].tolist():
            self.omissions.add(row, reason)
        self.good &= ~bad

    def refuse_outside(self, space: MetricSpace, points: Sequence[FileColumn]) -> None:
        """Leave out what lies outside the space, and say where positions look swapped."""
        coordinates = np.column_stack([each.found for each in points])
        outside = ~inside(space, coordinates)
        reason = f"it lies outside {words_of(space)}"
        if count := int((swapped(space, coordinates) & self.good).sum()):
            reason += f"; {count:,} would lie in it with latitude and longitude swapped"
        self.refuse(outside, reason)

    def refuse_again(self, keys: NDArray[np.uint64]) -> None:
        """Keep the last of rows that have one key."""
        rows = np.flatnonzero(self.good)
        rows = rows[np.lexsort((rows, *keys[rows].T))]
        again = np.zeros(len(self.good), np.bool_)
        again[rows[:-1][(keys[rows[:-1]] == keys[rows[1:]]).all(axis=1)]] = True
        self.refuse(again, "its key stands on a later row again")

    def kept(self) -> int:
        """Return how many rows stay. Raises DataError for none, or more than a server holds."""
        count = int(self.good.sum())
        self.omissions.refuse_many(count, 1.0)
        if count > MAX_ITEMS:
            raise DataError(
                f"{self._path}: {count:,} rows; a collection holds at most {MAX_ITEMS:,}"
            )
        return count


def _opened(path: Path, told: Told) -> Table:
    """Return the table of a file, of which all that it has may have to be found first."""
    told.step(f"reading {path.name}")
    table = open_table(path)
    for note in table.notes:
        told.note(note)
    return table


def _found(table: Table, names: tuple[str, ...]) -> list[str]:
    """Return those of these columns that it has. Raises DataError where there is none."""
    found = [name for name in names if name in table.columns]
    if not found:
        has = ", ".join(table.columns)
        raise DataError(f"{table.path}: no column {' or '.join(names)}; it has {has}")
    return found


def _points(table: Table, space: MetricSpace) -> list[FileColumn]:
    return [number_column(_found(table, names)) for names in column_names(space)]


def _coordinates(points: Sequence[FileColumn], good: Mask) -> NDArray[np.float64]:
    return np.column_stack([each.found[good] for each in points])


def _rounded(space: MetricSpace, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round positions on a map to five decimals, about a meter, unless that is outside of it."""
    if not isinstance(space, MapSpace):
        return coordinates
    rounded = np.round(coordinates, 5)
    return np.where(inside(space, rounded)[:, np.newaxis], rounded, coordinates)


def _attributes(
    table: Table, options: Sequence[AttributeOption], monday: datetime.date
) -> list[tuple[Attribute, AttributeColumn | None]]:
    """Return the attributes that the file has, each with its column; a live one of a declared kind
    may also be unknown at first. Raises DataError.
    """
    found: list[tuple[Attribute, AttributeColumn | None]] = []
    for option in options:
        if option.name in table.columns:
            kind = option.kind or guess(table.beginning(option.name, _GUESSED_FROM))
            found.append((option.attribute(kind), AttributeColumn(option.name, kind, monday)))
        elif option.live and option.kind:
            found.append((option.attribute(option.kind), None))
    if len(found) > MAX_ATTRIBUTES:
        raise DataError(f"{table.path}: at most {MAX_ATTRIBUTES} attributes are shown")
    return found


def _plain(texts: pa.Array) -> pa.Array:
    """Return texts with every kind of space as a plain one, and none around them."""
    if not compute.all(compute.string_is_ascii(texts)).as_py():
        texts = compute.replace_substring_regex(texts, r"\p{Zs}", " ")
    return compute.utf8_trim(texts, " ")


def _filled(columns: Sequence[pa.Array]) -> list[str]:
    """Return, of each row, the first text of these columns that is filled."""
    found, *others = map(_plain, columns)
    for each in others:
        found = compute.if_else(compute.equal(found, ""), each, found)
    texts: list[str] = found.to_pylist()
    return texts


def _items_of(keys: Keys, wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the place of the item of each of these digests, or -1."""
    near = np.flatnonzero(np.isin(keys.upper, wanted[:, 0]))
    halves = zip(keys.upper[near].tolist(), keys.lower[near].tolist(), strict=True)
    item_of = dict(zip(halves, near.tolist(), strict=True))
    return np.array([item_of.get((upper, lower), -1) for upper, lower in wanted.tolist()], np.int64)
