"""Text in rows and fields: how a file is cut, in which encoding, and the rows that it has.

One pass of our own finds where rows end and what they may hold, and then Arrow cuts them.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute
from pyarrow import csv as arrow_csv

from askew.errors import DataError, ParameterError
from askew_server.tables.files import BLOCK, unpacked
from askew_server.tables.rows import CODED, LONGEST_ROW, TEXT, TOO_LONG, Batch, Omissions, is_utf8

QUOTES = (
    "a quote is not closed, or text follows a closing one. Read on, it would hide other people's"
    " rows: mend the file, or write it as parquet"
)
MOVIELENS_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_SAMPLE = 1 << 24  # bytes that tell an encoding
_UNIT = b"\x1f"  # Arrow wants a separator of one byte
_MARK = b"\x1a"  # and 1 stand for a return while Arrow cuts rows; it and 0, for itself


@dataclass(frozen=True)
class Layout:
    """How text is cut into fields. quotes: whether fields may stand in quotes."""

    separator: str
    columns: tuple[str, ...]
    has_header: bool = True
    quotes: bool = True


def _bare(separator: str, *columns: str) -> Layout:
    return Layout(separator, columns, has_header=False, quotes=False)


BARE = {
    "ratings.dat": _bare("::", "user", "item", "rating", "timestamp"),
    "movies.dat": _bare("::", "item", "title", "genres"),
    "u.data": _bare("\t", "user", "item", "rating", "timestamp"),
    "u.item": _bare("|", "item", "title", "released", "on video", "address", *MOVIELENS_GENRES),
}
"""The files of MovieLens that have no header line."""


def usual_encoding(encoding: str) -> str:
    """Return Python's name of an encoding, "utf-8" for "UTF8" and "iso8859-1" for "latin-1", in
    which the bytes of ASCII, and no others, are ASCII: rows, fields and quotes are found in bytes.
    Raises ParameterError for others, such as utf-16, utf-8-sig and ascii.
    """
    every, escape, texts = bytes(range(256)), b"\\u0022", ""
    try:
        usual = codecs.lookup(encoding).name
        # The escape must stay six characters: an escape codec would make a quote of it.
        if escape.decode(encoding) == escape.decode():
            texts = every.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        usual = ""
    is_of_bytes = (
        len(texts) == len(every)
        and texts[:128].encode() == every[:128]
        and not any(text.isascii() for text in texts[128:])
        and set(texts[128:]) != {"\N{REPLACEMENT CHARACTER}"}  # ascii knows no byte above 127
    )
    if usual != "utf-8" and not is_of_bytes:
        raise ParameterError("encoding", encoding, "utf-8, or one of a byte a character")
    return usual


def guessed_encoding(path: str) -> str:
    """Return "latin-1" where most lines that are not ASCII, in a file's first 16 MB, are no UTF-8,
    and else "utf-8".
    """
    with unpacked(path) as (file, _):
        sample = file.read(_SAMPLE)
    if sample.isascii():
        return "utf-8"
    wide = [line for line in sample.split(b"\n") if not line.isascii()]
    wrong = sum(not is_utf8(line) for line in wide)
    return "latin-1" if 2 * wrong > len(wide) else "utf-8"


def name_of(path: str) -> str:
    """Return the name of a file without its folder, in lower case, without .gz or .zst: "log.csv"
    for "old/Log.CSV.gz".
    """
    return Path(path).name.lower().removesuffix(".gz").removesuffix(".zst")


def layout_of(path: str, start: bytes, encoding: str, *, may_be_bare: bool) -> Layout:
    """Return the Layout of a text file, `separator` and `columns`, by its first line, which names
    them; one without a name is "column 3". The separator is the comma of .csv or the tab of .tsv
    where the line has it, else whichever of comma, tab and semicolon it has most. may_be_bare: take
    a line that looks like MovieLens for a row of a file without a header. Raises DataError for what
    is no header.
    """
    text = start.removeprefix(codecs.BOM_UTF8)
    line = text.partition(b"\n")[0].removesuffix(b"\r")
    shapes = {("::", 4): "ratings.dat", ("::", 3): "movies.dat", ("|", 24): "u.item"}
    bare = [shapes.get((mark, line.count(mark.encode()) + 1), "") for mark in ("::", "|")]
    if re.fullmatch(rb"\d+\t\d+\t[1-5]\t\d+", line):
        bare.append("u.data")
    names = [name for name in bare if name]
    if may_be_bare and names:
        return BARE[names[-1]]
    if b"\r" in re.sub(rb'"[^"]*+"', b"", line):
        raise DataError(f"{path}: its lines end in returns alone; end them in line feeds")
    separator = {".csv": ",", ".tsv": "\t"}.get(Path(name_of(path)).suffix, "")
    if not separator or separator.encode() not in line:
        separator = max(",\t;", key=lambda mark: line.count(mark.encode()))
    end = _Grammar(Layout(separator, ())).end_of_first(text if b"\n" in text else text + b"\n")
    if not end:
        raise DataError(f"{path}: {QUOTES}")
    try:
        header = text[:end].decode(encoding)
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=separator, strict=True))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        raise DataError(f"{path}: its first line is no header of {encoding} text") from None
    if not any(names):
        raise DataError(f"{path}: its first line is empty; it must name the columns")
    columns = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    return Layout(separator, tuple(columns))


class _Grammar:
    """Fields, rows of them, and what is none, by RFC 4180, as patterns of bytes."""

    def __init__(self, layout: Layout) -> None:
        self._quotes = layout.quotes
        separator = re.escape(layout.separator.encode())
        plain = rb'[^"%b\n][^%b\n]*+' % (separator, separator)
        quoted = rb'"(?:[^"]++|"")*+"'
        one = rb"(?:%b|%b|)" % (quoted, plain)
        self.row = re.compile(rb"%b(?:%b%b)*+\r?\n" % (one, separator, one))
        self.rows = re.compile(rb"(?:%b)*+" % self.row.pattern)
        self.fields = re.compile(rb"(?:%b%b)*+" % (one, separator))
        # After a closing quote: neither another quote, a separator nor the end of a row.
        self.torn = re.compile(
            rb"%b%b(?:[^\"%b\r\n]|\r[^\n])" % (self.fields.pattern, quoted, separator)
        )

    def end_of_first(self, text: bytes) -> int:
        # Bytes, with the line end; 0 where no row is whole, or the quotes of the first are torn.
        if self._quotes and b'"' in text[: text.find(b"\n")]:
            row = self.row.match(text)
            return row.end() if row is not None else 0
        return text.find(b"\n") + 1


class Text:
    """The rows of a file of text. Whatever the sizes of blocks, they are the same."""

    def __init__(
        self, path: str, size: int, layout: Layout, encoding: str, *, private: bool = False
    ) -> None:
        self.layout, self._path, self._size = layout, path, size
        self._encoding, self._private = encoding, private
        self._first_line_is_private = private and not layout.has_header
        self._grammar = _Grammar(layout)

    def batches(self, names: Sequence[str], omissions: Omissions, coded: bool) -> Iterator[Batch]:
        """Yield batches of rows, as `Table.batches` has them, each with the number of its first
        line, and add lines that are no row to omissions: of another number of fields, with a NUL or
        bytes of another encoding, longer than 16 MB, and where it is private a last one without an
        end; an empty line is nothing. Raises DataError for a quote that is not closed, and for text
        after a closing one.
        """
        size = self._size if self._private else None
        with unpacked(self._path, size, by_name=self._first_line_is_private) as (file, raw):
            for number, block in self._blocks(file, omissions):
                numbers, columns = self._cut(block, number, names, omissions, coded)
                yield Batch(numbers, columns, raw.tell() / self._size)

    def _blocks(self, file: BinaryIO, omissions: Omissions) -> Iterator[tuple[int, bytes]]:
        # Whole rows, with the number of the first of their lines.
        block = file.read(3)
        rest = block if self._first_line_is_private else block.removeprefix(codecs.BOM_UTF8)
        # number: of the line that text begins with. rest: what follows the last whole row. is_long:
        # rest stands for the beginning of a row that is too long (`_shortened`). lines_gone: the
        # line ends of that beginning. Only the first row of a text can be too long: what follows
        # came in one block.
        number, lines_gone, is_long, is_header = 1, 0, False, self.layout.has_header
        while rest or block:
            block = file.read(BLOCK)
            text = rest + block
            if not block and text:
                if self._private:  # half of a row, unless it hides others
                    spans_lines = lines_gone or b"\n" in text  # only an open quote does
                    if spans_lines and not self._grammar.row.fullmatch(text + b"\n"):
                        self._refuse_quotes()
                    omissions.add(number, "its last line has no end", self._path)
                    return
                text += b"\n"
            end = self._end_of_rows(text, is_last=not block)
            text, rest = text[:end], text[end:]
            if text and (is_long or len(text) > LONGEST_ROW):
                first = self._grammar.end_of_first(text) or self._refuse_quotes()
                if is_long or first > LONGEST_ROW:
                    omissions.add(number, TOO_LONG.format(LONGEST_ROW), self._path)
                    number += lines_gone + text.count(b"\n", 0, first)
                    text, lines_gone, is_long, is_header = text[first:], 0, False, False
            if text and is_header:
                first = self._grammar.end_of_first(text) or self._refuse_quotes()
                number += text.count(b"\n", 0, first)
                text, is_header = text[first:], False
            if text:
                yield number, text
                number += text.count(b"\n")
            if len(rest) > LONGEST_ROW:
                lines_gone += rest.count(b"\n")
                rest, is_long = self._shortened(rest), True

    def _end_of_rows(self, text: bytes, *, is_last: bool) -> int:
        # Before the line of the first quote, rows end where lines do.
        if not self.layout.quotes or b'"' not in text:
            return text.rfind(b"\n") + 1
        start = text.rfind(b"\n", 0, text.find(b'"')) + 1
        end = cast("re.Match[bytes]", self._grammar.rows.match(text, start)).end()
        if (is_last and end < len(text)) or self._grammar.torn.match(text, end):
            self._refuse_quotes()
        return end

    def _refuse_quotes(self) -> NoReturn:
        raise DataError(f"{self._path}: {QUOTES}")

    def _shortened(self, row: bytes) -> bytes:
        # A few bytes that leave the reader in the state that this unfinished row does: at a field's
        # start, within a plain field, in quotes, or after what may be a closing quote.
        if not self.layout.quotes:
            return b"x"
        begun = row[cast("re.Match[bytes]", self._grammar.fields.match(row)).end() :]
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
        separator, wide = self.layout.separator, len(self.layout.separator) > 1
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if self._encoding != "utf-8" and not block.isascii():
            # A byte that the encoding does not have becomes no UTF-8, and its row is sifted out.
            text = block.decode(self._encoding, "surrogateescape")
            block = text.encode("utf-8", "surrogatepass")
        needs_sifting = (
            b"\0" in block
            or b"\n\n" in block
            or block.startswith(b"\n")
            or (wide and _UNIT in block)
            or not (block.isascii() or is_utf8(block))
        )
        numbers: NDArray[np.int64] | None = None
        if needs_sifting:
            block, numbers = self._sifted(block, number, omissions)
        is_marked = b"\r" in block
        if is_marked:  # Arrow would take it for the end of a row
            block = block.replace(_MARK, _MARK + b"0").replace(b"\r", _MARK + b"1")
        if wide:
            block, separator = block.replace(separator.encode(), _UNIT), _UNIT.decode()
        columns, bad = self._columns(block, separator, names, CODED if coded else TEXT)
        if is_marked:
            columns = [_unmarked(column) for column in columns]
        if numbers is None:  # of the first line of each row
            n_rows = len(columns[0]) + len(bad)
            if block.count(b"\n") == n_rows:
                numbers = np.arange(number, number + n_rows)
            else:
                sizes = [row[0].count(b"\n") for row in self._grammar.row.finditer(block)]
                numbers = number + np.cumsum([0, *sizes[:-1]])
        n_columns = len(self.layout.columns)
        for place in bad:
            reason = f"a row must have {n_columns} fields separated by {self.layout.separator!r}"
            omissions.add(int(numbers[place]), reason, self._path)
        return np.delete(numbers, bad), columns

    def _columns(
        self, block: bytes, separator: str, names: Sequence[str], kind: pa.DataType
    ) -> tuple[list[pa.Array], list[int]]:
        # And the places of rows with another number of fields, which Arrow leaves out.
        bad: list[int] = []
        if not block:
            return [pa.array([], kind) for _ in names], bad

        def skipped(row: arrow_csv.InvalidRow) -> str:
            bad.append(row.number - 2)  # it counts from 1, and the empty line before
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

    def _sifted(
        self, block: bytes, number: int, omissions: Omissions
    ) -> tuple[bytes, NDArray[np.int64]]:
        kept, numbers = [], []
        if self.layout.quotes and b'"' in block:
            rows = [row[0] for row in self._grammar.row.finditer(block)]
        else:
            rows = [line + b"\n" for line in block.split(b"\n")[:-1]]
        is_wide = len(self.layout.separator) > 1
        for row in rows:
            reason = ""
            if b"\0" in row or (is_wide and _UNIT in row):
                reason = "a row must be text without NUL and control characters"
            elif not is_utf8(row):
                reason = f"a row must be text in {self._encoding}"
            if reason:
                omissions.add(number, reason, self._path)
            elif row != b"\n":
                kept.append(row)
                numbers.append(number)
            number += row.count(b"\n")
        return b"".join(kept), np.array(numbers, np.int64)


def _unmarked(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _unmarked(column.dictionary))
    mark = _MARK.decode()
    returns = compute.replace_substring(column, mark + "1", "\r")
    return compute.replace_substring(returns, mark + "0", mark)
