"""The engines that can count, by address. A driver is imported when its engine is opened."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl

from askew.errors import ParameterError
from askew_server.counting.contract import Engine
from askew_server.interruptible import Progress

# What else than host and base may say, in a query, where the events are. Nothing here is a secret.
_PLACES = ("database", "dbname", "host", "hostaddr", "port", "service")
# Name and password may hold a "?" or "#" that is not written otherwise, as libpq reads them.
_SERVER = re.compile(r"//(?:[^/]*@)?([^/?]*)([^?]*)\??(.*)", re.DOTALL)
_USUAL_PORT = ":5432"


def open_engine(
    address: str = "duckdb:",
    *,
    progress: Progress | None = None,
    encoding: str = "utf-8",
) -> Engine:
    """Return the engine at an address, opened; progress and encoding are DuckDB's alone.

    duckdb:                       inside this process, for parquet and csv files (the default)
    duckdb:events.duckdb          the tables of a DuckDB file, opened for reading
    spark:local[*]                Spark on this machine; spark:spark://host:7077 and the like
    postgresql://name@host/base   a PostgreSQL database

    Raises ParameterError for an address of none of these forms, which it does not repeat (it may
    hold a password), and DataError when the engine is not installed or does not answer.
    """
    scheme, _, rest = address.partition(":")
    match scheme:
        case "duckdb":
            from askew_server.counting.engines.duckdb import DuckDBEngine

            database = Path(rest) if rest else None
            return DuckDBEngine(database, progress=progress, encoding=encoding)
        case "spark":
            from askew_server.counting.engines.spark import SparkEngine

            return SparkEngine(rest or "local[*]")
        case "postgresql" | "postgres":
            from askew_server.counting.engines.postgres import PostgresEngine

            return PostgresEngine(address)
    forms = "duckdb:, spark: or postgresql://"
    raise ParameterError("the engine's address", "another form", f"one that begins with {forms}")


def public_address(address: str) -> str:
    """Return an engine's address without name, password and options: one text for what is one
    place.

    duckdb:FILE            as it is
    spark:MASTER           without the number of threads, which counts nothing differently
    postgresql://          host, port unless it is the usual one, base; of options, those that say
                           where (host, port, dbname ...): postgres://ada:pw@DB:5432/log?sslmode=on
                           is postgresql://db/log

    What the address leaves to the environment (PGHOST, PGSERVICE ...) is not in it.
    """
    scheme, _, rest = address.partition(":")
    if scheme == "spark":
        before, slashes, after = (rest or "local").rpartition("//")
        master = before + slashes + after.rpartition("@")[2]
        return "spark:" + ("local" if master.startswith("local[") else master)
    if scheme == "duckdb":
        return address
    parts = _SERVER.fullmatch(rest)
    if parts is None:
        return f"{scheme}:"
    scheme = "postgresql" if scheme == "postgres" else scheme
    host, base, options = parts.groups()
    host = host.lower().removesuffix(_USUAL_PORT)
    asked = sorted(pair for pair in parse_qsl(options) if pair[0] in _PLACES)
    query = "?" + "&".join(f"{name}={value}" for name, value in asked) if asked else ""
    return f"{scheme}://{host}{base.rstrip('/')}{query}"
