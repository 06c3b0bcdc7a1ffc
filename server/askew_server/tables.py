r"""Tables in files: ratings, events, items, places and live values, all read by this module.

    table = open_table("ratings/*.csv.gz")
    left_out = table.omissions()
    for batch in table.batches(("user", "item"), left_out):
        batch.rows, batch.texts     # the number of each row, and a text of each in each column
    left_out.refuse_many(n_good)    # DataError where too many rows were bad

A name is that of a file, of a folder, which holds the files of one table alone, or a pattern. Its
files are csv (commas), tsv (tabs), txt (whichever of commas, tabs and semicolons its header has
most), JSON lines, GeoJSON, parquet or MovieLens files without a header (`_BARE`); text may be
packed by gzip or zstd. What a file is, it says by its first bytes. What is none of these is refused
by its name. All files of a table have the same columns.

    rows      end at \n or \r\n and nowhere else. A lone \r is a character of its field.
    fields    may stand in quotes as RFC 4180 has them, with line breaks in them. A quote that is
              not closed, or text after a closing one, refuses the file: read on, it would hide the
              rows of others, and cut there, what stands in quotes would become rows of others.
    values    are text, "01" is not "1". A null, NaN and what is not there are empty text. Of
              numbers of parquet and JSON, 65.0 is "65", and a number of single precision is what
              was written.
    bad rows  are left out, each by itself, and counted by their reason: another number of fields,
              a byte that is no text, a NUL, over 16 MB. An empty line is nothing.
    encoding  UTF-8, or the one that is named, of a byte a character. Where none is named and most
              lines that are not ASCII are no UTF-8 either, latin-1, which `Table.notes` says.

Where a reading is paid for (`release`, `train --private`), `encoding` is named and `log` is true.
Then one person's lines decide about these lines alone: no share of bad rows, no message and no
guess depends on them, but for the refusal of a quote, whose sentence is always the same; and a last
line without its end is left out, since half of a name may be the name of somebody else.
Of a file without a header the end of its name says how it is packed.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet
from pyarrow import csv as arrow_csv

from askew.errors import DataError, ParameterError
from askew_server import geojson

SHOWN = 3
"""Rows that are named for each reason."""
BAD_SHARE = 0.1
"""Of which the rows of a file may be bad, where nobody says another share."""
BLOCK = 1 << 22
LONGEST_ROW = 1 << 24
"""Bytes; a block is at most as long."""
TEXT: Final = pa.string()
# What is read once is not worth a dictionary.
_PLAINLY: Final = {"compression": "none", "use_dictionary": False, "write_statistics": False}
CODED: Final = pa.dictionary(pa.int32(), TEXT)

_SAMPLE = 1 << 24  # bytes that tell an encoding
_UNIT = b"\x1f"  # Arrow wants a separator of one byte
_MARK, _RETURN = "\x1a", "\r"
GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_PACKED = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
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
READ = "csv, tsv, txt, JSON lines, GeoJSON (each plain, .gz or .zst), parquet and MovieLens files"
QUOTES = (
    "a quote is not closed, or text follows a closing one. Read on, it would hide other people's"
    " rows: mend the file, or write it as parquet"
)
Share = Callable[[float], object]
"""Is told which share of the files is read."""


class BadField(Exception):
    """A field breaks its limit; the message is the reason to report. rule: the same without the
    text that was found. value: what is known of it all the same.
    """

    def __init__(self, field: str, limit: str, text: str, value: float | None = None) -> None:
        super().__init__(field, limit, text, value)
        self.rule, self.value, self._text = f"{field} must be {limit}", value, text

    def __str__(self) -> str:
        text = self._text
        return f"{self.rule}, got {text[:40]!r}{'...' if len(text) > 40 else ''}"


def number(text: str, field: str = "rating") -> float:
    """Return a finite number. Raises BadField."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    # float() reads "1_000" as a number, which no file means.
    if not np.isfinite(value) or "_" in text:
        raise BadField(field, "a finite number", text)
    return value


class Batch(NamedTuple):
    """Some rows of one file: the number of each, a text of each in each column, and the share of
    the files that is read.
    """

    rows: NDArray[np.int64]
    texts: Sequence[pa.Array]
    share: float
    file: str = ""


