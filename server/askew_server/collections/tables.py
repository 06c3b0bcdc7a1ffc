"""Rows of a csv, parquet or GeoJSON file, each with its number, as batches of text.

A row of csv is one line: a quoted field cannot hold a line break, so that a quote which never
closes costs one row and not the rest of the file. A bad row is never fatal and never silent: it is
counted under its reason, and the first ones are kept with their numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from askew.errors import DataError
from askew_server import geojson
from askew_server.ratings.columns import TEXTS, as_texts, cut, parquet_failures
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import csv_header
from askew_server.ratings.lines import (
    TextFormat,
    blocks_or_lines,
    first_line,
    open_file,
    split_rows,
    unpacked_bytes,
)

SHOWN = 3
_BATCH = 1 << 17  # rows
_BLOCK = 1 << 22  # bytes of GeoJSON


class Batch(NamedTuple):
    """Some rows: the number of each, a text of each in every column, and the share of the file that
    was read when they were. Nothing is empty text.
    """

    rows: NDArray[np.int64]
    texts: Sequence[pa.Array]
    share: float


@dataclass
class Omissions:
    """What was left out of a file, by reason. unit: what a number counts."""

    file: str
    unit: str
    rows: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, row: int, reason: BadField | str) -> None:
        """A row is left out."""
        self.rows[reason.rule if isinstance(reason, BadField) else reason].append(row)

    @property
    def count(self) -> int:
        """How many rows."""
        return sum(map(len, self.rows.values()))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each reason, for an operator, the commonest first."""
        said = []
        for reason, rows in sorted(self.rows.items(), key=lambda each: (-len(each[1]), each[0])):
            numbers = ", ".join(map(str, sorted(rows)[:SHOWN])) + ", ..." * (len(rows) > SHOWN)
            plural = "s" if len(rows) > 1 else ""
            said.append(f"{len(rows):,}: {reason} ({self.unit}{plural} {numbers})")
        return tuple(said)


@dataclass(frozen=True)
class Table:
    """A file. batches: the rows in some columns, but for those that are no row, which are told."""

    path: Path
    unit: str
    columns: tuple[str, ...]
    batches: Callable[[Sequence[str], Omissions], Iterator[Batch]]

    def omissions(self) -> Omissions:
        """Nothing left out yet."""
        return Omissions(self.path.name, self.unit)

    def beginning(self, column: str, count: int) -> list[str]:
        """The texts of a column in the first rows that can be read."""
        with_it = self.batches([column], self.omissions())
        return [text for batch in islice(with_it, 1) for text in batch.texts[0][:count].to_pylist()]


def open_table(path: Path) -> Table:
    """A file by what it begins with. Raises DataError."""
    with unpacked_bytes(path) as (unpacked, _):
        start = unpacked.read(64)
    if start.startswith(b"PAR1"):
        table = _parquet(path)
    elif geojson.looks_like_json(start):
        table = _geojson(path)
    else:
        table = _csv(path)
    if len(set(table.columns)) < len(table.columns):
        raise DataError(f"{path}: two of its columns have one name")
    return table


def _csv(path: Path) -> Table:
    header = csv_header(first_line(path))
    columns = [name or f"column {place}" for place, name in enumerate(header, 1)]
    text = TextFormat(",", len(columns), "utf-8-sig", has_header=True)

    def batches(names: Sequence[str], omissions: Omissions) -> Iterator[Batch]:
        wanted = [columns.index(name) for name in names]
        nothing = [pa.array([], TEXTS) for _ in wanted]
        done, size, odd = 0, max(path.stat().st_size, 1), list[tuple[int, str]]()

        def tell(read: int, _: int) -> None:
            nonlocal done
            done = read

        def batch(cut_out: list[pa.Array], numbers: NDArray[np.int64]) -> Batch:
            """The rows that Arrow has cut, and the odd ones in their places."""
            # An empty line, as at the end of many files, is nothing lost.
            rows = list(split_rows([each for each in odd if each[1]], text, omissions.add))
            odd.clear()
            numbers = np.append(numbers, np.array([number for number, _ in rows], np.int64))
            more = [pa.array([row[at] for _, row in rows], TEXTS) for at in wanted]
            order = np.argsort(numbers)
            both = map(pa.concat_arrays, zip(cut_out, more, strict=True))
            return Batch(numbers[order], [each.take(pa.array(order)) for each in both], done / size)

        for number, piece in blocks_or_lines(path, text, tell):
            if isinstance(piece, str):
                odd.append((number, piece))
                if len(odd) == _BATCH:
                    yield batch(nothing, np.empty(0, np.int64))
                continue
            cut_out, regular = _cut(piece, text, wanted)
            lines = [] if regular.all() else piece.decode().split("\n")
            odd += [(number + at, lines[at]) for at in np.flatnonzero(~regular).tolist()]
            yield batch(cut_out, np.flatnonzero(regular) + number)
        yield batch(nothing, np.empty(0, np.int64))

    return Table(path, "line", tuple(columns), batches)


def _parquet(path: Path) -> Table:
    with open_file(path) as raw, parquet_failures(path):
        columns = tuple(parquet.read_schema(raw).names)

    def batches(names: Sequence[str], _: Omissions) -> Iterator[Batch]:
        first = 1
        with open_file(path) as raw, parquet_failures(path):
            file = parquet.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False)
            for batch in file.iter_batches(_BATCH, columns=list(names), use_threads=False):
                batch.validate(full=True)
                rows = np.arange(first, first + len(batch))
                share = min((first + len(batch)) / max(file.metadata.num_rows, 1), 1.0)
                yield Batch(rows, [as_texts(batch.column(name)) for name in names], share)
                first += len(batch)

    return Table(path, "row", columns, batches)


def _geojson(path: Path) -> Table:
    size, at = max(path.stat().st_size, 1), 0

    def blocks() -> Iterator[bytes]:
        nonlocal at
        with unpacked_bytes(path) as (unpacked, raw):
            while block := unpacked.read(_BLOCK):
                at = raw.tell()
                yield block

    def batches(names: Sequence[str], omissions: Omissions) -> Iterator[Batch]:
        done = 0
        for part in geojson.features(str(path), blocks):
            rows, points = [], []
            for number, each in enumerate(part, done + 1):
                if each is None:
                    omissions.add(number, "it must be a feature of JSON, in UTF-8")
                elif not each.is_point:
                    omissions.add(number, "its geometry must be a Point")
                else:
                    rows.append(number)
                    points.append(each)
            done += len(part)
            texts = [pa.array([each.text(name) for each in points], TEXTS) for name in names]
            yield Batch(np.array(rows, np.int64), texts, min(at / size, 1.0))

    return Table(path, "feature", geojson.columns(str(path), blocks), batches)


def _cut(
    block: bytes, text: TextFormat, wanted: list[int]
) -> tuple[list[pa.Array], NDArray[np.bool_]]:
    """The wanted columns of regular lines, and which those are: an empty line is none."""
    parts, regular = cut(block, text, dict.fromkeys(wanted, TEXTS))
    if not (block.startswith(b"\n") or b"\n\n" in block):
        return parts, regular
    filled = np.array([bool(line) for line in block.split(b"\n")[:-1]])
    kept = pa.array(filled[regular])
    return [each.filter(kept) for each in parts], regular & filled
