"""A collection, or a list of towns, from a file: every row is checked, none is lost silently.

Which columns of a file become what, and what makes a row of them bad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew.catalog.listing import MAX_ATTRIBUTES, MAX_HOURS, Attribute, AttributeKind
from askew.errors import DataError
from askew.limits import FEW_MARKS, MAX_TEXT
from askew.spaces.map import MetricSpace
from askew_server.collections.artifact import MAX_ITEMS, Keys
from askew_server.collections.collection import Collection, collection_of
from askew_server.collections.columns import COLUMN_OF
from askew_server.collections.intake import (
    AttributeOption,
    Field,
    Intake,
    Omissions,
    duckdb_session,
    guess,
    has_few_marks,
    is_plain,
    plain,
    value,
)
from askew_server.collections.model import (
    MOST_PEOPLE,
    Towns,
    column_names,
    inside,
    swapped,
    words_of,
)
from askew_server.collections.rows import Rows, rows_of
from askew_server.counting.engines.duckdb import duckdb_failures
from askew_server.interruptible import Progress, of_duckdb

_KEY = ("key", "id")
_TITLE = ("title", "name")
_PEOPLE = ("population", "people")
_KEY_LIMIT = 200
_GUESSED_FROM = 10_000  # rows
_Columns = list[tuple[Attribute, str | None]]


class Layout:
    """Fields that a reader asks of the rows of a file, one method a role."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.texts: list[tuple[str, str]] = []
        self.fields: list[Field] = []

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns of the file that nobody asked for."""
        used = {column for _, column in self.texts}
        return tuple([name for name in self.rows.columns if name not in used])

    def has_key(self) -> bool:
        """Asks for a key, if the file has one."""
        column = self.rows.first_of(_KEY)
        if column is not None:
            self._ask("key", column)
            self._add("key", "key", "key IS NULL", f"its {column} is empty")
            long = f"its {column} is longer than {_KEY_LIMIT} characters"
            self._add(None, "", f"length(key) > {_KEY_LIMIT}", long)
        return column is not None

    def key(self) -> None:
        """Asks for a key. Raises DataError where there is none."""
        self._found(_KEY)
        self.has_key()

    def title(self) -> None:
        """Asks for a title."""
        column = self._found(_TITLE)
        self._ask("title", column)
        self._add("title", "title", "title IS NULL", f"its {column} is empty")
        long = f"its {column} is longer than {MAX_TEXT} characters"
        self._add(None, "", f"length(title) > {MAX_TEXT}", long)
        self._add(None, "", f"NOT {has_few_marks('title')}", f"its {column} is no {FEW_MARKS}")
        odd = f"its {column} has control characters, or some that are invisible"
        self._add(None, "", f"NOT {is_plain('title')}", odd)

    def coordinates(self, space: MetricSpace) -> tuple[str, ...]:
        """Asks for a number of each axis, or latitude and longitude; gives their names."""
        names = [self._number(f"x{at}", each) for at, each in enumerate(column_names(space))]
        return tuple(names)

    def people(self) -> None:
        """Asks for a number of people."""
        column = self._found(_PEOPLE)
        name = self._number("people", _PEOPLE)
        number = f"TRY_CAST({name} AS DOUBLE)"
        fault = f"({number} <= 0 OR {number} > {MOST_PEOPLE})"
        self._add(None, "", fault, f"its {column} is not above 0, or above {MOST_PEOPLE:g}")

    def attributes(
        self,
        options: Sequence[AttributeOption],
        connection: duckdb.DuckDBPyConnection,
        *,
        only_present: bool = False,
    ) -> _Columns:
        """Asks for the columns of these options that the file has; a live one of a declared kind
        may also be unknown at first, unless only what is present counts. Raises DataError.
        """
        found: _Columns = []
        for option in options:
            name = f"a{len(found)}"
            if option.name in self.rows.columns:
                kind = option.kind or self._guess(option.name, connection)
                self._attribute(name, option.name, kind)
                found.append((option.attribute(kind), name))
            elif option.live and option.kind and not only_present:
                found.append((option.attribute(option.kind), None))
        if len(found) > MAX_ATTRIBUTES:
            raise DataError(f"{self.rows.path}: at most {MAX_ATTRIBUTES} attributes are shown")
        return found

    def _attribute(self, name: str, column: str, kind: AttributeKind) -> None:
        self._ask(name, column)
        typed = value(kind, name)
        bad = f"{name} IS NOT NULL AND ({typed}) IS NULL"
        long = f" of at most {MAX_HOURS} characters" if kind is AttributeKind.HOURS else ""
        self._add(name, typed, bad, f"its {column} is no {kind}{long}")

    def _guess(self, column: str, connection: duckdb.DuckDBPyConnection) -> AttributeKind:
        text = f"SELECT {self.rows.field(column)} AS v FROM {self.rows.relation}"
        sample = f"(SELECT {plain('v')} AS v FROM ({text} LIMIT {_GUESSED_FROM}))"
        return guess(connection, "v", sample)

    def _number(self, name: str, columns: tuple[str, ...]) -> str:
        column = self._found(columns)
        self._ask(name, column)
        number = f"TRY_CAST({name} AS DOUBLE)"
        fits = f"coalesce(isfinite({number}) AND NOT contains({name}, '_'), false)"
        self._add(name, number, f"NOT {fits}", f"its {column} is no finite number")
        return name

    def _found(self, names: tuple[str, ...]) -> str:
        column = self.rows.first_of(names)
        if column is None:
            has = ", ".join(self.rows.columns)
            raise DataError(f"{self.rows.path}: no column {' or '.join(names)}; it has {has}")
        return column

    def _ask(self, name: str, column: str) -> None:
        self.texts.append((name, column))

    def _add(self, name: str | None, sql: str, fault: str, reason: str) -> None:
        self.fields.append(Field(name, sql, fault, reason))


_T = TypeVar("_T")
# The two halves of a key's digest: a name for it of one size, no secret.
KEY_HALVES = "md5_number_upper(key) AS upper", "md5_number_lower(key) AS lower"


@dataclass(frozen=True)
class CollectionFile:
    """A collection as an operator names it. source: where its items come from, in words."""

    name: str
    path: Path
    source: str
    simulated: bool = False


@dataclass(frozen=True)
class Reading:
    """A collection that was read. unused: columns of the file that no reply will show."""

    collection: Collection
    keys: Keys | None = field(repr=False)
    omissions: Omissions
    unused: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """Who is told what is being done, and how much of it."""

    step: Callable[[str], None] = lambda _: None
    share: Progress | None = None


NOBODY = Told()


def read_collection(
    file: CollectionFile,
    space: MetricSpace,
    options: Sequence[AttributeOption] = (),
    told: Told = NOBODY,
) -> Reading:
    """The items of a file. Options name attributes; those of columns that it lacks do not count,
    but for live ones of a declared kind, whose values are unknown until the first update.

    Raises DataError for a file that cannot be read, that lacks a title or a coordinate, or of which
    no row is usable.
    """

    def take(layout: Layout, connection: duckdb.DuckDBPyConnection) -> Reading:
        axes = layout.coordinates(space)
        layout.title()
        has_key = layout.has_key()
        columns = layout.attributes(options, connection)
        intake = Intake(connection, layout.rows, layout.texts, layout.fields)
        told.step(f"checking {file.path.name}")
        _check_positions(intake, space, axes)
        if has_key:
            intake.refuse_duplicates("key", "its key stands on a later row again")
        n_items = _kept(intake, file.path)
        told.step(f"packing {file.path.name}")
        collection = collection_of(
            file.name,
            tuple([attribute for attribute, _ in columns]),
            _points(intake, axes),
            intake.texts("title"),
            tuple(
                [
                    COLUMN_OF[each.kind].unknown(n_items)
                    if name is None
                    else intake.column(each.kind, name)
                    for each, name in columns
                ]
            ),
            source=file.source,
            simulated=file.simulated,
        )
        keys = Keys(*intake.numbers(*KEY_HALVES)) if has_key else None
        return Reading(collection, keys, intake.omissions(), layout.unused)

    return taken(file.path, told, take)


def read_towns(
    path: Path, space: MetricSpace, source: str, told: Told = NOBODY
) -> tuple[Towns, Omissions]:
    """The towns of a file that lie in the space, and what was left out.

    Raises DataError as read_collection does.
    """

    def take(layout: Layout, connection: duckdb.DuckDBPyConnection) -> tuple[Towns, Omissions]:
        axes = layout.coordinates(space)
        layout.people()
        intake = Intake(connection, layout.rows, layout.texts, layout.fields)
        _check_positions(intake, space, axes)
        _kept(intake, path)
        [people] = intake.numbers("people")
        return Towns(_points(intake, axes), people, source), intake.omissions()

    return taken(path, told, take)


def taken(path: Path, told: Told, take: Callable[[Layout, duckdb.DuckDBPyConnection], _T]) -> _T:
    """What is taken of a file, by its columns and the database that reads them. Ctrl-C ends it at
    DuckDB's next statement, or the one at work.
    """
    with duckdb_failures(str(path)), duckdb_session() as connection:
        told.step(f"reading {path.name}")
        found = of_duckdb(connection, told.share).result(
            lambda: take(Layout(rows_of(path, connection)), connection)
        )
    if told.share is not None:
        told.share(1.0)
    return found


def _check_positions(intake: Intake, space: MetricSpace, axes: tuple[str, ...]) -> None:
    """Leaves out what lies outside the space, and says where positions look swapped."""
    rows, *numbers = intake.good_numbers(*axes)
    coordinates = np.column_stack(numbers)
    reason = f"it lies outside {words_of(space)}"
    if count := int(swapped(space, coordinates).sum()):
        reason += f"; {count:,} would lie in it with latitude and longitude swapped"
    intake.refuse(rows[~inside(space, coordinates)], reason)


def _kept(intake: Intake, path: Path) -> int:
    """How many rows stay. Raises DataError for none, or more than a server holds."""
    n_rows = intake.keep()
    if not n_rows:
        said = "; ".join(intake.omissions().lines) or "it has no rows"
        raise DataError(f"{path}: no row of it is usable: {said}")
    if n_rows > MAX_ITEMS:
        raise DataError(f"{path}: {n_rows:,} rows; a collection holds at most {MAX_ITEMS:,}")
    return n_rows


def _points(intake: Intake, axes: tuple[str, ...]) -> NDArray[np.float64]:
    return np.column_stack(intake.numbers(*axes))
