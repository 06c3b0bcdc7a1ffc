"""New live values from a file of keys and values; items that it does not name keep theirs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection

from askew.catalog.listing import Attribute
from askew.errors import ArtifactError, DataError
from askew_server.collections import artifact
from askew_server.collections.artifact import Keys
from askew_server.collections.collection import Collection
from askew_server.collections.intake import AttributeOption, Intake, Omissions
from askew_server.collections.live import live_path, one_writer, read_live, write_live
from askew_server.collections.reading import NOBODY, Layout, Told, taken


@dataclass(frozen=True)
class LiveUpdate:
    """What an update did. columns: the live columns that the file has."""

    n_items: int
    columns: tuple[str, ...]
    omissions: Omissions


def update_live(
    directory: Path, name: str, path: Path, told: Told = NOBODY, *, strict: bool = False
) -> LiveUpdate:
    """Writes the live values of a collection anew, with those of a file in place of its own.

    Raises DataError for a file without a key and a live column, or of which no row is usable, or
    if `strict` any is not; ArtifactError for a model without keys, or with a live file that cannot
    be read: without it the items that are not named would lose their values. Then nothing changes.
    """
    with one_writer(directory):
        fields = artifact.read_card(directory)
        names = [each.name for each in fields.collections]
        if name not in names:
            raise DataError(f"{directory} has no collection {name}; it has {', '.join(names)}")
        number = names.index(name)
        keys = artifact.read_keys(directory, number)
        if keys is None:
            raise ArtifactError(f"{name} was made without a column key or id: no item can be named")
        collection = artifact.load(directory).collections[name]
        place = live_path(directory, number)
        if place.exists():
            collection = collection.with_live(read_live(place, collection))
        update, changed = _read(path, collection, keys, told)
        if strict and update.omissions.count:
            said = "; ".join(update.omissions.lines)
            raise DataError(f"{path}: rows that cannot be used, and nothing was changed: {said}")
        told.step(f"writing {place.name}")
        write_live(place, changed)
        return update


def _read(
    path: Path, collection: Collection, keys: Keys, told: Told
) -> tuple[LiveUpdate, Collection]:
    attributes = [each for each in collection.card.attributes if each.live]
    options = [AttributeOption(a.name, a.kind, a.unit, live=True) for a in attributes]

    def take(layout: Layout, connection: DuckDBPyConnection) -> tuple[LiveUpdate, Collection]:
        layout.key()
        columns = [
            (attribute, column)
            for attribute, column in layout.attributes(options, connection, only_present=True)
            if column is not None
        ]
        if not columns:
            known = ", ".join([each.name for each in attributes]) or "none"
            raise DataError(f"{path}: no live column; those of {collection.card.name} are: {known}")
        intake = Intake(connection, layout.rows, layout.texts, layout.fields)
        told.step(f"finding the items of {path.name}")
        intake.refuse_duplicates("key", "its key stands on a later row again")
        intake.refuse_unknown(keys.upper, keys.lower, "no item has its key")
        if not intake.keep():
            said = "; ".join(intake.omissions().lines) or "it has no rows"
            raise DataError(f"{path}: no row of it is usable: {said}")
        changed = _changed(collection, intake, columns)
        [items] = intake.numbers("item")
        found = tuple([attribute.name for attribute, _ in columns])
        return LiveUpdate(len(items), found, intake.omissions()), changed

    return taken(path, told, take)


def _changed(
    collection: Collection, intake: Intake, columns: list[tuple[Attribute, str]]
) -> Collection:
    [items] = intake.numbers("item")
    # Any: a column of the attribute's kind, as are the new values.
    now: dict[Attribute, Any] = dict(
        zip(collection.card.attributes, collection.columns, strict=True)
    )
    return collection.with_live(
        {
            attribute.name: now[attribute].changed(
                items.astype(np.int64), intake.column(attribute.kind, column)
            )
            for attribute, column in columns
        }
    )
