"""Reads files of ratings or of items, leaving out and counting the bad rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from askew.errors import DataError
from askew_server.ratings import fields
from askew_server.ratings.builder import TableBuilder
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import ItemFormat, RatingFormat, TextFormat, item_format
from askew_server.ratings.parquet import parquet_ratings
from askew_server.ratings.parts import Asked, Part, parts_of, size_at
from askew_server.ratings.rejects import RejectLog
from askew_server.ratings.source import Progress, numbered_lines
from askew_server.ratings.table import ItemRow, RatingTable, Rejects

if TYPE_CHECKING:
    from askew_server.ratings.columns import Columns


LEAST_BYTES = 1 << 20  # of what is worth DuckDB's start
Fields = tuple[int, str, str, str, str]
"""Line, user, item, rating and time, as text."""


def read_ratings(
    path: Path,
    *,
    counts: float | None = None,
    times: bool = False,
    progress: Progress | None = None,
) -> tuple[RatingTable, Rejects]:
    """The ratings of a file, or of the files of a folder one after the other, and the rows that
    were left out.

    A row is left out when it has another number of fields than the format, an empty user or
    item, or a rating that is no finite number, and when the same person rates the same item again
    further down. `progress` is told the bytes done and in total.
    counts: where the column of ratings holds counts, such as plays, the least that is a like.
    times: whether to keep when each rating was made.

    Raises DataError when the format is unknown, the file cannot be read or no row is usable; and
    for a rating beyond -1000 to 1000 or a count below 0, since what remains without the strongest
    rows would be another file.
    """
    parts, size, done = parts_of(path), size_at(path), 0
    rejects, builder = RejectLog(path), TableBuilder()
    for part in parts:
        rejects.begin(part.path)
        asked = Asked(counts is not None, times, progress and _after(done, size, progress))
        columns = _columns(part, asked) if size >= LEAST_BYTES else None
        builder.begin(part.path, columns)
        rows = (
            _all_rows(part, rejects, asked)
            if columns is None
            else _odd_rows(part, columns, rejects)
        )
        _add(rows, builder, rejects, asked)
        done += size_at(part.path)
    table = builder.table(rejects, counts)
    return table, rejects.summary()


def read_items(
    path: Path, *, progress: Progress | None = None
) -> tuple[dict[str, ItemRow], Rejects]:
    """The items of a file by key, and the rows that were left out; of two rows the last stays.

    Raises DataError when the format is unknown, the file cannot be read or no row is usable.
    """
    layout = item_format(path)
    rejects = RejectLog(path)
    items: dict[str, ItemRow] = {}
    lines: dict[str, int] = {}
    for line, row in _text_rows(path, layout.text, rejects, progress):
        try:
            key, item = _item(row, layout)
        except BadField as reason:
            rejects.add(line, reason)
            continue
        if key in items:
            rejects.add(lines[key], f"listed again on line {line}")
        items[key], lines[key] = item, line
    if not items:
        raise rejects.nothing_good("item")
    return items, rejects.summary()


def titled(key: str) -> ItemRow:
    """The item of a checked key that is a title: "Heat (1995)"."""
    title, year = fields.title_and_year(key)
    return ItemRow(title, year, ())


def _after(before: int, size: int, progress: Progress) -> Progress:
    """Progress in one file of several, after the bytes of others; a second look at a file tells
    nothing until it is farther than the first.
    """
    told = before

    def tell(done: int, _: int) -> None:
        nonlocal told
        if before + done > told:
            told = before + done
            progress(told, size)

    return tell


def _add(rows: Iterator[Fields], builder: TableBuilder, rejects: RejectLog, asked: Asked) -> None:
    """Judge rows one by one."""
    for line, user, item, rating, time in rows:
        try:
            value = fields.number(rating)
            at = fields.time(time) if asked.times else None
            builder.add(line, fields.key("user", user), fields.key("item", item), value, at)
        except BadField as reason:
            rejects.add(line, reason)
            continue
        if not fields.is_on_scale(value, counts=asked.counts):
            raise _another_scale(rejects.file, line, counts=asked.counts)


def _another_scale(path: Path, line: int, *, counts: bool) -> DataError:
    limit = "a count must be at least 0"
    if not counts:
        limit = (
            f"a rating must be between -{fields.RATING_LIMIT} and {fields.RATING_LIMIT}; counts, "
            "such as plays, are read by `train --counts`"
        )
    return DataError(f"{path}, line {line}: {limit}. Nothing of the file was used")


def _all_rows(part: Part, rejects: RejectLog, asked: Asked) -> Iterator[Fields]:
    if part.layout is None:
        yield from parquet_ratings(part.path, asked.progress)
        return
    for line, row in _text_rows(part.path, part.layout.text, rejects, asked.progress):
        yield _fields(line, row, part.layout)


def _columns(part: Part, asked: Asked) -> Columns | None:
    from askew_server.ratings.columns import parquet_columns, text_columns  # duckdb takes a while

    if part.layout is None:
        return parquet_columns(part.path, asked)
    return text_columns(part.path, part.layout, asked)


def _odd_rows(part: Part, columns: Columns, rejects: RejectLog) -> Iterator[Fields]:
    """The rows that were not plainly good, split as all others would be."""
    numbers = (columns.first + columns.odd).tolist()
    if part.layout is None:
        for line, (user, item, rating, time) in zip(numbers, columns.texts, strict=True):
            yield line, user, item, rating, time
        return
    lines = ((line, text) for line, (text,) in zip(numbers, columns.texts, strict=True))
    for line, row in _split_rows(lines, part.layout.text, rejects):
        yield _fields(line, row, part.layout)


def _fields(line: int, row: list[str], layout: RatingFormat) -> Fields:
    """The line, user, item, rating and time of a row."""
    time = "" if layout.time is None else row[layout.time]
    return line, row[layout.user], row[layout.item], row[layout.rating], time


def _item(row: list[str], layout: ItemFormat) -> tuple[str, ItemRow]:
    key = fields.key("item", row[layout.item])
    title, year = fields.title_and_year(row[layout.title])
    if layout.year is not None:
        year = fields.year(row[layout.year]) or year
    return key, ItemRow(title, year, _genres(row, layout))


def _genres(row: list[str], layout: ItemFormat) -> tuple[str, ...]:
    if layout.genres is None:
        return ()
    if layout.flags:
        return fields.flagged_genres(row[layout.genres :], layout.flags)
    return fields.joined_genres(row[layout.genres])


def _text_rows(
    path: Path, text: TextFormat, rejects: RejectLog, progress: Progress | None
) -> Iterator[tuple[int, list[str]]]:
    """The rows with the right number of fields; the others go to the rejects."""
    lines = numbered_lines(path, text.encoding, progress)
    if text.has_header:
        next(lines)
    return _split_rows(lines, text, rejects)


def _split_rows(
    lines: Iterator[tuple[int, str]], text: TextFormat, rejects: RejectLog
) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines:
        try:
            row = _split(line, text)
        except BadField as reason:
            rejects.add(number, reason)
            continue
        yield number, row


def _split(line: str, text: TextFormat) -> list[str]:
    if "\0" in line:
        raise BadField("row", "text without NUL characters", line)
    row = line.split(text.separator)
    # The csv module is only needed, and several times slower, where there are quotes.
    if text.separator == "," and '"' in line:
        row = _split_quoted(line)
    if len(row) != text.n_fields:
        raise BadField("row", f"{text.n_fields} fields separated by {text.separator!r}", line)
    return row


def _split_quoted(line: str) -> list[str]:
    try:
        return next(csv.reader((line,), strict=True))
    except csv.Error as error:
        raise BadField("row", f"one line of csv ({error})", line) from error
