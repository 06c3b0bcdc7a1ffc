"""Why DuckDB could not do something, in words that quote no row."""

from __future__ import annotations

from contextlib import AbstractContextManager

import duckdb

from askew_server.counting.engines import failures_named


def duckdb_failures(where: str) -> AbstractContextManager[None]:
    """DuckDB's failure as a DataError that quotes no row."""
    return failures_named(where, duckdb.Error, _reason)


def _reason(error: Exception) -> str:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "DuckDB's memory is used up; raise its limit or give it a temporary directory"
    if isinstance(error, duckdb.IOException | duckdb.CatalogException):
        return str(error).partition("\n")[0]  # names files and tables, never a row
    return f"DuckDB cannot read this ({type(error).__name__})"
