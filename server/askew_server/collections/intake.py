"""Checked rows of a file in DuckDB: what is wrong with each, and the columns of those that stay.

A bad row is never fatal and never silent: it is counted under its reason. Values become arrays
without a Python object a row.

Attributes as columns of a file: declared or guessed kinds, and their values in SQL.

Rows of a file that were left out, by reason: how many, and the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew.catalog.listing import MAX_HOURS, Attribute, AttributeKind
from askew.errors import DataError, ParameterError
from askew.limits import MAX_MARKS, MAX_TEXT, is_mark
from askew_server.collections.columns import Column, Flags, Numbers, Titles, Words
from askew_server.collections.rows import Rows, left_out_lines, line_of

_TRUE, _FALSE = "('true', 'yes', 't', 'y', '1')", "('false', 'no', 'f', 'n', '0')"
_FLAG_WORDS = "('true', 'yes', 't', 'y', 'false', 'no', 'f', 'n')"
_HOURS = r"'.*\b[0-2]?[0-9]:[0-5][0-9]\b.*|24/7'"
_MOST = 0.9  # of the values that are there make a guess


@dataclass(frozen=True)
class AttributeOption:
    """A column that becomes an attribute, as an operator names it; the kind may be left to us."""

    name: str
    kind: AttributeKind | None = None
    unit: str = ""
    live: bool = False

    @classmethod
    def parsed(cls, text: str, *, live: bool = False) -> AttributeOption:
        """The option "NAME", "NAME=KIND" or "NAME=KIND:UNIT". Raises ParameterError."""
        name, _, rest = text.partition("=")
        kind, _, unit = rest.partition(":")
        if not name or (kind and kind not in list(AttributeKind)):
            limit = f"NAME, NAME=KIND or NAME=KIND:UNIT with a kind of {', '.join(AttributeKind)}"
            raise ParameterError("live" if live else "attribute", text, limit)
        return cls(name, AttributeKind(kind) if kind else None, unit, live)

    def attribute(self, kind: AttributeKind) -> Attribute:
        """The attribute that it becomes. Raises OutOfRange for a name that is no plain text."""
        return Attribute(self.name, kind, self.live, self.unit)


@cache
def printable() -> str:
    """A regular expression of the texts that this Python calls printable, for DuckDB.

    DuckDB's own classes know other characters than Python's, and no reply may carry one that the
    core refuses.
    """
    return _any_of(str.isprintable) + "+"


@cache
def _too_many_marks() -> str:
    """The same of what `askew.limits.has_few_marks` refuses."""
    return f"{_any_of(is_mark)}{{{MAX_MARKS + 1}}}"


def _any_of(kind: Callable[[str], bool]) -> str:
    edges, before = [], False
    for code in range(0x110000):
        if (found := kind(chr(code))) is not before:
            edges.append(code if found else code - 1)
            before = found
    spans = zip(edges[::2], edges[1::2], strict=True)
    return "[" + "".join([f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in spans]) + "]"


def plain(text: str) -> str:
    """SQL: the text with every kind of space as a plain one, NULL where it is empty."""
    spaces = f"regexp_replace({text}, '\\p{{Zs}}', ' ', 'g')"
    return (
        f"nullif(trim(CASE WHEN strlen({text}) = length({text}) THEN {text} ELSE {spaces} END), '')"
    )


def is_plain(text: str, longest: int = MAX_TEXT) -> str:
    """SQL: whether a text is one that a reply may carry."""
    shown = f"regexp_full_match({text}, '{printable()}')"
    return f"(length({text}) <= {longest} AND {shown} AND {has_few_marks(text)})"


def has_few_marks(text: str) -> str:
    """SQL: whether a text has few combining marks in a row; most have none."""
    return f"(strlen({text}) = length({text}) OR NOT regexp_matches({text}, '{_too_many_marks()}'))"


def value(kind: AttributeKind, text: str) -> str:
    """SQL: the typed value of a plain text, NULL where it is none."""
    match kind:
        case AttributeKind.NUMBER:
            number = f"TRY_CAST({text} AS FLOAT)"
            fits = f"isfinite({number}) AND NOT contains({text}, '_')"
            return f"CASE WHEN {fits} THEN {number} END"
        case AttributeKind.FLAG:
            low = f"lower({text})"
            return f"CASE WHEN {low} IN {_TRUE} THEN true WHEN {low} IN {_FALSE} THEN false END"
        case AttributeKind.HOURS:
            return f"CASE WHEN {is_plain(text, MAX_HOURS)} THEN {text} END"
        case _:
            return f"CASE WHEN {is_plain(text)} THEN {text} END"


def guess(connection: duckdb.DuckDBPyConnection, text: str, relation: str) -> AttributeKind:
    """What nine in ten of the values of a column look like; a category where nothing else."""
    shares = (
        (AttributeKind.FLAG, f"lower({text}) IN {_FLAG_WORDS}"),
        (AttributeKind.NUMBER, f"({value(AttributeKind.NUMBER, text)}) IS NOT NULL"),
        (AttributeKind.HOURS, f"regexp_full_match({text}, {_HOURS})"),
    )
    counts = ", ".join([f"coalesce(avg(CAST({like} AS INTEGER)), 0)" for _, like in shares])
    query = f"SELECT {counts} FROM {relation} WHERE {text} IS NOT NULL"
    row = connection.execute(query).fetchone() or ()
    likely = [kind for (kind, _), share in zip(shares, row, strict=True) if share >= _MOST]
    return likely[0] if likely else AttributeKind.CATEGORY


SHOWN = 3


@dataclass(frozen=True)
class Omitted:
    """Rows that were left out for one reason. first: the numbers of the first ones."""

    reason: str
    count: int
    first: tuple[int, ...]


@dataclass(frozen=True)
class Omissions:
    """All that was left out of a file. unit: what a number counts."""

    file: str
    unit: str
    rows: tuple[Omitted, ...] = ()

    @property
    def count(self) -> int:
        """How many rows."""
        return sum(each.count for each in self.rows)

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each reason, for an operator."""
        said = []
        for each in self.rows:
            numbers = ", ".join(map(str, each.first)) + (", ..." if each.count > SHOWN else "")
            plural = "s" if each.count > 1 else ""
            said.append(f"{each.count:,}: {each.reason} ({self.unit}{plural} {numbers})")
        return tuple(said)


