"""What every engine needs: names of files and tables, its driver, its failures in our words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from askew.errors import DataError
from askew_server.counting.statements import NO_ROWS, Names, carried

_TEXT_FILES = tuple(
    f".{kind}{packed}" for kind in ("csv", "tsv", "txt") for packed in ("", ".gz", ".zst")
)
_BARE_FILES = (".dat", ".data")
_WHY = (
    *("authentication failed", "no password supplied", "no pg_hba.conf entry", "does not exist"),
    *("connection refused", "no such file or directory", "failed to resolve host", "not known"),
    *("timeout", "timed out", "too many clients", "starting up", "certificate", "ssl"),
)
_FILES = (".parquet", *_TEXT_FILES)


def is_file(name: str) -> bool:
    """Return True for what is read from files: a name that ends as theirs do, a folder that is
    there and is written with a slash, or a file of MovieLens that is there. Every other name is a
    table's.
    """
    return is_text_file(name) or name.lower().endswith(".parquet") or _is_folder(name)


def is_text_file(name: str) -> bool:
    """Return True for a name of files of text, whose column names are but their first line, if they
    have any; for a folder where any file in it is one.
    """
    if _is_folder(name):
        from askew_server.tables.files import files_of  # pyarrow takes a while

        return any(is_text_file(file) for file in files_of(name))
    lower = name.lower()
    return lower.endswith(_TEXT_FILES) or (lower.endswith(_BARE_FILES) and Path(name).is_file())


def _is_folder(name: str) -> bool:
    return "/" in name and Path(name).is_dir()


def is_pattern(name: str) -> bool:
    """Return True for a name of files that is no file there: a pattern such as log/*.parquet, a
    folder written with a slash, or a file that is missing; False for a table.
    """
    return is_file(name) and not Path(name).is_file()


def table_parts(name: str) -> tuple[str, ...]:
    """Return the identifiers in "table", "schema.table" or "catalog.schema.table", as written.
    Raises DataError for an empty part, or more than three.
    """
    parts = tuple(name.split("."))
    if not all(parts) or len(parts) > 3:
        raise DataError(
            f"{name!r} names neither a file ({', '.join(_FILES)}) nor a table (schema.table)"
        )
    return parts


def no_rows(table: tuple[str, ...], dialect: str) -> str:
    """Return an SQL statement that gives all columns of a table and none of its rows."""
    return carried(NO_ROWS, Names({"events_table": table}, {}, frozenset()), dialect)


def driver(module: str, extra: str) -> ModuleType:
    """Return the module of an optional engine's driver. Raises DataError, which says how to install
    it, where it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise DataError(
            f"this engine needs {module}, which is not installed: in a clone, pip install"
            f" '.[{extra}]'"
        ) from None


@contextmanager
def failures_named(
    where: str,
    failure: type[Exception] | tuple[type[Exception], ...],
    reason: Callable[[Exception], str],
) -> Iterator[None]:
    """Raise an engine's `failure` in the body of a `with` as a DataError: where, and what `reason`
    makes of it. The engine's own words may quote a row.
    """
    try:
        yield
    except failure as error:
        raise DataError(f"{where}: {reason(error)}") from None


def no_connection(error: Exception) -> str:
    """Return a phrase that says why there is no connection: the known reasons in the error's words,
    or its type. A driver's words quote what it took for the host, and that is half of the password
    where one has an unescaped "@".
    """
    words = str(error).lower()
    reasons = [why for why in _WHY if why in words] or [type(error).__name__]
    return f"no connection ({', '.join(reasons)})"
