"""Distinct privacy units per item, at most Delta items a unit: what a mechanism is given.

Which Delta items of a unit count is decided by a keyed hash of the unit's own items and by nothing
else. So one unit more or less changes at most Delta counts by one each, for every key: the
sensitivities need no secrecy. The key is secret, and new for every count, so that nobody who can
write events chooses which ones stay.

A catalog makes its items public, so it cannot be the event log: those items are people's. Its items
match events that are written in the same bytes, and no others: "65.0" is not 65. Who does not know
it pays for noise. Whether an item has events is private; whether it can have any is not: the type
of the log's column and the catalog say it.
"""

from __future__ import annotations

import glob
import hmac
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from askew.errors import DataError, ParameterError
from askew.noise.randomness import RandomBits
from askew_server.counting import statements
from askew_server.counting.contract import (
    KEY_BYTES,
    CountingTask,
    Engine,
    EventSource,
    TopCounts,
    is_file,
    is_pattern,
    is_text_file,
    table_parts,
)
from askew_server.counting.statements import DIALECTS, carried

# Two columns that are called so, beside "id", make a header of a first line beyond doubt.
_USUAL = {
    *("user", "item", "movie", "film", "unit", "person", "customer", "product", "rating"),
    *("timestamp", "time", "date", "title", "name"),
}


def count_top(engine: Engine, task: CountingTask, key: bytes) -> TopCounts:
    """Return the tuples `items`, as text, and `counts` of a task, largest count first, ties by the
    items' bytes, the same on every engine that has the same events: all items of a catalog, or the
    first task.limit.

    One unit more or less changes each count by at most 1, and task.max_items_per_unit counts;
    without a bound every count, and the key chooses nothing. Events of items outside the catalog
    are dropped before bounding, so they take no unit's places. Events without a unit or an item are
    dropped: were they refused, one unit's event would decide between answer and error.

    Raises DataError for a table, column or id type that cannot be counted, and for an engine that
    fails; ParameterError for a key of another length than KEY_BYTES, 32.
    """
    if len(key) != KEY_BYTES:
        raise ParameterError("the length of the bounding key", len(key), f"{KEY_BYTES} bytes")
    names = require_events(engine, task)
    if task.catalog is not None:
        names |= _catalog_names(engine, task, task.catalog)
    statement = statements.counting(task, engine.dialect)
    chosen_by = {} if task.max_items_per_unit is None else {"secret": bounding_secret(key)}
    rows = engine.execute(carried(statement, names, engine.dialect), chosen_by)
    items, counts = zip(*rows, strict=True) if rows else ((), ())
    return TopCounts(tuple(map(str, items)), tuple(map(int, counts)))


def count_events(engine: Engine, bits: RandomBits, task: CountingTask) -> TopCounts:
    """Return the counts of a task, as `count_top`, under a new secret key of these bits, which
    nothing keeps.
    """
    return count_top(engine, task, bits.read(KEY_BYTES))


def require_countable(engine: Engine, task: CountingTask, least_items: int = 1) -> int | None:
    """Return how many different items the catalog has, or None without one, once neither log nor
    catalog raises the DataError of `require_events` or `catalog_size`.
    """
    require_events(engine, task)
    return catalog_size(engine, task, least_items)


def require_events(engine: Engine, task: EventSource) -> dict[str, str]:
    """Return the SQL of the table of events and its columns, by its stand-in in statements: for
    log.csv {"events_table": '"askew_file_1"', "unit_column": '"unit" COLLATE "C"', "item_column":
    '"item" COLLATE "C"'}. Reads no event. Raises DataError for a table or column that is not there,
    and for a column of a type that cannot be counted.
    """
    columns = {"unit_column": task.unit_column, "item_column": task.item_column}
    return _checked(engine, task.events, "events_table", engine.table(task.events), columns)


def catalog_size(engine: Engine, task: CountingTask, least_items: int = 1) -> int | None:
    """Return how many different items the catalog has; None without one. Does not look at the log.

    Raises DataError for a column or id type that cannot be counted, and for a catalog that is the
    event log, that has rows that are no items, or fewer items than least_items.
    """
    if task.catalog is None:
        return None
    require_public(task.catalog, task.events)
    items = _catalog_items(engine, task, task.catalog)
    column = task.item_column
    if missing := items.pop(None, 0):
        raise DataError(f"{task.catalog}: {missing} rows have no value in column {column!r}")
    if broken := engine.broken_lines(task.catalog, {column}):
        raise DataError(f"{task.catalog}: {broken} lines do not have its columns")
    if len(items) < least_items:
        raise DataError(
            f"{task.catalog}: it has {len(items)} different items; at least {least_items} are"
            " needed"
        )
    return len(items)


def catalog_remarks(engine: Engine, task: CountingTask) -> list[str]:
    """Return the sentences of `remarks` on the catalog's items; none without a catalog. Looks at
    the catalog and at the type of the log's column, at no event. Raises DataError where no item can
    match.
    """
    if task.catalog is None:
        return []
    type_name = engine.columns(engine.table(task.events))[task.item_column]
    items = {str(item): n for item, n in _catalog_items(engine, task, task.catalog).items() if item}
    return remarks(task, items, type_name, engine.dialect)