MAX_CATEGORIES = 10_000
_PART = 1 << 16  # texts that are joined at once
_GOOD = "given WHERE fault = 0"


@dataclass(frozen=True)
class Field:
    """A column of the checked table, or a mere check where it has no name. value: SQL; fault: SQL
    of what makes a row bad, with why.
    """

    name: str | None
    value: str
    fault: str
    reason: str


@contextmanager
def duckdb_session() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that reads files and fetches nothing from elsewhere."""
    with TemporaryDirectory(prefix="askew-collections-") as folder:
        settings: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "temp_directory": folder,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            yield connection


class Intake:
    """The rows of one file, checked."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        rows: Rows,
        texts: Sequence[tuple[str, str]],
        fields: Sequence[Field],
    ) -> None:
        """texts: names that the SQL of `fields` uses, each with the column of the file it is."""
        self._connection, self._rows = connection, rows
        self._reasons = [rows.why_broken, *(each.reason for each in fields)]
        faults = ["broken_row", *(each.fault for each in fields)]
        said = " ".join([f"WHEN {fault} THEN {at}" for at, fault in enumerate(faults, 1)])
        found = ", ".join([f"{rows.field(column)} AS {name}" for name, column in texts])
        plainly = ", ".join([f"{plain(name)} AS {name}" for name, _ in texts])
        kept = ", ".join([f"{each.value} AS {each.name}" for each in fields if each.name])
        source = f"SELECT row, {rows.broken} AS broken_row, {found} FROM {rows.relation}"
        self._execute(
            f"CREATE OR REPLACE TEMP TABLE given AS SELECT row, {kept}, "
            f"CAST(CASE {said} ELSE 0 END AS UTINYINT) AS fault "
            f"FROM (SELECT row, broken_row, {plainly} FROM ({source}))"
        )
        self._skipped = left_out_lines(connection)

    def refuse(self, rows: NDArray[np.int64], reason: str) -> None:
        """Leaves these rows out, too."""
        if len(rows):
            self._connection.register("refused", {"row": rows})
            self._mark("refused", reason)
            self._connection.unregister("refused")

    def refuse_duplicates(self, column: str, reason: str) -> None:
        """Of rows that have the same value, the last stays."""
        [counts] = self._fetch(f"SELECT count({column}), count(DISTINCT {column}) FROM {_GOOD}")
        if counts[0] > counts[1]:
            later = f"lead(row) OVER (PARTITION BY {column} ORDER BY row) AS later"
            found = f"SELECT row, {later} FROM {_GOOD} AND {column} IS NOT NULL"
            self._execute(
                f"CREATE OR REPLACE TEMP TABLE again AS SELECT row FROM ({found}) "
                "WHERE later IS NOT NULL"
            )
            self._mark("again", reason)

    def refuse_unknown(
        self, upper: NDArray[np.uint64], lower: NDArray[np.uint64], reason: str
    ) -> None:
        """Leaves out rows whose key has none of these digests; `item` is the others' place."""
        known = {"upper": upper, "lower": lower, "item": np.arange(len(upper))}
        self._connection.register("known", known)
        self._execute(
            "CREATE OR REPLACE TEMP TABLE given AS SELECT given.*, known.item AS item "
            "FROM given LEFT JOIN known ON md5_number_upper(key) = upper "
            "AND md5_number_lower(key) = lower"
        )
        self._connection.unregister("known")
        self._execute(
            f"CREATE OR REPLACE TEMP TABLE unknown AS SELECT row FROM {_GOOD} AND item IS NULL"
        )
        self._mark("unknown", reason)

    def keep(self) -> int:
        """Ends the checks: what is good is numbered from 0, in the order of the file."""
        self._execute(
            "CREATE OR REPLACE TEMP TABLE kept AS "
            f"SELECT row_number() OVER (ORDER BY row) - 1 AS id, * FROM {_GOOD} ORDER BY row"
        )
        [[count]] = self._fetch("SELECT count(*) FROM kept")
        return int(count)

    def omissions(self) -> Omissions:
        """What was left out, the commonest reason first."""
        found = self._fetch(
            f"SELECT fault, count(*), min(row, {SHOWN}) FROM given WHERE fault > 0 GROUP BY fault"
        )
        lines = sorted(self._skipped)
        rows = [
            Omitted(self._reasons[fault - 1], count, tuple([line_of(r, lines) for r in first]))
            for fault, count, first in found
        ]
        for reason in sorted(set(self._skipped.values())):
            of_reason = [line for line in lines if self._skipped[line] == reason]
            rows.append(Omitted(reason, len(of_reason), tuple(of_reason[:SHOWN])))
        rows.sort(key=lambda each: (-each.count, each.reason))
        return Omissions(self._rows.path.name, self._rows.unit, tuple(rows))

    def numbers(self, *columns: str, table: str = "kept") -> list[NDArray[Any]]:
        """Columns of numbers, in the order of the file. NULL is not allowed in them."""
        order = "row" if table == "given" else "id"
        sql = f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"
        found = self._connection.execute(sql).fetchnumpy()
        return [np.ascontiguousarray(each) for each in found.values()]

    def good_numbers(self, *columns: str) -> list[NDArray[Any]]:
        """The same of the rows that are good so far, with their numbers first."""
        sql = f"SELECT row, {', '.join(columns)} FROM {_GOOD}"
        found = self._connection.execute(sql).fetchnumpy()
        return [np.ascontiguousarray(each) for each in found.values()]

    def texts(self, column: str, table: str = "kept") -> Titles:
        """A column of texts, none NULL."""
        parts = self._fetch(
            f"SELECT id // {_PART} AS part, encode(string_agg({column}, '' ORDER BY id)) "
            f"FROM {table} GROUP BY part ORDER BY part"
        )
        blob = np.frombuffer(b"".join([part for _, part in parts]), np.uint8)
        [sizes] = self.numbers(f"strlen({column})", table=table)
        return Titles(blob, np.cumsum(sizes, dtype=np.int64))

    def column(self, kind: AttributeKind, column: str) -> Column:
        """The values of an attribute."""
        if kind is AttributeKind.NUMBER:
            return Numbers(self.numbers(f"coalesce({column}, CAST('nan' AS FLOAT)) AS v")[0])
        if kind is AttributeKind.FLAG:
            codes = f"CAST(coalesce(CAST({column} AS TINYINT), -1) AS TINYINT) AS v"
            return Flags(self.numbers(codes)[0])
        return self._words(kind, column)

    def _words(self, kind: AttributeKind, column: str) -> Words:
        distinct = f"SELECT DISTINCT {column} AS word FROM kept WHERE {column} IS NOT NULL"
        self._execute(
            "CREATE OR REPLACE TEMP TABLE words AS "
            f"SELECT row_number() OVER (ORDER BY word) - 1 AS id, word FROM ({distinct})"
        )
        [[count]] = self._fetch("SELECT count(*) FROM words")
        if kind is AttributeKind.CATEGORY and count > MAX_CATEGORIES:
            raise DataError(
                f"{self._rows.path}: a category of {count:,} different words is none; at most "
                f"{MAX_CATEGORIES:,} are"
            )
        coded = (
            f"SELECT k.id AS id, w.id AS code FROM kept k LEFT JOIN words w ON k.{column} = w.word"
        )
        self._execute(f"CREATE OR REPLACE TEMP TABLE coded AS {coded}")
        [codes] = self.numbers("CAST(coalesce(code, -1) AS INTEGER) AS v", table="coded")
        return Words(codes, self.texts("word", "words"))

    def _mark(self, table: str, reason: str) -> None:
        self._reasons.append(reason)
        self._execute(
            f"UPDATE given SET fault = {len(self._reasons)} FROM {table} "
            f"WHERE given.row = {table}.row"
        )

    def _execute(self, sql: str) -> None:
        self._connection.execute(sql)

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()
