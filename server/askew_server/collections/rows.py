"""Rows of a csv, parquet or GeoJSON file, each with its number, as DuckDB reads them: all text.

A row of csv is one line: a quoted field cannot hold a line break, so that a quote which never
closes costs one row and not the rest of the file. The lines are read whole and cut here, for their
numbers, which DuckDB does not give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from askew.errors import DataError
from askew_server.counting.engines.csv_header import columns_of
from askew_server.counting.engines.duckdb import pattern_of
from askew_server.ratings.lines import first_bytes

# Four control characters in a row, which no line has: the reader is to cut nothing.
_NO_DELIMITER = "\x01\x02\x01\x02"
_QUOTED = r"""'("(?:[^"]|"")*"|[^",]*),'"""
_ALL_QUOTED = r"""'(?:(?:"(?:[^"]|"")*"|[^",]*),)*'"""
_REJECTED = {"INVALID ENCODING": "its line is not UTF-8"}


@dataclass(frozen=True)
class Rows:
    """A file. relation: SQL of a table with `row`, the number of each, and what `field` looks at.

    unit: what a number counts, "line", "row" or "feature". broken: SQL of whether a row is none.
    """

    path: Path
    unit: str
    columns: tuple[str, ...]
    relation: str
    field: Callable[[str], str]
    broken: str
    why_broken: str

    def first_of(self, names: tuple[str, ...]) -> str | None:
        """The first of these columns that the file has."""
        return next((name for name in names if name in self.columns), None)


def rows_of(path: Path, connection: duckdb.DuckDBPyConnection) -> Rows:
    """The rows of a file, by what it begins with. Raises DataError, and DuckDB's errors."""
    start = first_bytes(path, 64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"PAR1"):
        return _parquet(path, connection)
    return _geojson(path, connection) if start.startswith(b"{") else _csv(path)


def left_out_lines(connection: duckdb.DuckDBPyConnection) -> dict[int, str]:
    """The lines of a csv file that DuckDB could not read, with the reason of each."""
    tables = {name for [name] in connection.execute("SHOW TABLES").fetchall()}
    if "reject_errors" not in tables:
        return {}
    found = connection.execute("SELECT line, error_type FROM reject_errors").fetchall()
    return {line: _REJECTED.get(kind, "its line is too long") for line, kind in found}


def line_of(row: int, left_out: list[int]) -> int:
    """The line that a row of csv stands on. left_out: lines that were not counted, ascending."""
    for line in left_out:
        if line > row:
            break
        row += 1
    return row


def _csv(path: Path) -> Rows:
    columns = columns_of((str(path),))
    lines = (
        f"read_csv({_literal(pattern_of(str(path)))}, columns = {{'line': 'VARCHAR'}}, "
        f"delim = '{_NO_DELIMITER}', auto_detect = false, header = false, quote = '', escape = '', "
        "comment = '', ignore_errors = true, strict_mode = false, hive_partitioning = false, "
        "store_rejects = true, rejects_limit = 0)"
    )
    cut = (
        "CASE WHEN NOT contains(line, '\"') THEN string_split(line, ',') "
        f"WHEN regexp_full_match(line || ',', {_ALL_QUOTED}) "
        f"THEN regexp_extract_all(line || ',', {_QUOTED}, 1) END"
    )
    numbered = f"SELECT row_number() OVER () AS row, line FROM {lines}"
    # The first line is the header; an empty one, as at the end of many files, is nothing lost.
    relation = f"(SELECT row, {cut} AS record FROM ({numbered}) WHERE row > 1 AND line <> '')"

    def field(column: str) -> str:
        text = f"record[{columns.index(column) + 1}]"
        unquoted = f"replace({text}[2:-2], '\"\"', '\"')"
        return f"CASE WHEN starts_with({text}, '\"') THEN {unquoted} ELSE {text} END"

    broken = f"(len(record) IS DISTINCT FROM {len(columns)})"
    why = f"not {len(columns)} fields separated by ',' on one line"
    return Rows(path, "line", columns, relation, field, broken, why)


def _parquet(path: Path, connection: duckdb.DuckDBPyConnection) -> Rows:
    source = f"read_parquet({_literal(pattern_of(str(path)))}, hive_partitioning = false)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    columns = tuple([name for name, *_ in described])
    relation = f"(SELECT row_number() OVER () AS row, * FROM {source})"
    if "row" in columns:
        raise DataError(f"{path}: its column row needs another name")
    return Rows(
        path, "row", columns, relation, lambda c: f"CAST({_name(c)} AS VARCHAR)", "false", ""
    )


def _geojson(path: Path, connection: duckdb.DuckDBPyConnection) -> Rows:
    size = max(path.stat().st_size, 1)
    source = (
        f"read_json({_literal(pattern_of(str(path)))}, columns = {{'features': 'JSON[]'}}, "
        f"format = 'unstructured', maximum_object_size = {size + 1})"
    )
    # Once: the file is one value, and would be parsed whole for each look at it.
    features = f"SELECT unnest(features) AS record FROM {source}"
    numbered = f"SELECT row_number() OVER () AS row, record FROM ({features})"
    connection.execute(f"CREATE TEMP TABLE features AS {numbered}")
    relation = "features"
    keys = f"SELECT DISTINCT unnest(json_keys(record, '$.properties')) FROM {relation}"
    properties = sorted(name for [name] in connection.execute(keys).fetchall())
    own = {
        "longitude": "$.geometry.coordinates[0]",
        "latitude": "$.geometry.coordinates[1]",
    }
    named = {name: '$.properties."' + name.replace('"', '\\"') + '"' for name in properties}
    ids = "SELECT count(json_extract_string(record, '$.id')) FROM features"
    found = connection.execute(ids).fetchone()
    if found != (0,) and "id" not in properties:  # the feature's own id is optional
        own["id"] = "$.id"
    paths = named | own

    def field(column: str) -> str:
        return f"json_extract_string(record, {_literal(paths[column])})"

    kind = "json_extract_string(record, '$.geometry.type')"
    broken = f"({kind} IS DISTINCT FROM 'Point')"
    return Rows(path, "feature", tuple(paths), relation, field, broken, "its geometry is no Point")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
