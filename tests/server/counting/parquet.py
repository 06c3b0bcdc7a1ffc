"""Parquet files from columns of plain Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from askew_server.counting.statements import DIALECTS

Columns = Mapping[str, Sequence[object]]


def write_parquet(path: Path, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> None:
    """One file with these columns, all of one type, or the last one of its own."""
    named = ", ".join(
        f"unnest(CAST($c{n} AS {kind}[])) AS {quoted(name)}"
        for n, (name, kind) in enumerate(typed(columns, sql_type, last))
    )
    values = {f"c{n}": list(column) for n, column in enumerate(columns.values())}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {named}", values)
        target = str(path).replace("'", "''")
        connection.execute(f"COPY t TO '{target}' (FORMAT parquet)")


def typed(columns: Columns, sql_type: str, last: str) -> list[tuple[str, str]]:
    """The columns with their types."""
    names = list(columns)
    return [(name, last if last and name == names[-1] else sql_type) for name in names]


def quoted(name: str, dialect: str = "duckdb") -> str:
    """A name as an identifier."""
    return DIALECTS[dialect].quoted(name)


def write_parquet_of_bytes(path: Path, unit: str, item: bytes) -> None:
    """One event whose item is any six bytes, also such that are no text."""
    write_parquet(path, {"unit": [unit], "item": ["MARKER"]})  # too short to be compressed
    data = path.read_bytes()
    if b"MARKER" not in data or len(item) != 6:
        raise ValueError(item)
    path.write_bytes(data.replace(b"MARKER", item))
