"""Checked rows of a file in DuckDB: what is wrong with each, and the columns of those that stay.

A bad row is never fatal and never silent: it is counted under its reason. Values become arrays
without a Python object a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError
from askew.listing import AttributeKind
from askew_server.collections.attribute_columns import plain
from askew_server.collections.columns import Column, Flags, Numbers, Words
from askew_server.collections.omissions import SHOWN, Omissions, Omitted
from askew_server.collections.rows import Rows, left_out_lines, line_of
from askew_server.collections.titles import Titles

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
