"""Parquet files from columns of plain Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
from sqlglot import exp

Columns = Mapping[str, Sequence[object]]


def write_parquet(path: Path, columns: Columns, sql_type: str = "VARCHAR") -> None:
    """One file with these columns, all of one type."""
    named = ", ".join(
        f"unnest(CAST($c{n} AS {sql_type}[])) AS {quoted(name)}" for n, name in enumerate(columns)
    )
    values = {f"c{n}": list(column) for n, column in enumerate(columns.values())}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {named}", values)
        target = exp.Literal.string(str(path)).sql("duckdb")
        connection.execute(f"COPY t TO {target} (FORMAT parquet)")


def quoted(name: str, dialect: str = "duckdb") -> str:
    """A name as an identifier."""
    return exp.to_identifier(name, quoted=True).sql(dialect)


def write_parquet_of_bytes(path: Path, unit: str, item: bytes) -> None:
    """One event whose item is any six bytes, also such that are no text."""
    write_parquet(path, {"unit": [unit], "item": ["MARKER"]})  # too short to be compressed
    data = path.read_bytes()
    if b"MARKER" not in data or len(item) != 6:
        raise ValueError(item)
    path.write_bytes(data.replace(b"MARKER", item))