@dataclass
class Omissions:
    """What is left out of a file, by reason: how many, and which came first. unit: of a number."""

    file: str
    unit: str
    several: bool = False
    notes: tuple[str, ...] = ()
    reasons: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def add(self, row: int, reason: BadField | str, file: str = "", *, times: int = 1) -> None:
        """Count a row, or as many rows of which it is the first."""
        rule = reason.rule if isinstance(reason, BadField) else reason
        count, shown = self.reasons.get(rule, (0, []))
        if len(shown) < SHOWN:
            shown.append(f"{row} of {Path(file).name}" if self.several and file else str(row))
        self.reasons[rule] = count + times, shown

    @property
    def count(self) -> int:
        """Return how many rows."""
        return sum(count for count, _ in self.reasons.values())

    @property
    def lines(self) -> tuple[str, ...]:
        """Return a line for each reason, for an operator, the commonest first."""
        said = []
        for reason, (count, shown) in sorted(self.reasons.items(), key=lambda x: (-x[1][0], x[0])):
            numbers = ", ".join(shown) + ", ..." * (count > len(shown))
            said.append(f"{count:,}: {reason} ({self.unit}{'s' * (count > 1)} {numbers})")
        return tuple(said)

    def refuse_many(self, good: int, share: float = BAD_SHARE) -> None:
        """Raise DataError where no row is good, or more than a share is bad."""
        said = "; ".join(self.lines) or "it has no rows"
        if not good:
            raise DataError(f"{self.file}: no row of it is usable: {said}")
        if self.count > share * (good + self.count):
            raise DataError(
                f"{self.file}: {self.count:,} of {good + self.count:,} rows cannot be used, so it"
                f" is hardly what it should be: {said}. --max-bad-rows names another share"
            )


@dataclass(frozen=True)
class _Layout:
    """How text is cut into fields."""

    separator: str
    columns: tuple[str, ...]
    has_header: bool = True
    quotes: bool = True


# The files of MovieLens that have no header line.
_BARE = {
    "ratings.dat": _Layout("::", ("user", "item", "rating", "timestamp"), False, False),
    "movies.dat": _Layout("::", ("item", "title", "genres"), False, False),
    "u.data": _Layout("\t", ("user", "item", "rating", "timestamp"), False, False),
    "u.item": _Layout(
        "|", ("item", "title", "released", "on video", "address", *GENRES), False, False
    ),
}


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
    """The files of one table. unit: what a number counts. notes: what an operator should know."""

    name: str
    unit: str
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    parts: tuple[_Part, ...] = field(repr=False)

    @property
    def path(self) -> Path:
        """Return what was asked for."""
        return Path(self.name)

    def omissions(self) -> Omissions:
        """Return nothing left out yet."""
        return Omissions(self.name, self.unit, len(self.parts) > 1, self.notes)

    def batches(
        self, names: Sequence[str], omissions: Omissions, *, coded: bool = False
    ) -> Iterator[Batch]:
        """Yield the rows in some columns, but for those that are no rows. coded: as different texts
        and which of them each row has (`CODED`). Raises DataError for what cannot be read.
        """
        whole, done = sum(part.size for part in self.parts), 0
        for part in self.parts:
            for batch in part.read(names, omissions, coded):
                share = min((done + part.size * batch.share) / whole, 1.0)
                yield batch._replace(share=share, file=part.path)
            done += part.size

    def beginning(self, column: str, count: int) -> list[str]:
        """Return the texts of a column in the first rows that can be read."""
        for batch in self.batches([column], self.omissions()):
            if len(batch.rows):
                return cast("list[str]", batch.texts[0][:count].to_pylist())
        return []


def files_of(name: str | Path) -> tuple[str, ...]:
    """Return the files of a name, a folder or a pattern, in order; none where nothing is there.

    Raises DataError for a folder that holds anything but files: what is hidden, linked or a folder
    itself may be read by mistake, or be missed.
    """
    path = Path(name)
    if not path.is_dir():
        found = [str(name)] if path.exists() else glob.glob(str(name), recursive=True)  # noqa: PTH207
        return tuple(sorted(file for file in found if not Path(file).is_dir()))
    files = sorted(path.iterdir())
    for file in files:
        odd = {
            "is hidden": file.name.startswith("."),
            "is a symbolic link": file.is_symlink(),
            "is a folder": file.is_dir(),
        }
        for reason in [words for words, is_so in odd.items() if is_so]:
            raise DataError(f"{name}: a folder holds files of one table; {file.name} {reason}")
    if not files:
        raise DataError(f"{name}: the folder is empty")
    return tuple(map(str, files))


