"""Reads files of ratings or of items, leaving out and counting the bad rows.

Ratings are read by columns: the plainly good rows are taken all at once, and the others are judged
one by one in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np

from askew.errors import DataError
from askew_server.ratings import fields
from askew_server.ratings.builder import Flags, RatingRows, TableBuilder
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import (
    ItemFormat,
    RatingFile,
    RatingFormat,
    item_format,
    parts_of,
    size_at,
)
from askew_server.ratings.lines import Progress, blocks_or_lines, split_rows, text_rows
from askew_server.ratings.table import ItemRow, RatingTable, RejectLog, Rejects

_T = TypeVar("_T")
_Texts = tuple[str, str, str, str]
"""User, item, rating and time."""


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
    files = _RatingFiles(path, counts=counts is not None, times=times)
    for part in parts:
        files.read(part, progress and _after(done, size, progress))
        done += size_at(part.path)
    return files.builder.table(files.rejects, counts), files.rejects.summary()


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
    for line, row in text_rows(path, layout.text, rejects.add, progress):
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


class _RatingFiles:
    """Collects the ratings of files of one kind, and the rows that are left out."""

    def __init__(self, path: Path, *, counts: bool, times: bool) -> None:
        from askew_server.ratings.columns import Judge  # pyarrow takes a while

        self.rejects, self.builder = RejectLog(path), TableBuilder()
        self._counts, self._times = counts, times
        self._judge = Judge(self.builder.people, self.builder.items, counts=counts, times=times)

    def read(self, part: RatingFile, progress: Progress | None) -> None:
        """Reads a file."""
        self.rejects.begin(part.path)
        self.builder.begin(part.path)
        if part.layout is None:
            self._read_parquet(part.path, progress)
        else:
            self._read_text(part.path, part.layout, progress)

    def _read_text(self, path: Path, layout: RatingFormat, progress: Progress | None) -> None:
        from askew_server.ratings.columns import text_columns

        def judge(number: int, line: str) -> None:
            for at, row in split_rows([(number, line)], layout.text, self.rejects.add):
                time = "" if layout.time is None else row[layout.time]
                self._add_one(at, (row[layout.user], row[layout.item], row[layout.rating], time))

        for number, piece in blocks_or_lines(path, layout.text, progress):
            if isinstance(piece, str):
                judge(number, piece)
                continue
            columns, regular = text_columns(piece, layout, times=self._times)
            rows, good = self._judge.judged(columns)
            regular[regular] = good
            lines = [] if regular.all() else piece.decode().split("\n")
            odd = ((at, lines[at]) for at in np.flatnonzero(~regular).tolist())
            self._add(number, rows, good, odd, judge)

    def _read_parquet(self, path: Path, progress: Progress | None) -> None:
        from askew_server.ratings.columns import parquet_batches

        size = size_at(path)
        for first, share, columns in parquet_batches(path, times=self._times):
            rows, good = self._judge.judged(columns)
            odd = np.flatnonzero(~good)
            texts = zip(odd.tolist(), columns.texts(odd), strict=True)
            self._add(first, rows, good, texts, self._add_one)
            if progress:
                progress(int(share * size), size)

    def _add(
        self,
        first: int,
        rows: RatingRows,
        good: Flags,
        odd: Iterable[tuple[int, _T]],
        judge: Callable[[int, _T], None],
    ) -> None:
        """Adds the good rows from a line on, and judges the others at their places among all."""
        kept = rows if good.all() else rows.part(good)
        done = before = 0
        for passed, (place, row) in enumerate(odd):
            self.builder.extend(first + before, kept.part(slice(done, place - passed)))
            judge(first + place, row)
            done, before = place - passed, place + 1
        self.builder.extend(first + before, kept.part(slice(done, None)) if done else kept)

    def _add_one(self, line: int, texts: _Texts) -> None:
        """Judges one row."""
        user, item, rating, time = texts
        try:
            value = fields.number(rating)
            at = fields.time(time) if self._times else None
            keys = fields.key("user", user), fields.key("item", item)
        except BadField as reason:
            self.rejects.add(line, reason)
            return
        if not fields.is_on_scale(value, counts=self._counts):
            raise _another_scale(self.rejects.file, line, counts=self._counts)
        self.builder.add(line, *keys, value, at)


def _another_scale(path: Path, line: int, *, counts: bool) -> DataError:
    limit = "a count must be at least 0"
    if not counts:
        limit = (
            f"a rating must be between -{fields.RATING_LIMIT} and {fields.RATING_LIMIT}; counts, "
            "such as plays, are read by `train --counts`"
        )
    return DataError(f"{path}, line {line}: {limit}. Nothing of the file was used")


def _after(before: int, size: int, progress: Progress) -> Progress:
    """Progress in one file of several, after the bytes of others."""

    def tell(done: int, _: int) -> None:
        progress(before + done, size)

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
