"""DuckDB inside this process: the default. Reads parquet and csv files, or the tables of a file."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any, BinaryIO, cast

import duckdb

from askew.errors import DataError
from askew_server.counting.contract import failures_named, is_file, is_text_file, table_parts
from askew_server.counting.statements import DIALECTS, no_rows
from askew_server.folders import PrivateFolder
from askew_server.interruptible import Progress, of_duckdb
from askew_server.tables import Table, copy_text, open_table
from askew_server.tables.files import State, files_of, require_still, states_of
from askew_server.tables.parquet import copy_utf8, is_utf8_throughout


def _failures(where: str) -> AbstractContextManager[None]:
    return failures_named(where, duckdb.Error, _reason)


def _reason(error: Exception) -> str:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "DuckDB's memory is used up; raise its limit or give it a temporary directory"
    if isinstance(error, duckdb.IOException | duckdb.CatalogException):
        return str(error).partition("\n")[0]  # names files and tables, never a row
    return f"DuckDB cannot read this ({type(error).__name__})"


_LOOKS = 3  # at files that others replace
_SQL = DIALECTS["duckdb"]


class DuckDBEngine:
    """A connection of our own; a database file is opened for reading only.

    memory_limit    as DuckDB writes it ("4GB"); beyond it, work goes to temp_directory.
    temp_directory  where a `PrivateFolder` is made for that, and for copies of files of text.
    progress        told how much of a long statement is done.
    encoding        of files of text: nothing of a log decides it.
    """

    dialect = "duckdb"

    def __init__(
        self,
        database: Path | None = None,
        *,
        memory_limit: str | None = None,
        temp_directory: Path | None = None,
        progress: Progress | None = None,
        encoding: str = "utf-8",
    ) -> None:
        settings: dict[str, str | bool | int | float | list[str]] = {
            # Reading a source must not fetch code from elsewhere.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # The order of the events means nothing, and keeping it costs memory.
            "preserve_insertion_order": False,
        }
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        self._views: dict[str, str] = {}
        # By name: a copy of what is counted, or how sound parquet files were, which are counted as
        # long as they stay so.
        self._looked_through: dict[str, _Copy | tuple[State, ...]] = {}
        self._public: set[str] = set()
        self._closed = False
        self._encoding = encoding
        self._folder = PrivateFolder(temp_directory)
        settings["temp_directory"] = str(self._folder.path / "spilled")
        with _failures("DuckDB"):
            self._connection = duckdb.connect(
                ":memory:" if database is None else database,
                read_only=database is not None,
                config=settings,
            )
            self._progress = progress or (lambda _: None)
            self._statements = of_duckdb(self._connection, self._progress)

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:
        """Return the identifiers of a table as they are written; for a file those of a temporary
        view, ("askew_file_1",), made anew each time: a copy that the last one read may be gone.
        Raises DataError where there is no such table or file.
        """
        if not is_file(name):
            return self._existing_table(name)
        if public:
            self._public.add(name)
        view = self._views.setdefault(name, f"askew_file_{len(self._views) + 1}")
        with _failures(name):
            if is_text_file(name):  # of its rows, nothing is looked at
                empty = [f"'' AS {_SQL.quoted(column)}" for column in self._text(name).columns]
                self._view(name, f"SELECT {', '.join(empty)} LIMIT 0")
            else:
                self._view(name, self._parquet(name, files_of(name)))
        return (view,)

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """Return the types of a table's columns, as DuckDB writes them, by column. Raises DataError
        for a table that is not there.
        """
        with _failures(".".join(table)):
            rows = self._connection.execute(f"DESCRIBE {no_rows(table, self.dialect)}").fetchall()
        return {name: kind for name, kind, *_ in rows}

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """Return the rows of a statement. Ctrl-C and SIGTERM end it, and no copy outlives it.

        Files are read as they are now, or as they were looked through: text from a copy, and
        parquet again where it was replaced meanwhile. Raises DataError where it never is still.
        """
        values = dict(parameters or {})
        asked = [name for name, view in self._views.items() if view in sql]
        for look in range(_LOOKS):
            with _failures(", ".join(self._views) or "DuckDB"), ExitStack() as stack:
                still = [state for name in asked for state in self._settle(name, sql, stack)]
                rows = self._statements.result(
                    lambda: self._connection.execute(sql, values).fetchall()
                )
                try:
                    require_still(still)
                except DataError:
                    if look == _LOOKS - 1:
                        raise
                    continue
                self._progress(1.0)
                return rows
        raise AssertionError("the last look returns or raises")

    def look_through(self, name: str, columns: Collection[str] | None = None, /) -> None:
        """Read the files of a name as they are now, and these columns, or all: they are what is
        counted from now on, with nothing that is written later. A count of sound parquet that
        changed since raises DataError. Do nothing for a table. Raises DataError for torn quotes.
        """
        if is_file(name):
            self._forget(name)
            if is_text_file(name):
                self._looked_through[name] = self._copied(name, columns)
                return
            with _failures(name):
                states = states_of(files_of(name))
                mended = self._mended(name, states, lambda column: column in (columns or [column]))
            self._looked_through[name] = mended or states
            require_still(states)

    def broken_lines(self, name: str, columns: Collection[str], /) -> int:
        """Return how many lines of a file of text are no rows of its columns; 0 for any other
        name.
        """
        if not is_text_file(name):
            return 0
        looked = self._looked_through.get(name)
        if isinstance(looked, _Copy):
            return looked.broken
        with closing(self._copied(name, columns)) as copy:
            return copy.broken

    def close(self) -> None:
        """Stop what is asked, by whatever thread, close the connection, and remove copies and
        folder.
        """
        self._closed = True
        self._statements.stop()
        self._connection.close()
        for name in [*self._looked_through]:
            self._forget(name)
        self._folder.close()

    def _existing_table(self, name: str) -> tuple[str, ...]:
        # DuckDB takes any other name for a file's, of whose first rows it guesses the types.
        parts = table_parts(name)
        sql = "SELECT table_catalog, table_schema, table_name FROM information_schema.tables"
        wanted = tuple(part.casefold() for part in parts)
        with _failures(name):
            tables = self._connection.execute(sql).fetchall()
        for row in tables:
            database, schema, table = (part.casefold() for part in row)
            if wanted in ((table,), (schema, table), (database, table), (database, schema, table)):
                return parts
        raise DataError(f"{name}: there is no such table, and no file whose name ends as one does")

    def _settle(self, name: str, sql: str, stack: ExitStack) -> tuple[State, ...]:
        # Lets the view of a name read its rows: from the copy of `look_through`, from a copy that
        # the stack closes, or from sound parquet files, whose states must stay until the rows are
        # read. It is called when rows are asked for, as the view is made before the charge.
        looked = self._looked_through.get(name)
        if is_text_file(name):
            copy = looked if isinstance(looked, _Copy) else None
            if copy is None:
                copy = stack.enter_context(closing(self._copied(name, None)))
            self._view(name, copy.query)
            return ()
        if isinstance(looked, _Copy):
            self._view(name, looked.query)
            return ()
        states = looked or states_of(files_of(name))
        if not looked:
            mended = self._mended(name, states, lambda column: _SQL.quoted(column) in sql)
            if mended is not None:
                self._view(name, stack.enter_context(closing(mended)).query)
                return states
        self._view(name, self._parquet(name, tuple(state.path for state in states)))
        return states

    def _text(self, name: str) -> Table:
        table = open_table(name, encoding=self._encoding, private=name not in self._public)
        if table.parts[0].kind == "parquet":  # whose types say what is an id
            raise DataError(
                f"{name}: it is parquet with the name of a text file: rename it to end in .parquet"
            )
        return table

    def _copied(self, name: str, columns: Collection[str] | None) -> _Copy:
        table = self._text(name)
        own = sorted(columns or table.columns)
        texts = ", ".join(f"NULLIF({column}, '') AS {column}" for column in map(_SQL.quoted, own))
        return _Copy(
            name,
            self._folder.path,
            texts,
            lambda file: copy_text(table, own, file, self._keep_going),
        )

    def _mended(
        self, name: str, states: tuple[State, ...], counts: Callable[[str], bool]
    ) -> _Copy | None:
        # With NULL for each text that is no UTF-8, at which DuckDB would stop; None without one.
        paths = tuple(state.path for state in states)
        types = {
            column: kind for column, kind in self._alike(name, paths).items() if counts(column)
        }
        texts = [column for column, kind in types.items() if kind == "VARCHAR"]
        if is_utf8_throughout(paths, texts, self._keep_going):
            return None
        own = ", ".join(
            f"CAST({quoted} AS {kind}) AS {quoted}"
            for quoted, kind in ((_SQL.quoted(column), kind) for column, kind in types.items())
        )
        return _Copy(
            name,
            self._folder.path,
            own,
            lambda file: copy_utf8(paths, texts, [*types], file, self._keep_going),
        )

    def _forget(self, name: str) -> None:
        looked = self._looked_through.pop(name, ())
        if isinstance(looked, _Copy):
            looked.close()

    def _keep_going(self) -> None:
        # Who stops does not wait for a whole log.
        if self._closed:
            raise DataError("DuckDB: the engine was closed while a log was read")

    def _view(self, name: str, query: str) -> None:
        # Not create_view: its view would be written into the database file.
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {self._views[name]} AS {query}")

    def _parquet(self, name: str, files: tuple[str, ...]) -> str:
        alike = [duckdb.ColumnExpression(column) for column in self._alike(name, files)]
        paths: Any = [glob.escape(file) for file in files]  # the stubs know one file only
        rows = self._connection.read_parquet(paths, hive_partitioning=False).select(*alike)
        return rows.sql_query()

    def _alike(self, name: str, files: tuple[str, ...]) -> dict[str, str]:
        # The columns that all parquet files have, of one type. DuckDB would take the first file's
        # for everybody's: a value of another file then fails the count after the charge, is
        # rounded, or becomes one with others ("01" and 1).
        if not files:
            raise DataError(f"{name}: there is no such file")
        paths = [glob.escape(file) for file in files]
        schemas = [
            dict(zip(rows.columns, rows.types, strict=True))
            for rows in (self._connection.read_parquet(p, hive_partitioning=False) for p in paths)
        ]
        alike = {
            column: str(kind)
            for column, kind in schemas[0].items()
            if all(schema.get(column) == kind for schema in schemas)
        }
        if not alike:
            raise DataError(f"{name}: its files have no column of one type in common")
        return alike


class _Copy:
    """A copy of columns, as parquet, in a file without a name: it is gone with its process. query:
    its rows, in which what is missing is NULL. broken: how many lines are no rows.
    """

    def __init__(
        self, name: str, folder: Path, columns: str, write: Callable[[BinaryIO], int]
    ) -> None:
        # Of mode 0600, in a folder of 0700.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (it lasts)
        try:
            self.broken = write(cast("BinaryIO", self._file))
        except OSError as error:
            self._file.close()
            raise DataError(f"{name}: it cannot be copied ({error.strerror})") from None
        except BaseException:
            self._file.close()
            raise
        self.query = f"SELECT {columns} FROM read_parquet('/dev/fd/{self._file.fileno()}')"  # noqa: S608
        self.close = self._file.close