def open_table(name: str | Path, *, encoding: str | None = None, log: bool = False) -> Table:
    """Return the table of a name. encoding, log: see above. Raises DataError for what cannot be
    read, and for files that do not go together; no message repeats a first line, which may be
    somebody's.
    """
    files = files_of(name)
    if not files:
        raise DataError(f"{name}: there is no such file")
    if encoding is not None:
        encoding = known_encoding(encoding)
    parts = tuple([_part(file, encoding, log=log) for file in files])
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
    if len({column.casefold() if log else column for column in columns}) < len(columns):
        raise DataError(f"{name}: two of its columns have one name")
    notes = tuple([part.note for part in parts if part.note])
    return Table(str(name), first.unit, columns, notes, parts)


def copy_text(table: Table, names: Sequence[str], file: BinaryIO, share: Share) -> int:
    """Write columns of a table, all of them text, as parquet; return how many rows were left out.
    Raises DataError for a file that was rewritten meanwhile; it may have grown.
    """
    left_out, before = table.omissions(), states_of([part.path for part in table.parts])
    schema = pa.schema([(name, TEXT) for name in names])
    with parquet.ParquetWriter(file, schema, **_PLAINLY) as writer:
        for batch in table.batches(names, left_out):
            writer.write_batch(pa.record_batch(list(batch.texts), schema))
            share(batch.share)
    file.flush()
    require_still(before, may_grow=True)
    return left_out.count


def is_sound(paths: Iterable[str], texts: Sequence[str], share: Share) -> bool:
    """Return whether columns of text of parquet files are UTF-8, in every row."""
    batches = chain.from_iterable(_parquet_batches(path, texts) for path in paths if texts)
    return all(
        _is_sound(_as_stored(column)) for batch in batches for column in _told(batch, share).columns
    )


def copy_sound(
    paths: Iterable[str],
    texts: Collection[str],
    names: Sequence[str],
    file: BinaryIO,
    share: Share,
) -> int:
    """Write columns of parquet files as one, with nothing where a text is no UTF-8; return how many
    such there were. texts: those of the columns that hold text; the others keep their types.
    """
    writer, left_out = None, 0
    for batch in chain.from_iterable(_parquet_batches(path, names) for path in paths):
        columns = []
        for name in names:
            column = batch.column(name)
            if name in texts:
                stored = _as_stored(column)
                column = _without_torn(stored)
                left_out += column.null_count - stored.null_count
            columns.append(column)
        if writer is None:
            schema = pa.schema(list(zip(names, (each.type for each in columns), strict=True)))
            writer = parquet.ParquetWriter(file, schema, **_PLAINLY)
        whole = [each.cast(kind) for each, kind in zip(columns, schema.types, strict=True)]
        writer.write_batch(pa.record_batch(whole, schema))
        share(0.0)
    if writer is not None:
        writer.close()
    file.flush()
    return left_out