def remarks(task: EventSource, items: Mapping[str, int], type_name: str, dialect: str) -> list[str]:
    """Return a sentence for each kind of item that may not match an event: of another type than the
    column, padded with spaces, or listed more than once; with how many there are and one of them.

    items: of the catalog, with how often each stands there. type_name: of the log's item column.
    Raises DataError where no item can match.
    """
    catalog = task.catalog or "the catalog"
    words, sentences = DIALECTS[dialect], []
    if items and not words.has_text(type_name):
        # As every engine writes one.
        pattern = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        if type_name.lower() != "uuid":
            pattern = "0|-?[1-9][0-9]*"
        others = [item for item in items if not re.fullmatch(pattern, item)]
        kind = f"{task.events} has column {task.item_column!r} of the type {type_name}, in which"
        if len(others) == len(items):
            raise DataError(
                f"{kind} no item of {catalog} can be, such as {others[0][:40]!r}: every count would"
                " be zero. Write the catalog's items as the log's column has them"
            )
        if others:
            sentences.append(
                f"{kind} {len(others)} of {len(items)} items of {catalog} cannot be, such as"
                f" {others[0][:40]!r}: nobody can have chosen them."
            )
    if padded := [item for item in items if item != item.strip()]:
        sentences.append(
            f"{len(padded)} items of {catalog} begin or end with a space or a return, such as"
            f" {padded[0][:40]!r}; they match only events that are written so."
        )
    if twice := [item for item, rows in items.items() if rows > 1]:
        sentences.append(
            f"{len(twice)} items of {catalog} stand there more than once, such as"
            f" {twice[0][:40]!r}; each is one item."
        )
    return sentences


def _catalog_items(engine: Engine, task: CountingTask, catalog: str) -> dict[str | None, int]:
    # By item, in the order of its bytes; rows without an item under None.
    names = _catalog_names(engine, task, catalog)
    rows = engine.execute(carried(statements.CATALOG_ITEMS, names, engine.dialect))
    return {None if item is None else str(item): int(str(n)) for item, n in rows}


def bounding_secret(key: bytes) -> str:
    """Return the first 32 hexadecimal digits of an HMAC-SHA-256 of a constant under the key. An
    engine gets them, and may log them, in place of the key.
    """
    return hmac.digest(key, b"askew contribution bounding", "sha256").hex()[:32]


def _catalog_names(engine: Engine, task: CountingTask, catalog: str) -> dict[str, str]:
    table = engine.table(catalog, public=True)
    columns = {"catalog_item_column": task.item_column}
    return _checked(engine, catalog, "catalog_table", table, columns)


def _checked(
    engine: Engine, source: str, stand_in: str, table: tuple[str, ...], columns: dict[str, str]
) -> dict[str, str]:
    types, dialect = engine.columns(table), DIALECTS[engine.dialect]
    names = {stand_in: dialect.quoted(*table)}
    for place, column in columns.items():
        if column not in types:
            raise DataError(_no_column(source, column, tuple(types), tuple(columns.values())))
        if not dialect.has_ids(types[column]):
            raise DataError(
                f"{source}: column {column!r} has the type {types[column]};"
                " ids must be text, integers or UUIDs, which every engine writes alike"
            )
        names[place] = dialect.named(column, types[column])
    return names


def _no_column(source: str, column: str, columns: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    # The columns that are there are named, unless they may be somebody's event.
    words = [re.sub("[^a-z]", "", name.lower()).removesuffix("id") for name in columns]
    is_header = bool(set(columns) & set(wanted)) or sum(word in _USUAL for word in words) >= 2
    if is_text_file(source) and not is_header:
        there = "its first line must name the columns, and is not shown, as it may be an event"
    else:
        there = "it has " + ", ".join(map(repr, columns))
    alike = " of one type in all of its files" if is_pattern(source) else ""
    others = "--unit-column and --item-column name others"
    return f"{source}: there is no column {column!r}{alike}; {there}; {others}"


def require_public(catalog: str, events: str) -> None:
    """Raise DataError for a catalog that is the event log, or a part of it; else return nothing.

    The same file by whatever name, link or pattern (device and inode), or the same table; a name
    without a schema may mean any schema's. A copy or a view of the log is not recognized.
    """
    if is_file(catalog) and is_file(events):
        files = set(_identities(catalog))
        is_same = catalog == events or not files.isdisjoint(_identities(events))
    elif is_file(catalog) or is_file(events):
        is_same = False
    else:
        parts, others = (table_parts(name.casefold()) for name in (catalog, events))
        named = min(len(parts), len(others))
        is_same = parts[-named:] == others[-named:]
    if is_same:
        raise DataError(
            f"{catalog}: it is the event log itself, or may be; its items are not public."
            " A catalog lists every item there is, whoever chose it"
        )


def _identities(name: str) -> Iterator[tuple[int, int]]:
    # Device and inode, in folders too.
    names = [name] if Path(name).exists() else glob.glob(name, recursive=True)  # noqa: PTH207
    for path in map(Path, names):
        for file in path.rglob("*") if path.is_dir() else (path,):
            status = file.stat()
            yield status.st_dev, status.st_ino
