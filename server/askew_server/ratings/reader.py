"""Reads files of ratings or of items, leaving out and counting the bad rows."""

from __future__ import annotations

from pathlib import Path

from askew_server.ratings import fields
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import ItemFormat, item_format
from askew_server.ratings.parts import Asked, parts_of, size_at
from askew_server.ratings.rating_files import RatingFiles
from askew_server.ratings.rejects import RejectLog
from askew_server.ratings.source import Progress
from askew_server.ratings.split_lines import text_rows
from askew_server.ratings.table import ItemRow, RatingTable, Rejects

LEAST_BYTES = 1 << 20  # of what is worth the start of reading by columns


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
    files = RatingFiles(path, Asked(counts is not None, times))
    for part in parts:
        read = files.read_columns if size >= LEAST_BYTES else files.read_rows
        read(part, progress and _after(done, size, progress))
        done += size_at(part.path)
    return files.table(counts), files.rejects.summary()


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
    for line, row in text_rows(path, layout.text, rejects, progress):
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


def _item(row: list[str], layout: ItemFormat) -> tuple[str, ItemRow]:
    key = fields.key("item", row[layout.item])
    fields.check_marks("title", row[layout.title])
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