def _parquet_batches(path: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    try:
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(1 << 16, columns=list(names), use_threads=False)
    except (OSError, pa.ArrowException) as error:  # whose words may quote a row
        raise DataError(f"{path}: it cannot be read ({type(error).__name__})") from None


def _told(batch: pa.RecordBatch, share: Share) -> pa.RecordBatch:
    share(0.0)
    return batch


def _as_stored(texts: pa.Array) -> pa.Array:
    """Return texts of one type, whatever their bytes are."""
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    return texts.cast(pa.large_binary()).cast(pa.large_string(), safe=False)


def _is_sound(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _without_torn(texts: pa.Array) -> pa.Array:
    if _is_sound(texts):
        return texts
    found = texts.cast(pa.large_binary()).to_pylist()
    kept = [each if each is not None and _is_text(each) else None for each in found]
    return pa.array(kept, pa.large_binary()).cast(pa.large_string())


@dataclass(frozen=True)
class State:
    """A file at one moment. Private, as its size is: one event more makes it another."""

    path: str
    inode: tuple[int, int]
    size: int
    modified: int


def states_of(paths: Iterable[str]) -> tuple[State, ...]:
    """Return files as they are now. Raises DataError for one that is not there."""
    states = []
    for path in paths:
        with failures_named(path):
            now = os.stat(path)  # noqa: PTH116 (a name may be relative, and is kept as it is)
        states.append(State(path, (now.st_dev, now.st_ino), now.st_size, now.st_mtime_ns))
    return tuple(states)


def require_still(states: Sequence[State], *, may_grow: bool = False) -> None:
    """Raise DataError where a file was replaced, rewritten or cut since then, or, unless it may,
    has grown.
    """
    for was, now in zip(states, states_of([each.path for each in states]), strict=True):
        has_grown = was.inode == now.inode and was.size < now.size
        if was != now and not (may_grow and has_grown):
            raise DataError(
                f"{was.path}: it was changed while it was read, so what was read is not counted;"
                " count a copy that nobody writes to"
            )


def as_texts(values: pa.Array) -> pa.Array:
    """Return values as one writes them; nothing, and NaN, is empty text. A whole number is written
    as one, since a column of them becomes one of floating point where a value is missing; a number
    of single precision is what is written: 3.7, and not 3.7000000477.
    """
    if not pa.types.is_floating(values.type):
        return values.cast(TEXT).fill_null("")
    numbers = values.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(numbers) < 2**53) & (numbers == np.floor(numbers))
    texts = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(TEXT)
    if whole.all():
        return texts
    kind = values.type.to_pandas_dtype()
    others = ["" if np.isnan(v) else str(kind(v)) for v in numbers[~whole].tolist()]
    return compute.replace_with_mask(texts, pa.array(~whole), pa.array(others, TEXT))


@contextmanager
def failures_named(path: str) -> Iterator[None]:
    """Raise what is wrong with a file as a DataError of one line."""
    try:
        yield
    except (
        EOFError,
        OSError,
        zlib.error,
        pa.ArrowException,
        UnicodeDecodeError,
        KeyError,
    ) as error:
        why = str(error).partition("\n")[0]
        if isinstance(error, EOFError) or "Truncated" in why:
            why = "what is packed in it is cut short"
        elif isinstance(error, gzip.BadGzipFile | zlib.error):  # they quote bytes of somebody
            why = "what is packed in it is damaged, or more stands behind its end"
        raise DataError(f"{path}: it cannot be read: {why}") from None


@contextmanager
def unpacked(
    path: str, size: int | None = None, *, by_name: bool = False
) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield the bytes that are packed in a file, and the file as it lies on disk. size: where it
    ends, whatever is written behind. by_name: the end of its name says how it is packed, since its
    first bytes are somebody's.
    """
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no regular file of this name")
    with failures_named(path), Path(path).open("rb", buffering=0) as opened:
        raw = _Beginning(opened, os.fstat(opened.fileno()).st_size if size is None else size)
        start = opened.read(4)
        opened.seek(0)
        if by_name:
            start = _PACKED.get(Path(path).suffix.lower(), b"")
        if start.startswith(_PACKED[".gz"]):
            yield cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", raw))), opened
        elif start == _PACKED[".zst"]:
            packed = pa.PythonFile(raw, mode="r")
            yield cast("BinaryIO", pa.CompressedInputStream(packed, "zstd")), opened
        else:
            yield cast("BinaryIO", io.BufferedReader(raw, BLOCK)), opened


class _Beginning(io.RawIOBase):
    """A file up to a size."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left)) or b""
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _part(path: str, encoding: str | None, *, log: bool) -> _Part:
    """Return a file by what it begins with."""
    bare = _BARE.get(_name_of(path))
    is_somebodys = log and bare is not None
    with unpacked(path, by_name=is_somebodys) as (file, raw):
        start, size = file.read(1 << 20), max(os.fstat(raw.fileno()).st_size, 1)
        kind = "text" if isinstance(file, io.BufferedReader) else "packed text"
    if log and bare is not None:
        text = _Text(path, size, bare, encoding or "utf-8", log=True)
        return _Part(path, size, kind, "line", bare.columns, text.batches)
    for magic, words in _FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"{path}: it is {words}; what is read is {READ}")
    if not start.strip():
        raise DataError(f"{path}: the file is empty")
    if start.startswith(b"PAR1"):
        with failures_named(path):
            columns = tuple(parquet.read_schema(path).names)
        read = partial(_read_parquet, path)
        return _Part(path, size, "parquet", "row", columns, read)
    if geojson.looks_like_json(start):
        if log:
            raise DataError(f"{path}: JSON is not counted; write it as csv or parquet")
        return _json(path, size, start)
    note = ""
    if encoding is None:
        encoding = _guessed(path)
        if encoding != "utf-8":
            note = f"{path}: most of its lines beyond ASCII are no UTF-8; it is read as latin-1"
    layout = bare or _layout(path, start, encoding, may_be_bare=not log)
    text = _Text(path, size, layout, encoding, log=log)
    return _Part(path, size, kind, "line", layout.columns, text.batches, note)


