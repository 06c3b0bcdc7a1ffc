"""A collection, or a list of towns, from a file: every row is checked, none is lost silently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError
from askew.metric.map_space import MetricSpace
from askew_server.collections.artifact import MAX_ITEMS, Keys
from askew_server.collections.attribute_columns import AttributeOption
from askew_server.collections.collection import Collection, collection_of
from askew_server.collections.columns import COLUMN_OF
from askew_server.collections.intake import Intake, duckdb_session
from askew_server.collections.layout import Layout
from askew_server.collections.model import Towns
from askew_server.collections.omissions import Omissions
from askew_server.collections.rows import rows_of
from askew_server.collections.spaces import inside, swapped, words_of
from askew_server.counting.engines.duckdb_failures import duckdb_failures
from askew_server.stoppable import Progress, of_duckdb

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
