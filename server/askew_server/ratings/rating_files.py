"""Files of ratings, read one after the other: by columns, or row by row.

By columns, the plainly good rows are taken all at once and the others judged one by one in their
places, so that both ways give the same table and the same bad rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from askew.errors import DataError
from askew_server.ratings import fields
from askew_server.ratings.blocks import blocks_or_lines
from askew_server.ratings.builder import TableBuilder
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import RatingFormat
from askew_server.ratings.parquet import parquet_ratings
from askew_server.ratings.parts import Asked, Part
from askew_server.ratings.rejects import RejectLog
from askew_server.ratings.rows import Rows
from askew_server.ratings.source import Progress
from askew_server.ratings.split_lines import split_rows, text_rows
from askew_server.ratings.table import RatingTable

if TYPE_CHECKING:
    from askew_server.ratings.plain_rows import PlainRows

_T = TypeVar("_T")
Fields = tuple[int, str, str, str, str]
"""Line, user, item, rating and time, as text."""


class RatingFiles:
    """Collects the ratings of files of one kind, and the rows that are left out."""

    def __init__(self, path: Path, asked: Asked) -> None:
        self.rejects = RejectLog(path)
        self._builder = TableBuilder()
        self._asked = asked
        self._plain: PlainRows | None = None

    def table(self, counts: float | None) -> RatingTable:
        """All that was read; counts: the least count that is a like, where there are counts."""
        return self._builder.table(self.rejects, counts)

    def read_rows(self, part: Part, progress: Progress | None) -> None:
        """Reads a file row by row."""
        self._begin(part)
        self._judge_all(part, progress)

    def read_columns(self, part: Part, progress: Progress | None) -> None:
        """Reads a file by columns."""
        self._begin(part)
        if part.layout is None:
            self._parquet(part, progress)
        else:
            self._text(part.path, part.layout, progress)

    def _begin(self, part: Part) -> None:
        self.rejects.begin(part.path)
        self._builder.begin(part.path)

    def _text(self, path: Path, layout: RatingFormat, progress: Progress | None) -> None:
        from askew_server.ratings.plain_rows import PlainRows  # pyarrow takes a while

        if self._plain is None:
            builder = self._builder
            self._plain = PlainRows(layout, builder.people, builder.items, self._asked)
        for number, piece in blocks_or_lines(path, layout.text, progress):
            if isinstance(piece, str):
                self._judge_lines([(number, piece)], layout)
                continue
            rows, odd = self._plain.of(piece)
            self._add(
                number, rows, odd, lambda line, text: self._judge_lines([(line, text)], layout)
            )

    def _parquet(self, part: Part, progress: Progress | None) -> None:
        from askew_server.ratings.parquet_columns import parquet_columns  # duckdb takes a while

        builder = self._builder
        found = parquet_columns(part.path, builder.people, builder.items, self._asked, progress)
        if found is None:
            self._judge_all(part, progress)
        else:
            self._add(1, *found, lambda line, texts: self._judge([(line, *texts)]))

    def _add(
        self, first: int, rows: Rows, odd: list[tuple[int, _T]], judge: Callable[[int, _T], None]
    ) -> None:
        """Adds rows from a line on, and judges the others at their places among all."""
        done = before = 0
        for passed, (place, row) in enumerate(odd):
            self._builder.extend(first + before, rows.part(slice(done, place - passed)))
            judge(first + place, row)
            done, before = place - passed, place + 1
        self._builder.extend(first + before, rows.part(slice(done, None)) if done else rows)

    def _judge_all(self, part: Part, progress: Progress | None) -> None:
        if part.layout is None:
            self._judge(parquet_ratings(part.path, progress))
        else:
            rows = text_rows(part.path, part.layout.text, self.rejects, progress)
            self._judge(_fields(line, row, part.layout) for line, row in rows)

    def _judge_lines(self, lines: Iterable[tuple[int, str]], layout: RatingFormat) -> None:
        for line, row in split_rows(lines, layout.text, self.rejects):
            self._judge([_fields(line, row, layout)])

    def _judge(self, rows: Iterable[Fields]) -> None:
        """Judges rows one by one."""
        for line, user, item, rating, time in rows:
            try:
                value = fields.number(rating)
                at = fields.time(time) if self._asked.times else None
                keys = fields.key("user", user), fields.key("item", item)
            except BadField as reason:
                self.rejects.add(line, reason)
                continue
            if not fields.is_on_scale(value, counts=self._asked.counts):
                raise _another_scale(self.rejects.file, line, counts=self._asked.counts)
            self._builder.add(line, *keys, value, at)


def _fields(line: int, row: list[str], layout: RatingFormat) -> Fields:
    """The line, user, item, rating and time of a row."""
    time = "" if layout.time is None else row[layout.time]
    return line, row[layout.user], row[layout.item], row[layout.rating], time


def _another_scale(path: Path, line: int, *, counts: bool) -> DataError:
    limit = "a count must be at least 0"
    if not counts:
        limit = (
            f"a rating must be between -{fields.RATING_LIMIT} and {fields.RATING_LIMIT}; counts, "
            "such as plays, are read by `train --counts`"
        )
    return DataError(f"{path}, line {line}: {limit}. Nothing of the file was used")