def known_encoding(encoding: str) -> str:
    """Return the usual name of an encoding in which the bytes of ASCII, and no others, are ASCII:
    rows, fields and quotes are found in bytes. Raises ParameterError for others.
    """
    every, escape, texts = bytes(range(256)), b"\\u0022", ""
    try:
        known = codecs.lookup(encoding).name
        if escape.decode(encoding) == escape.decode():
            texts = every.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        known = ""
    is_of_bytes = (
        len(texts) == len(every)
        and texts[:128].encode() == every[:128]
        and not any(each.isascii() for each in texts[128:])
        and set(texts[128:]) != {"\N{REPLACEMENT CHARACTER}"}
    )
    if known != "utf-8" and not is_of_bytes:
        raise ParameterError("encoding", encoding, "utf-8, or one of a byte a character")
    return known


def _guessed(path: str) -> str:
    with unpacked(path) as (file, _):
        sample = file.read(_SAMPLE)
    if sample.isascii():
        return "utf-8"
    wide = [line for line in sample.split(b"\n") if not line.isascii()]
    wrong = sum(not _is_text(line) for line in wide)
    return "latin-1" if 2 * wrong > len(wide) else "utf-8"


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _name_of(path: str) -> str:
    return Path(path).name.lower().removesuffix(".gz").removesuffix(".zst")


def _layout(path: str, start: bytes, encoding: str, *, may_be_bare: bool) -> _Layout:
    """Return how a text file is cut, by its first line. may_be_bare: which may be a row."""
    line = start.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0].removesuffix(b"\r")
    shapes = {("::", 4): "ratings.dat", ("::", 3): "movies.dat", ("|", 24): "u.item"}
    found = [shapes.get((each, line.count(each.encode()) + 1), "") for each in ("::", "|")]
    if re.fullmatch(rb"\d+\t\d+\t[1-5]\t\d+", line):
        found.append("u.data")
    if may_be_bare and any(found):
        return _BARE[max(found)]
    if b"\r" in re.sub(rb'"[^"]*+"', b"", line):
        raise DataError(f"{path}: its lines end in returns alone; end them in line feeds")
    separator = {".csv": ",", ".tsv": "\t"}.get(Path(_name_of(path)).suffix, "")
    if not separator or separator.encode() not in line:
        separator = max(",\t;", key=lambda each: line.count(each.encode()))
    guard = _Text(path, 1, _Layout(separator, ()), encoding)
    end = guard.end_of_first(start if b"\n" in start else start + b"\n")
    try:
        header = start[:end].decode("utf-8-sig" if encoding == "utf-8" else encoding)
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=separator, strict=True))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        raise DataError(f"{path}: its first line is no header of {encoding} text") from None
    if not any(names):
        raise DataError(f"{path}: its first line is empty; it must name the columns")
    columns = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    return _Layout(separator, tuple(columns))


