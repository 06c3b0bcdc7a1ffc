r"""Tables in files: ratings, events, items, places and live values, all read by this module.

    table = open_table("ratings/*.csv.gz")
    left_out = table.omissions()
    for batch in table.batches(("user", "item"), left_out):
        batch.rows, batch.texts     # the number of each row, and a text of each in each column
    left_out.refuse_many(n_good)    # DataError where too many rows were bad

A name is that of a file, of a folder, which holds the files of one table alone, or a pattern. Its
files are csv (commas), tsv (tabs), txt (whichever of commas, tabs and semicolons its header has
most), JSON lines, GeoJSON, parquet or MovieLens files without a header (`text.BARE`); text may be
packed by gzip or zstd. The first bytes of a file say what it is. All files of a table have the same
columns.

    rows      end at \n or \r\n and nowhere else. A lone \r is a character of its field.
    fields    may stand in quotes as RFC 4180 has them, with line breaks in them. A quote that is
              not closed, or text after a closing one, refuses the file: it would hide the rows of
              others, or make rows of what stands in quotes.
    values    are text, "01" is not "1". A null, NaN and what is not there are empty text. Of
              numbers of parquet and JSON, 65.0 is "65", and a number of single precision is what
              was written.
    bad rows  are left out, each by itself, and counted by their reason: another number of fields,
              a byte that is no text, a NUL, over 16 MB. An empty line is nothing. A feature of
              GeoJSON without an end within 32 MB refuses the file.
    encoding  UTF-8, or the one that is named, of a byte a character. Where none is named and most
              lines that are not ASCII are no UTF-8 either, latin-1, which `Table.notes` says.

Where a reading is paid for (`release`, `train --epsilon`), it is `private`, and `encoding` must be
named. Then one person's lines decide about these lines alone: no share of bad rows, no message and
no guess depends on them, but for the refusal of a quote, whose sentence is always the same; and a
last line without its end is left out, since half of a name may be the name of somebody else. The
end of the name of a file without a header says how it is packed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
from pyarrow.parquet import ParquetWriter, read_schema

from askew.errors import DataError, ParameterError
from askew_server.tables import json, parquet
from askew_server.tables.files import failures_named, files_of, require_still, states_of, unpacked
from askew_server.tables.rows import TEXT, Batch, Omissions
from askew_server.tables.text import (
    BARE,
    Text,
    guessed_encoding,
    layout_of,
    name_of,
    usual_encoding,
)

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or a workbook",
    b"BZh": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"ORC": "an ORC file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "a database of SQLite",
    b"\xff\xfe": "text in UTF-16 or UTF-32",
    b"\xfe\xff": "text in UTF-16",
    b"\x1f\x8b": "packed twice",
    b"\x28\xb5\x2f\xfd": "packed twice",
    b"\0": "no text",
}
_READ = "csv, tsv, txt, JSON lines, GeoJSON (each plain, .gz or .zst), parquet and MovieLens files"


@dataclass(frozen=True)
class _Part:
    """One file. read: the rows in some columns, as `Table.batches` has them."""

    path: str
    size: int
    kind: str
    unit: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[str], Omissions, bool], Iterator[Batch]] = field(repr=False)
    note: str = ""


@dataclass(frozen=True)
class Table:
    """The files of one table. unit: what the number of a row counts: row, line or feature. notes:
    what an operator should know.
    """

    name: str
    unit: str
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    parts: tuple[_Part, ...] = field(repr=False)

    def omissions(self) -> Omissions:
        """Return empty Omissions of this table, for `batches` to add to."""
        return Omissions(self.name, self.unit, len(self.parts) > 1, self.notes)

    def batches(
        self, names: Sequence[str], omissions: Omissions, *, coded: bool = False
    ) -> Iterator[Batch]:
        """Yield batches, of all files in order: `rows`, numbers, and `texts`, an Arrow array for
        each of the columns `names`; add what is no row to omissions. Rows are numbered within their
        file, from 1 on, of text by their first line, a header being line 1. coded: texts come as
        dictionary arrays (`CODED`). Raises DataError for what cannot be read.
        """
        whole, done = sum(part.size for part in self.parts), 0
        for part in self.parts:
            for batch in part.read(names, omissions, coded):
                # A file that grows is read beyond the size that it had.
                progress = min((done + part.size * batch.progress) / whole, 1.0)
                yield batch._replace(progress=progress, file=part.path)
            done += part.size

    def beginning(self, column: str, count: int) -> list[str]:
        """Return the texts of a column in the first rows that can be read, at most `count`; fewer
        where the first batch with rows has fewer, [] where there is no row. Raises DataError as
        `batches`.
        """
        for batch in self.batches([column], self.omissions()):
            if len(batch.rows):
                return cast("list[str]", batch.texts[0][:count].to_pylist())
        return []


def open_table(name: str | Path, *, encoding: str | None = None, private: bool = False) -> Table:
    """Return the table of a name: a file, a folder or a pattern. encoding: of text, by default
    UTF-8, or latin-1 where most lines beyond ASCII are no UTF-8. private: what is read of others
    does not depend on one person's lines. Raises DataError for what cannot be read, or is private
    JSON, and for files that do not go together; ParameterError for a private reading without an
    encoding, and for an encoding that `usual_encoding` refuses.
    """
    if private and encoding is None:
        raise ParameterError("encoding", encoding, "named where a reading is private")
    files = files_of(name)
    if not files:
        raise DataError(f"{name}: there is no such file")
    if encoding is not None:
        encoding = usual_encoding(encoding)
    parts = tuple([_part(file, encoding, private=private) for file in files])
    first, columns = parts[0], parts[0].columns
    varies = first.kind in ("GeoJSON", "JSON")  # which have what each of their objects has
    for part in parts:
        if part.kind != first.kind or not (varies or part.columns == columns):
            raise DataError(
                f"{part.path}: the files of a table are of one kind and have the same columns, and"
                f" it is {part.kind}, {first.path} {first.kind}"
            )
    if varies:
        columns = tuple(dict.fromkeys(chain.from_iterable(part.columns for part in parts)))
    # Where SQL counts them, columns that differ in case have one name.
    if len({column.casefold() if private else column for column in columns}) < len(columns):
        raise DataError(f"{name}: two of its columns have one name")
    notes = tuple([part.note for part in parts if part.note])
    return Table(str(name), first.unit, columns, notes, parts)


def copy_text(
    table: Table, names: Sequence[str], file: BinaryIO, keep_going: Callable[[], None]
) -> int:
    """Write columns of a table, all of them text, as parquet to an open file; return how many bad
    rows were left out. keep_going: is called after each batch, and raises where the copy is to
    stop. Raises DataError for a file that cannot be read, or changed meanwhile but by growing.
    """
    left_out, before = table.omissions(), states_of([part.path for part in table.parts])
    schema = pa.schema([(name, TEXT) for name in names])
    with ParquetWriter(file, schema, **parquet.PLAIN) as writer:
        for batch in table.batches(names, left_out):
            writer.write_batch(pa.record_batch(list(batch.texts), schema))
            keep_going()
    file.flush()
    require_still(before, may_grow=True)
    return left_out.count


def _part(path: str, encoding: str | None, *, private: bool) -> _Part:
    # What a file is, it says by its first bytes; of a private one without a header they are
    # somebody's.
    bare, note = BARE.get(name_of(path)), ""
    first_line_is_private = private and bare is not None
    with unpacked(path, by_name=first_line_is_private) as (file, raw):
        start, size = file.read(json.HEAD), max(os.fstat(raw.fileno()).st_size, 1)
        kind = "text" if isinstance(file, io.BufferedReader) else "packed text"
    if not first_line_is_private:
        for magic, words in _FOREIGN.items():
            if start.startswith(magic):
                raise DataError(f"{path}: it is {words}; what is read is {_READ}")
        if not start.strip():
            raise DataError(f"{path}: the file is empty")
        if start.startswith(b"PAR1"):
            with failures_named(path):
                columns = tuple(read_schema(path).names)
            return _Part(path, size, "parquet", "row", columns, partial(parquet.batches, path))
        if json.looks_like_json(start):
            if private:
                raise DataError(f"{path}: JSON is not counted; write it as csv or parquet")
            is_geojson = json.begins_geojson(start)
            objects = json.JsonFile(path, size, is_geojson=is_geojson)
            kind, unit = ("GeoJSON", "feature") if is_geojson else ("JSON", "line")
            return _Part(path, size, kind, unit, objects.columns, objects.batches)
        if encoding is None:
            encoding = guessed_encoding(path)
            if encoding != "utf-8":
                note = f"{path}: most of its lines beyond ASCII are no UTF-8; it is read as latin-1"
    encoding = encoding or "utf-8"
    layout = bare or layout_of(path, start, encoding, may_be_bare=not private)
    text = Text(path, size, layout, encoding, private=private)
    return _Part(path, size, kind, "line", layout.columns, text.batches, note)
