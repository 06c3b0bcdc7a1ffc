"""The engines that can count, by address. A driver is imported when its engine is opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qsl

from sqlglot import exp

from askew.errors import DataError, ParameterError
from askew_server.counting.contract import Engine
from askew_server.counting.statements import quoted_table
from askew_server.interruptible import Progress

_TEXT_FILES = (".csv", ".csv.gz")
_WHY = (
    *("authentication failed", "no password supplied", "no pg_hba.conf entry", "does not exist"),
    *("connection refused", "no such file or directory", "failed to resolve host", "not known"),
    *("timeout", "timed out", "too many clients", "starting up", "certificate", "ssl"),
)
_FILES = (".parquet", *_TEXT_FILES)
# What else than host and base may say, in a query, where the events are. Nothing here is a secret.
_PLACES = ("database", "dbname", "host", "hostaddr", "port", "service")
# Name and password may hold a "?" or "#" that is not written otherwise, as libpq reads them.
_SERVER = re.compile(r"//(?:[^/]*@)?([^/?]*)([^?]*)\??(.*)", re.DOTALL)
_PORTS = {"postgresql": ":5432", "clickhouse": ":8123"}


def is_file(name: str) -> bool:
    """Whether a source is read from files; every other name is a table's."""
    return name.lower().endswith(_FILES)


def is_text_file(name: str) -> bool:
    """Whether a source is read from files whose column names are but their first line."""
    return name.lower().endswith(_TEXT_FILES)


def table_parts(name: str) -> tuple[str, ...]:
    """The identifiers in "table", "schema.table" or "catalog.schema.table", as they are written."""
    parts = tuple(name.split("."))
    if not all(parts) or len(parts) > 3:
        raise DataError(
            f"{name!r} names neither a file ({', '.join(_FILES)}) nor a table (schema.table)"
        )
    return parts


def no_rows(table: tuple[str, ...], dialect: str) -> str:
    """A statement that gives all columns of a table and none of its rows."""
    return exp.select("*").from_(quoted_table(table)).limit(0).sql(dialect=dialect)


def driver(module: str, extra: str) -> ModuleType:
    """The driver of an optional engine, or the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise DataError(
            f"this engine needs {module}, which is not installed: pip install 'askew[{extra}]'"
        ) from None


@contextmanager
def failures_named(
    where: str,
    failure: type[Exception] | tuple[type[Exception], ...],
    reason: Callable[[Exception], str],
) -> Iterator[None]:
    """An engine's failure as a DataError; its own words may quote a row, `reason` knows which."""
    try:
        yield
    except failure as error:
        raise DataError(f"{where}: {reason(error)}") from None


def no_connection(error: Exception) -> str:
    """Why there is no connection, in words of our own. A driver's words quote what it took for the
    host, and that is half of the password where one has an unescaped "@".
    """
    words = str(error).lower()
    found = [why for why in _WHY if why in words] or [type(error).__name__]
    return f"no connection ({', '.join(found)})"


def open_engine(  # noqa: PLR0913 (each by its name)
    address: str = "duckdb:",
    *,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    multi_line: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> Engine:
    """The engine at an address; memory_limit, progress and warn are DuckDB's alone,
    temp_directory and multi_line (whether fields of csv files may span lines) also Spark's.

    duckdb:                       inside this process, for parquet and csv files (the default)
    duckdb:events.duckdb          the tables of a DuckDB file, opened for reading
    spark:local[*]                Spark on this machine; spark:spark://host:7077 and the like
    postgresql://name@host/base   a PostgreSQL database
    clickhouse://name@host/base   a ClickHouse server
    chdb:///folder                ClickHouse inside this process, with the tables of a folder

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
                multi_line=multi_line,
                progress=progress,
                warn=warn,
            )
        case "spark":
            from askew_server.counting.engines.spark import SparkEngine

            return SparkEngine(
                rest or "local[*]", temp_directory=temp_directory, multi_line=multi_line
            )
        case "postgresql" | "postgres":
            from askew_server.counting.engines.postgres import PostgresEngine

            return PostgresEngine(address)
        case "clickhouse" | "chdb":
            from askew_server.counting.engines.clickhouse import ClickHouseEngine

            return ClickHouseEngine(address)
    forms = "duckdb:, spark:, postgresql:// or clickhouse://"
    raise ParameterError("the engine's address", "another form", f"one that begins with {forms}")


def public_address(address: str) -> str:
    """An engine's address without name, password and options: one text for what is one place.

    duckdb:FILE            as it is
    spark:MASTER           without the number of threads, which counts nothing differently
    postgresql://, clickhouse://   host, port unless it is the usual one, base

    What the address leaves to the environment (PGHOST, PGSERVICE ...) is not in it.
    """
    scheme, _, rest = address.partition(":")
    if scheme == "spark":
        master = rest or "local"
        return "spark:" + ("local" if master.startswith("local[") else _without_name(master))
    if scheme in ("duckdb", "chdb"):
        return address
    found = _SERVER.fullmatch(rest)
    if found is None:
        return f"{scheme}:"
    scheme = "postgresql" if scheme == "postgres" else scheme
    host, base, options = found.groups()
    host = host.lower().removesuffix(_PORTS.get(scheme, ""))
    asked = sorted(pair for pair in parse_qsl(options) if pair[0] in _PLACES)
    query = "?" + "&".join(f"{name}={value}" for name, value in asked) if asked else ""
    return f"{scheme}://{host}{base.rstrip('/')}{query}"


def _without_name(master: str) -> str:
    before, slashes, after = master.rpartition("//")
    return before + slashes + after.rpartition("@")[2]
