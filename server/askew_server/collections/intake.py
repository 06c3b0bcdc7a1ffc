"""A collection, a list of towns or live values from a file: every row is checked, none is lost
silently.

A column has a role, and the role says what makes a row bad. Of a bad row the first reason counts.
Values are values as they come, without a Python object an item.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from askew.catalog.attributes import COLUMN_OF
from askew.catalog.item import MAX_ATTRIBUTES, Attribute, AttributeKind
from askew.errors import ArtifactError, DataError, ParameterError
from askew.protocol.cards import MAX_ITEMS
from askew.protocol.collection import Collection, collection_of, curve_order
from askew.spaces.map import MapSpace, MetricSpace
from askew_server.collections import artifact
from askew_server.collections.artifact import Keys, live_path, with_live_file, write_live
from askew_server.collections.model import (
    Towns,
    column_names,
    default_wants,
    describe_space,
    inside,
    named_wants,
    swapped,
)
from askew_server.collections.roles import (
    AttributeColumn,
    FileColumn,
    KeyColumn,
    Mask,
    TitleColumn,
    guess_kind,
    number_column,
    people_column,
)
from askew_server.folders import one_writer
from askew_server.tables import Table, open_table
from askew_server.tables.rows import MOST_BAD, Omissions, Progress

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
        """Return the option of a text "NAME", "NAME=KIND" or "NAME=KIND:UNIT"; the kind is None and
        the unit "" where they are not given. Raises ParameterError for an empty name, or a kind
        that is not number, flag, category or hours.
        """
        name, _, rest = text.partition("=")
        kind, _, unit = rest.partition(":")
        if not name or (kind and kind not in list(AttributeKind)):
            limit = f"NAME, NAME=KIND or NAME=KIND:UNIT with a kind of {', '.join(AttributeKind)}"
            raise ParameterError("live" if live else "attribute", text, limit)
        return cls(name, AttributeKind(kind) if kind else None, unit, live)


@dataclass(frozen=True)
class CollectionFile:
    """A collection as an operator names it, or new values of one. monday: of the week whose hours
    count; source: where its items come from, in words, else the file's name; max_bad_rows: the
    share of rows that may be no rows, or lack what each must have; before: a model whose live
    values its items keep, by their keys.
    """

    name: str
    path: Path
    monday: datetime.date
    source: str = ""
    max_bad_rows: float = MOST_BAD
    before: Path | None = None


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


LiveUpdate = tuple[int, tuple[str, ...], Omissions, Omissions]
"""How many items were updated, the live columns that the file has, rows that were left out, and
values that could not be read."""


def read_collection(
    file: CollectionFile,
    space: MetricSpace,
    options: Sequence[AttributeOption] = (),
    wants: Sequence[str] | None = None,
    *,
    progress: Progress = lambda _: None,
) -> ReadCollection:
    """Return a ReadCollection of a file: `collection`, its items in order along a curve, so that
    neighbors follow each other; `keys`, digests or None; `omissions`, rows left out; `unknown`,
    values that could not be read; and `unused`, columns. Degrees are rounded to five decimals.

    Options name attributes; those of columns that it lacks do not count, but for live ones of a
    declared kind, whose values are unknown until the first update. Keys are read where values are
    live; of rows with one key the last stays. wants: as an operator names them; else by default.
    progress: is called with how much of the file, from 0 to 1, was read. Raises ArtifactError for a
    model before it that cannot be read, and DataError for a file that cannot be read, that lacks a
    title or a coordinate, of which a larger share than max_bad_rows is bad, or no row is usable;
    rows outside of the space are left out, and not bad.
    """
    table = open_table(file.path)
    points = _points(table, space)
    title = TitleColumn(_present(table, _TITLE))
    attributes = _attributes(table, options, file.monday)
    is_live = any(attribute.live for attribute, _ in attributes)
    has_key = is_live and any(name in table.columns for name in _KEY)
    key = KeyColumn(_present(table, _KEY)) if has_key else None
    present = [values for _, values in attributes if values is not None]
    own = [*points, title, *([key] if key else []), *present]
    rows = _CheckedRows(table, own, progress, file.max_bad_rows)
    rows.refuse_outside(space, points)
    if key is not None:
        rows.refuse_again(key.digests())
    count = rows.count()
    coordinates = np.column_stack([point.values[rows.good] for point in points])
    if isinstance(space, MapSpace):
        # To five decimals, about a meter, unless that is outside of the map.
        rounded = np.round(coordinates, 5)
        coordinates = np.where(inside(space, rounded)[:, np.newaxis], rounded, coordinates)
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
        tuple([column.part(order) for column in columns]),
        source=file.source or file.path.name,
        simulated=False,
    )
    card = collection.card
    if wants is None:
        card = replace(card, wants=default_wants(card.attributes, collection.columns))
    else:
        card = replace(card, wants=named_wants(wants, card.attributes))
    keys = key.digests()[rows.good][order] if key is not None else None
    collection = replace(collection, card=card)
    if file.before is not None and keys is not None:
        collection = _with_live_of(file.before, collection, keys)
    return ReadCollection(collection, keys, rows.omissions, rows.unknown, rows.unused)


def read_towns(
    path: Path,
    space: MetricSpace,
    source: str,
    max_bad_rows: float = MOST_BAD,
    *,
    progress: Progress = lambda _: None,
) -> tuple[Towns, Omissions]:
    """Return the towns of a file, by a column population or people, that lie in the space, in its
    order, and what was left out. max_bad_rows: a share, by default .1. progress, and what is raised
    for a file: as in read_collection.
    """
    table = open_table(path)
    points, people = _points(table, space), people_column(_present(table, _PEOPLE))
    rows = _CheckedRows(table, [*points, people], progress, max_bad_rows)
    rows.refuse_outside(space, points)
    rows.count()
    coordinates = np.column_stack([point.values[rows.good] for point in points])
    return Towns(coordinates, people.values[rows.good], source), rows.omissions


def update_live(
    directory: Path,
    file: CollectionFile,
    *,
    strict: bool = False,
    progress: Progress = lambda _: None,
) -> LiveUpdate:
    """Write the live values of a collection anew, with those of a file in place of its own; return
    a tuple: how many items were updated, the names of the file's live columns, Omissions of rows
    that were left out, and Omissions of values that could not be read.

    Raises DataError for a file without a key and a live column, or of which no row is usable or too
    many are bad, or if `strict` any is not or any value is unknown; ArtifactError for a model
    without keys, or with a live file that cannot be read: without it the items that are not named
    would lose their values. Then nothing changes.
    """
    numbers = {card.name: card.number for card in artifact.read_card(directory).collections}
    with one_writer(directory):
        if file.name not in numbers:
            has = ", ".join(numbers)
            raise DataError(f"{directory} has no collection {file.name}; it has {has}")
        number = numbers[file.name]
        keys = artifact.read_keys(directory, number)
        if keys is None:
            what = "without a column key or id, or without --live"
            raise ArtifactError(f"{file.name} was made {what}: no item can be named")
        collection = with_live_file(directory, artifact.load(directory).collections[file.name])
        update, changed = _changed(file, collection, keys, progress)
        _, _, omissions, unknown = update
        if strict and (omissions.count or unknown.count):
            reasons = "; ".join([*omissions.lines, *unknown.lines, *omissions.notes])
            raise DataError(
                f"{file.path}: not all of it is usable, and nothing was changed: {reasons}"
            )
        write_live(live_path(directory, number), changed)
        return update


def _with_live_of(directory: Path, collection: Collection, keys: Keys) -> Collection:
    numbers = {card.name: card.number for card in artifact.read_card(directory).collections}
    number = numbers.get(collection.card.name)
    keys_there = None if number is None else artifact.read_keys(directory, number)
    if keys_there is None:
        return collection
    there = with_live_file(directory, artifact.load(directory).collections[collection.card.name])
    columns: dict[Attribute, Any] = dict(zip(there.card.attributes, there.columns, strict=True))
    items = _items_of(keys, keys_there)
    stays = np.flatnonzero(items >= 0)
    pairs = zip(collection.card.attributes, collection.columns, strict=True)
    live: dict[str, Any] = {
        attribute.name: column.changed(stays, columns[attribute].part(items[stays]))
        for attribute, column in pairs
        if attribute.live and attribute in columns
    }
    return collection.with_live(live)


def _items_of(wanted: Keys, keys: Keys) -> NDArray[np.int64]:
    """Return for each wanted key, (n,), the item that has it, by its place in `keys`; -1 where none
    has.
    """
    near = np.flatnonzero(np.isin(keys[:, 0], wanted[:, 0]))
    item_of = dict(zip(map(tuple, keys[near].tolist()), near.tolist(), strict=True))
    return np.array([item_of.get(tuple(digest), -1) for digest in wanted.tolist()], np.int64)


def _changed(
    file: CollectionFile, collection: Collection, keys: Keys, progress: Progress
) -> tuple[LiveUpdate, Collection]:
    table = open_table(file.path)
    key = KeyColumn(_present(table, _KEY))
    live = [attribute for attribute in collection.card.attributes if attribute.live]
    columns = [
        (attribute, AttributeColumn(attribute.name, attribute.kind, file.monday))
        for attribute in live
        if attribute.name in table.columns
    ]
    if not columns:
        names = ", ".join([attribute.name for attribute in live]) or "none"
        raise DataError(f"{file.path}: no live column; those of {file.name} are: {names}")
    own = [key, *[values for _, values in columns]]
    rows = _CheckedRows(table, own, progress, file.max_bad_rows)
    wanted = key.digests()
    rows.refuse_again(wanted)
    items = _items_of(wanted, keys)
    rows.refuse(items < 0, "no item has its key")
    rows.count()
    items = items[rows.good]
    # Any: a column of the attribute's kind, as are the new values.
    now: dict[Attribute, Any] = dict(
        zip(collection.card.attributes, collection.columns, strict=True)
    )
    new = {a.name: now[a].changed(items, values.column(rows.good)) for a, values in columns}
    update = len(items), tuple(new), rows.omissions, rows.unknown
    return update, collection.with_live(new)


class _CheckedRows:
    """The rows of a table, of which each column has taken its text. good: which of them stay;
    unknown: the optional values that could not be read, by reason.

    Raises DataError where more rows are bad than a share.
    """

    def __init__(
        self, table: Table, columns: Sequence[FileColumn], progress: Progress, max_bad_rows: float
    ) -> None:
        self._name, self.omissions, self.unknown = table.name, table.omissions(), table.omissions()
        names = list(dict.fromkeys(name for column in columns for name in column.names))
        self.unused = tuple([name for name in table.columns if name not in names])
        numbers, good = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        self._files = [""]  # of these parts
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
            self._files.append(batch.file)
            progress(batch.progress)
        self._ends = np.cumsum([len(part) for part in numbers])
        self._numbers, self.good = np.concatenate(numbers), np.concatenate(good)
        self.omissions.refuse_many(int(self.good.sum()), max_bad_rows)

    def refuse(self, bad: Mask, reason: str) -> None:
        """Leave out the rows of this mask, too, for this reason."""
        places = np.flatnonzero(self.good & bad)
        parts = np.searchsorted(self._ends, places, "right").tolist()
        for row, part in zip(self._numbers[places].tolist(), parts, strict=True):
            self.omissions.add(row, reason, self._files[part])
        self.good &= ~bad

    def refuse_outside(self, space: MetricSpace, points: Sequence[FileColumn]) -> None:
        """Leave out rows whose points lie outside the space; the reason says how many would lie in
        it with latitude and longitude swapped.
        """
        coordinates = np.column_stack([point.values for point in points])
        outside = ~inside(space, coordinates)
        reason = f"it lies outside {describe_space(space)}"
        if count := int((swapped(space, coordinates) & self.good).sum()):
            reason += f"; {count:,} would lie in it with latitude and longitude swapped"
        self.refuse(outside, reason)

    def refuse_again(self, keys: NDArray[np.uint64]) -> None:
        """Leave out all but the last of rows that have one key, of keys (rows, 2)."""
        rows = np.flatnonzero(self.good)
        rows = rows[np.lexsort((rows, *keys[rows].T))]
        again = np.zeros(len(self.good), np.bool_)
        again[rows[:-1][(keys[rows[:-1]] == keys[rows[1:]]).all(axis=1)]] = True
        self.refuse(again, "its key stands on a later row again")

    def count(self) -> int:
        """Return how many rows stay. Raises DataError for none, or more than MAX_ITEMS."""
        count = int(self.good.sum())
        self.omissions.refuse_many(count, 1.0)
        if count > MAX_ITEMS:
            raise DataError(
                f"{self._name}: {count:,} rows; a collection holds at most {MAX_ITEMS:,}"
            )
        return count


def _present(table: Table, names: tuple[str, ...]) -> list[str]:
    present = [name for name in names if name in table.columns]
    if not present:
        has = ", ".join(table.columns)
        raise DataError(f"{table.name}: no column {' or '.join(names)}; it has {has}")
    return present


def _points(table: Table, space: MetricSpace) -> list[FileColumn]:
    return [number_column(_present(table, names)) for names in column_names(space)]


def _attributes(
    table: Table, options: Sequence[AttributeOption], monday: datetime.date
) -> list[tuple[Attribute, AttributeColumn | None]]:
    attributes: list[tuple[Attribute, AttributeColumn | None]] = []
    for option in options:
        kind, column = option.kind, None
        if option.name in table.columns:
            kind = kind or guess_kind(option.name, table.beginning(option.name, _GUESSED_FROM))
            column = AttributeColumn(option.name, kind, monday)
        if kind and (column or option.live):  # a live one may be unknown at first
            attributes.append((Attribute(option.name, kind, option.live, option.unit), column))
    if len(attributes) > MAX_ATTRIBUTES:
        raise DataError(f"{table.name}: at most {MAX_ATTRIBUTES} attributes are shown")
    return attributes


def _plain(texts: pa.Array) -> pa.Array:
    # Every kind of space becomes a plain one, and none stays around a text.
    if not compute.all(compute.string_is_ascii(texts)).as_py():
        texts = compute.replace_substring_regex(texts, r"\p{Zs}", " ")
    return compute.utf8_trim(texts, " ")


def _filled(columns: Sequence[pa.Array]) -> list[str]:
    """Return for each row the first text of these columns that is filled, trimmed; "" where none
    is.
    """
    texts, *others = map(_plain, columns)
    for column in others:
        texts = compute.if_else(compute.equal(texts, ""), column, texts)
    return cast("list[str]", texts.to_pylist())