class _Text:
    """Text in rows and fields: one pass of our own, which finds where rows end and what they may
    hold, and then Arrow, which cuts them.

    Whatever the sizes of blocks, the rows are the same.
    """

    def __init__(
        self, path: str, size: int, layout: _Layout, encoding: str, *, log: bool = False
    ) -> None:
        self.layout, self._path, self._size = layout, path, size
        self._encoding, self._log = encoding, log
        self._is_somebodys = log and not layout.has_header  # from its first byte on
        separator = re.escape(layout.separator.encode())
        plain = rb'[^"%b\n][^%b\n]*+' % (separator, separator)
        quoted = rb'"(?:[^"]++|"")*+"'
        one = rb"(?:%b|%b|)" % (quoted, plain)
        self._row = re.compile(rb"%b(?:%b%b)*+\r?\n" % (one, separator, one))
        self._rows = re.compile(rb"(?:%b)*+" % self._row.pattern)
        self._fields = re.compile(rb"(?:%b%b)*+" % (one, separator))
        # After a closing quote: neither another quote, a separator nor the end of a row.
        self._torn = re.compile(
            rb"%b%b(?:[^\"%b\r\n]|\r[^\n])" % (self._fields.pattern, quoted, separator)
        )

    def batches(self, names: Sequence[str], omissions: Omissions, coded: bool) -> Iterator[Batch]:
        """Yield the rows."""
        size = self._size if self._log else None
        with unpacked(self._path, size, by_name=self._is_somebodys) as (file, raw):
            for number, block in self._blocks(file, omissions):
                numbers, columns = self._cut(block, number, names, omissions, coded)
                yield Batch(numbers, columns, raw.tell() / self._size)

    def end_of_first(self, text: bytes) -> int:
        """Return where the first row of a text ends that has a whole one."""
        if self.layout.quotes and b'"' in text[: text.find(b"\n")]:
            row = self._row.match(text)
            if row is None:
                self._refuse_quotes()
            return cast("re.Match[bytes]", row).end()
        return text.find(b"\n") + 1

    def _blocks(self, file: BinaryIO, omissions: Omissions) -> Iterator[tuple[int, bytes]]:
        """Yield whole rows, as they lie in the file, with the number of the first of their lines:
        without the header, a byte order mark and rows that are too long.
        """
        start = file.read(3)
        rest = start if self._is_somebodys else start.removeprefix(codecs.BOM_UTF8)
        number, lines_gone, is_long, is_header = 1, 0, False, self.layout.has_header
        while rest or start:
            start = file.read(BLOCK)
            text = rest + start
            if not start and text:
                if self._log:  # half of a row, unless it hides others
                    hides = lines_gone or b"\n" in text
                    if hides and not self._row.fullmatch(text + b"\n"):
                        self._refuse_quotes()
                    omissions.add(number, "its last line has no end", self._path)
                    return
                text += b"\n"
            end = self._end_of_rows(text, is_last=not start)
            text, rest = text[:end], text[end:]
            if text and (is_long or len(text) > LONGEST_ROW):
                first = self.end_of_first(text)
                if is_long or first > LONGEST_ROW:
                    omissions.add(
                        number, f"a row must be at most {LONGEST_ROW:,} bytes", self._path
                    )
                    number += lines_gone + text.count(b"\n", 0, first)
                    text, lines_gone, is_long, is_header = text[first:], 0, False, False
            if text and is_header:
                first = self.end_of_first(text)
                number += text.count(b"\n", 0, first)
                text, is_header = text[first:], False
            if text:
                yield number, text
                number += text.count(b"\n")
            if len(rest) > LONGEST_ROW:
                lines_gone += rest.count(b"\n")
                rest, is_long = self._shortened(rest), True

    def _end_of_rows(self, text: bytes, *, is_last: bool) -> int:
        """Return where the last whole row of a text ends. Raises DataError for torn quotes."""
        if not self.layout.quotes or b'"' not in text:
            return text.rfind(b"\n") + 1
        start = text.rfind(b"\n", 0, text.find(b'"')) + 1
        end = cast("re.Match[bytes]", self._rows.match(text, start)).end()
        if (is_last and end < len(text)) or self._torn.match(text, end):
            self._refuse_quotes()
        return end

    def _refuse_quotes(self) -> None:
        raise DataError(f"{self._path}: {QUOTES}")

    def _shortened(self, row: bytes) -> bytes:
        """Return a shorter beginning of a row that goes on as this one does."""
        if not self.layout.quotes:
            return b"x"
        begun = row[cast("re.Match[bytes]", self._fields.match(row)).end() :]
        if not begun:
            return b"x" + self.layout.separator.encode()
        if not begun.startswith(b'"'):
            return b"x"
        inner = begun[1:].removesuffix(b"\r")
        is_closed = (len(inner) - len(inner.rstrip(b'"'))) % 2
        return b'"' * (1 + is_closed) + b"\r" * row.endswith(b"\r")

    def _cut(
        self, block: bytes, number: int, names: Sequence[str], omissions: Omissions, coded: bool
    ) -> tuple[NDArray[np.int64], list[pa.Array]]:
        """Return the numbers of the good rows of a block, and their columns."""
        separator, wide = self.layout.separator, len(self.layout.separator) > 1
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if self._encoding != "utf-8" and not block.isascii():
            # A byte that the encoding does not have becomes no UTF-8, which is odd.
            text = block.decode(self._encoding, "surrogateescape")
            block = text.encode("utf-8", "surrogatepass")
        is_odd = (
            b"\0" in block
            or b"\n\n" in block
            or block.startswith(b"\n")
            or (wide and _UNIT in block)
            or not (block.isascii() or _is_text(block))
        )
        numbers: NDArray[np.int64] | None = None
        if is_odd:
            block, numbers = self._without_odd(block, number, omissions)
        is_marked = b"\r" in block
        if is_marked:  # Arrow would take it for the end of a row
            block = block.replace(b"\x1a", b"\x1a0").replace(b"\r", b"\x1a1")
        if wide:
            block, separator = block.replace(separator.encode(), _UNIT), _UNIT.decode()
        columns, bad = self._columns(block, separator, names, CODED if coded else TEXT)
        if is_marked:
            columns = [_unmarked(column) for column in columns]
        if numbers is None:
            numbers = self._numbers(block, number, len(columns[0]) + len(bad))
        n_columns = len(self.layout.columns)
        for place in bad:
            reason = f"a row must have {n_columns} fields separated by {self.layout.separator!r}"
            omissions.add(int(numbers[place]), reason, self._path)
        return np.delete(numbers, bad), columns

    def _columns(
        self, block: bytes, separator: str, names: Sequence[str], kind: pa.DataType
    ) -> tuple[list[pa.Array], list[int]]:
        """Return columns as Arrow cuts them, and the places of rows with another number of fields,
        which it leaves out.
        """
        bad: list[int] = []
        if not block:
            return [pa.array([], kind) for _ in names], bad

        def skipped(row: arrow_csv.InvalidRow) -> str:
            bad.append(row.number - 2)
            return "skip"

        table = arrow_csv.read_csv(
            # The line before keeps a byte order mark, which Arrow leaves out at the beginning.
            pa.BufferReader(b"\n" + block),
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=len(block) + 2,
                column_names=list(self.layout.columns),
                skip_rows=1,
            ),
            arrow_csv.ParseOptions(
                delimiter=separator,
                quote_char='"' if self.layout.quotes else False,
                newlines_in_values=self.layout.quotes,
                ignore_empty_lines=False,
                invalid_row_handler=skipped,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind), include_columns=list(names)
            ),
        )
        return [column.combine_chunks() for column in table.columns], bad

    def _numbers(self, block: bytes, number: int, count: int) -> NDArray[np.int64]:
        """Return the number of the first line of each row of a block."""
        lines = block.count(b"\n")
        if lines == count:
            return np.arange(number, number + count)
        sizes = [row[0].count(b"\n") for row in self._row.finditer(block)]
        return number + np.cumsum([0, *sizes[:-1]])

    def _without_odd(
        self, block: bytes, number: int, omissions: Omissions
    ) -> tuple[bytes, NDArray[np.int64]]:
        """Return a block without rows that Arrow must not see, and the numbers of the others."""
        kept, numbers = [], []
        if self.layout.quotes and b'"' in block:
            rows = [row[0] for row in self._row.finditer(block)]
        else:
            rows = [line + b"\n" for line in block.split(b"\n")[:-1]]
        is_wide = len(self.layout.separator) > 1
        for row in rows:
            reason = ""
            if b"\0" in row or (is_wide and _UNIT in row):
                reason = "a row must be text without NUL and control characters"
            elif not _is_text(row):
                reason = f"a row must be text in {self._encoding}"
            if reason:
                omissions.add(number, reason, self._path)
            elif row != b"\n":
                kept.append(row)
                numbers.append(number)
            number += row.count(b"\n")
        return b"".join(kept), np.array(numbers, np.int64)


