"""Engines by address, as an operator configures them."""

from __future__ import annotations

from pathlib import Path

from askew.errors import ParameterError
from askew_server.counting.contract import Engine
from askew_server.counting.engines import Progress


def open_engine(
    address: str = "duckdb:",
    *,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    progress: Progress | None = None,
) -> Engine:
    """The engine at an address; memory_limit, temp_directory and progress are DuckDB's alone.

    duckdb:                       inside this process, for parquet and csv files (the default)
    duckdb:events.duckdb          the tables of a DuckDB file, opened for reading
    spark:local[*]                Spark on this machine; spark:spark://host:7077 and the like
    postgresql://name@host/base   a PostgreSQL database
    clickhouse://name@host/base   a ClickHouse server

    Raises ParameterError for an address of none of these forms, which it does not repeat (it may
    hold a password), and DataError when the engine is not installed or does not answer.
    """
    scheme, _, rest = address.partition(":")
    match scheme:
        case "duckdb":
            from askew_server.counting.engines.duckdb import DuckDBEngine

            return DuckDBEngine(
                Path(rest) if rest else None,
                memory_limit=memory_limit,
                temp_directory=temp_directory,
                progress=progress,
            )
        case "spark":
            from askew_server.counting.engines.spark import SparkEngine

            return SparkEngine(rest or "local[*]")
        case "postgresql" | "postgres":
            from askew_server.counting.engines.postgres import PostgresEngine

            return PostgresEngine(address)
        case "clickhouse" | "chdb":
            from askew_server.counting.engines.clickhouse import ClickHouseEngine

            return ClickHouseEngine(address)
    forms = "duckdb:, spark:, postgresql:// or clickhouse://"
    raise ParameterError("the engine's address", "another form", f"one that begins with {forms}")