def _unmarked(column: pa.Array) -> pa.Array:
    """Return what texts stand for in which returns were marked."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _unmarked(column.dictionary))
    returns = compute.replace_substring(column, _MARK + "1", _RETURN)
    return compute.replace_substring(returns, _MARK + "0", _MARK)


def _read_parquet(path: str, names: Sequence[str], _: Omissions, coded: bool) -> Iterator[Batch]:
    first = 1
    with failures_named(path), Path(path).open("rb") as raw:
        schema = parquet.read_schema(raw)
        # What repeats in the file is not to repeat in memory.
        texts = [name for name in names if coded and pa.types.is_string(schema.field(name).type)]
        file = parquet.ParquetFile(raw, read_dictionary=texts, buffer_size=1 << 20)
        for batch in file.iter_batches(1 << 18, columns=list(names), use_threads=False):
            batch.validate(full=True)
            columns = [_as_asked(batch.column(name), coded=coded) for name in names]
            numbers = np.arange(first, first + len(batch))
            first += len(batch)
            yield Batch(numbers, columns, first / max(file.metadata.num_rows, 1))


def _as_asked(column: pa.Array, *, coded: bool) -> pa.Array:
    if not coded:
        return as_texts(column)
    numbered = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    # The text of a missing value is empty, as that of a value that is empty text.
    texts = pa.concat_arrays([as_texts(numbered.dictionary), pa.array([""], TEXT)])
    indices = numbered.indices.cast(pa.int32()).fill_null(len(texts) - 1)
    return pa.DictionaryArray.from_arrays(indices, texts)


class _Blocks:
    """The bytes of a file from its beginning; share: how much of it was read."""

    def __init__(self, path: str, size: int) -> None:
        self._path, self._size, self.share = path, size, 0.0

    def __call__(self) -> Iterator[bytes]:
        with unpacked(self._path) as (file, raw):
            while block := file.read(BLOCK):
                self.share = raw.tell() / self._size
                yield block


def _json(path: str, size: int, start: bytes) -> _Part:
    """Return GeoJSON, or JSON lines: an object on each line, with the names of the columns."""
    blocks = _Blocks(path, size)
    if not _is_flat(start.lstrip(codecs.BOM_UTF8 + b" \t\r\n\x1e").partition(b"\n")[0]):
        read = partial(_read_geojson, path, blocks)
        return _Part(path, size, "GeoJSON", "feature", geojson.columns(path, blocks), read)
    objects = (each for _, each in _objects(blocks) if each is not None)
    columns = tuple(dict.fromkeys(chain.from_iterable(objects)))
    return _Part(path, size, "JSON", "line", columns, partial(_read_objects, path, blocks))


def _read_geojson(
    path: str, blocks: _Blocks, names: Sequence[str], omissions: Omissions, coded: bool
) -> Iterator[Batch]:
    done = 0
    for part in geojson.features(path, blocks):
        rows, points = [], []
        for row, each in enumerate(part, done + 1):
            if each is None:
                omissions.add(row, "it must be a feature of JSON, in UTF-8", path)
            elif not each.is_point:
                omissions.add(row, "its geometry must be a Point", path)
            else:
                rows.append(row)
                points.append(each)
        done += len(part)
        texts = [[each.text(name) for each in points] for name in names]
        yield _batch(rows, texts, blocks.share, coded=coded)


def _read_objects(
    path: str, blocks: _Blocks, names: Sequence[str], omissions: Omissions, coded: bool
) -> Iterator[Batch]:
    objects = _objects(blocks)
    while part := list(islice(objects, 1 << 17)):
        rows, texts = [], []
        for row, fields in part:
            values = None if fields is None else [bytes(fields.get(name, b"")) for name in names]
            if values is None:
                omissions.add(row, "it must be one object of JSON", path)
            elif any(value.startswith((b"{", b"[")) for value in values):
                omissions.add(row, "what is read of it must be texts and numbers", path)
            else:
                rows.append(row)
                texts.append([_json_text(value) for value in values])
        columns = [[row[place] for row in texts] for place in range(len(names))]
        yield _batch(rows, columns, blocks.share, coded=coded)


def _is_flat(line: bytes) -> bool:
    """Return True for a line that is an object by itself, and no feature or collection of them."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and not {"geometry", "features"} & set(found)


def _objects(blocks: geojson.Blocks) -> Iterator[tuple[int, dict[str, msgspec.Raw] | None]]:
    """Yield the object of each line with the number of the line; None for what is no object."""
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    done, rest = 0, codecs.BOM_UTF8
    for block in chain(blocks(), [b"\n"]):
        *lines, rest = (rest + block).split(b"\n")
        for number, line in enumerate(lines, done + 1):
            text = line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r\x1e")
            if text:
                try:
                    yield number, decode(text)
                except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                    yield number, None
        done += len(lines)


def _json_text(text: bytes) -> str:
    """Return a value as it is written, a whole number as one; nothing is empty text."""
    if text.startswith(b'"'):
        return msgspec.json.decode(text, type=str)
    if text in (b"", b"null"):
        return ""
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", text.decode())


def _batch(
    rows: Sequence[int], texts: Iterable[Sequence[str]], share: float, *, coded: bool
) -> Batch:
    columns = [pa.array(each, TEXT) for each in texts]
    if coded:
        columns = [each.dictionary_encode() for each in columns]
    return Batch(np.array(rows, np.int64), columns, share)
