"""DuckDB inside this process: the default. Reads parquet and csv files, or the tables of a file."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb

from askew.errors import DataError
from askew_server.counting.engines.csv_files import (
    MARK,
    MARKED_MARK,
    MARKED_RETURN,
    RETURN,
    columns_of,
    copies_of,
    is_cut,
    unmarked,
)
from askew_server.counting.engines.driver import (
    failures_named,
    is_file,
    is_text_file,
    no_rows,
    table_parts,
)
from askew_server.counting.engines.files import (
    FileState,
    are_as_they_were,
    changed,
    opened_bytes,
    states_of,
)
from askew_server.folders import PrivateFolder
from askew_server.interruptible import Progress, of_duckdb


def duckdb_failures(where: str) -> AbstractContextManager[None]:
    """DuckDB's failure as a DataError that quotes no row."""
    return failures_named(where, duckdb.Error, _reason)


def _reason(error: Exception) -> str:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "DuckDB's memory is used up; raise its limit or give it a temporary directory"
    if isinstance(error, duckdb.IOException | duckdb.CatalogException):
        return str(error).partition("\n")[0]  # names files and tables, never a row
    return f"DuckDB cannot read this ({type(error).__name__})"


_LOOKS = 3  # at files that others replace


class DuckDBEngine:
    """A connection of our own; a database file is opened for reading only.

    memory_limit    as DuckDB writes it ("4GB"); beyond it, work goes to temp_directory.
    temp_directory  where a `PrivateFolder` is made for that, and for copies of csv files.
    progress        told how much of a long statement is done.
    """

    dialect = "duckdb"

    def __init__(
        self,
        database: Path | None = None,
        *,
        memory_limit: str | None = None,
        temp_directory: Path | None = None,
        progress: Progress | None = None,
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
        self._looked_through: dict[str, tuple[FileState, ...]] = {}
        self._public: set[str] = set()
        self._closed = False
        self._folder = PrivateFolder(temp_directory)
        self._copies = self._folder.path / "copies"
        settings["temp_directory"] = str(self._folder.path / "spilled")
        with duckdb_failures("DuckDB"):
            self._connection = duckdb.connect(
                ":memory:" if database is None else database,
                read_only=database is not None,
                config=settings,
            )
            self._progress = progress or (lambda _: None)
            self._statements = of_duckdb(self._connection, self._progress)

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:
        """The identifiers of a table; a file is given a temporary view, each time anew: a copy that
        the last one read may be gone.
        """
        if not is_file(name):
            return self._known(name)
        if public:
            self._public.add(name)
        view = self._views.setdefault(name, f"askew_file_{len(self._views) + 1}")
        with duckdb_failures(name):
            self._view(name, self._read(name, self._files(name)))
        return (view,)

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """The columns of a table with their types."""
        with duckdb_failures(".".join(table)):
            rows = self._connection.execute(f"DESCRIBE {no_rows(table, self.dialect)}").fetchall()
        return {name: kind for name, kind, *_ in rows}

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """The rows of a statement. Ctrl-C and SIGTERM end it at once, and no copy outlives it.

        Files are read as they are now, or as they were looked through: csv files from a copy, and
        others again where they were replaced meanwhile. Raises DataError where they never are
        still.
        """
        values = dict(parameters or {})
        asked = [name for name, view in self._views.items() if view in sql]
        with duckdb_failures(", ".join(self._views) or "DuckDB"):
            for _ in range(_LOOKS):
                try:
                    seen = {name: self._settle(name) for name in asked}
                    found = self._statements.result(
                        lambda: self._connection.execute(sql, values).fetchall()
                    )
                finally:
                    shutil.rmtree(self._copies, ignore_errors=True)
                moved = [name for name, files in seen.items() if not are_as_they_were(files)]
                if not moved:
                    self._progress(1.0)
                    return found
        raise changed(moved[0])

    def look_through(self, name: str, /) -> None:
        """Read csv files, for lines that hide others. From now on what all files hold is what is
        counted, with nothing that is written later.
        """
        if not is_file(name):
            return
        states = states_of(self._files(name))
        if is_text_file(name):
            for state in states:
                with opened_bytes(state, self._go_on) as file:
                    is_cut(state, file)
        if not are_as_they_were(states, may_grow=is_text_file(name)):
            raise changed(name)
        self._looked_through[name] = states

    def broken_lines(self, name: str, columns: Collection[str], /) -> int:
        """Lines of a csv file that have too few fields or no end, are too long or not UTF-8."""
        if not is_text_file(name):
            return 0
        with duckdb_failures(name):
            try:
                copies, cut = self._copied(name)
                lines = self._read_csv(
                    copies, rejects_table="askew_broken_lines", rejects_scan="askew_scans"
                )
                # DuckDB looks at no field that nobody asks for.
                asked = lines.select(*map(duckdb.ColumnExpression, columns)).count("COLUMNS(*)")
                self._statements.result(asked.fetchall)
            finally:
                shutil.rmtree(self._copies, ignore_errors=True)
            [[broken]] = self.execute(
                "SELECT COUNT(DISTINCT (file_id, line)) FROM askew_broken_lines"
            )
            self.execute("DROP TABLE askew_broken_lines")
            self.execute("DROP TABLE askew_scans")
        return int(str(broken)) + cut

    def close(self) -> None:
        """Stops what is asked, by whatever thread, and closes the connection."""
        self._closed = True
        self._statements.stop()
        self._connection.close()
        self._folder.close()

    def _known(self, name: str) -> tuple[str, ...]:
        """The identifiers of a table that is there. Others DuckDB takes for names of files, whose
        separators and types it guesses from their first rows.
        """
        parts = table_parts(name)
        sql = "SELECT table_catalog, table_schema, table_name FROM information_schema.tables"
        wanted = tuple(part.casefold() for part in parts)
        with duckdb_failures(name):
            tables = self._connection.execute(sql).fetchall()
        for row in tables:
            database, schema, table = (part.casefold() for part in row)
            if wanted in ((table,), (schema, table), (database, table), (database, schema, table)):
                return parts
        raise DataError(f"{name}: there is no such table, and no file whose name ends as one does")

    def _settle(self, name: str) -> tuple[FileState, ...]:
        """Has the view of files read them as they are; the files that must keep still until it is
        read. When rows are asked for, and not when the view is made: that is before the charge.
        """
        if is_text_file(name):
            self._view(name, _unmarked(self._read_csv(self._copied(name)[0])))
            return ()
        states = self._states(name)
        self._view(name, self._read(name, tuple(each.path for each in states)))
        return states

    def _copied(self, name: str) -> tuple[tuple[str, ...], int]:
        self._copies.mkdir(exist_ok=True)
        folder = self._copies / self._views.get(name, "other")
        folder.mkdir()
        states, public = self._states(name), name in self._public
        return copies_of(name, states, folder, public=public, note=self._go_on)

    def _go_on(self, _: bytes) -> None:
        """Raises DataError where the engine is closed: who stops does not wait for a whole log."""
        if self._closed:
            raise DataError("DuckDB: the engine was closed while a log was read")

    def _states(self, name: str) -> tuple[FileState, ...]:
        return self._looked_through.get(name) or states_of(self._files(name))

    def _view(self, name: str, rows: duckdb.DuckDBPyRelation) -> None:
        # Not create_view: its view would be written into the database file.
        sql = f"CREATE OR REPLACE TEMP VIEW {self._views[name]} AS {rows.sql_query()}"
        self._connection.execute(sql)

    def _read(self, name: str, files: tuple[str, ...]) -> duckdb.DuckDBPyRelation:
        if is_text_file(name):
            return self._read_csv(files)
        return self._read_parquet(name, files)

    def _read_parquet(self, name: str, files: tuple[str, ...]) -> duckdb.DuckDBPyRelation:
        """Parquet files, with the columns that all of them have, of one type. DuckDB would take the
        first file's for everybody's: a value of another file then fails the count after the charge,
        is rounded, or becomes one with others ("01" and 1).
        """
        paths: Any = [glob.escape(file) for file in files]  # the stubs know one file only
        schemas = [
            dict(zip(rows.columns, rows.types, strict=True))
            for rows in (self._connection.read_parquet(p, hive_partitioning=False) for p in paths)
        ]
        alike = [
            duckdb.ColumnExpression(column)
            for column, kind in schemas[0].items()
            if all(schema.get(column) == kind for schema in schemas)
        ]
        if not alike:
            raise DataError(f"{name}: its files have no column of one type in common")
        return self._connection.read_parquet(paths, hive_partitioning=False).select(*alike)

    def _files(self, name: str) -> tuple[str, ...]:
        asked = {"path": pattern_of(name)}
        found = self._connection.execute("SELECT file FROM glob($path)", asked).fetchall()
        if not found:
            raise DataError(f"{name}: there is no such file")
        return tuple(sorted(str(file) for [file] in found))

    def _read_csv(self, files: tuple[str, ...], **rejects: Any) -> duckdb.DuckDBPyRelation:
        """Csv files, of which only the header lines are read until their rows are asked for.

        Every column is text, "01" is not 1; an empty field is a missing value; no line is skipped
        as a comment. A line that is no row is left out: were it refused, one unit's event would
        decide between an answer and an error.
        """
        paths: Any = [glob.escape(file) for file in files]  # the stubs know one file only
        return self._connection.read_csv(
            paths,
            columns=dict.fromkeys(columns_of(files), "VARCHAR"),
            auto_detect=False,
            header=True,
            skiprows=0,
            delimiter=",",
            quotechar='"',
            escapechar='"',
            comment="",
            na_values="",
            ignore_errors=True,
            strict_mode=False,
            # Several threads would each guess whether their part begins inside of a quoted field.
            parallel=False,
            hive_partitioning=False,
            **rejects,
        )


def _unmarked(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The rows of a copy as they are in its file."""

    def replaced(text: duckdb.Expression, old: str, new: str) -> duckdb.Expression:
        return duckdb.FunctionExpression(
            "replace", text, duckdb.ConstantExpression(old), duckdb.ConstantExpression(new)
        )

    columns = []
    for name in rows.columns:
        returns = replaced(duckdb.ColumnExpression(name), MARKED_RETURN, RETURN)
        columns.append(replaced(returns, MARKED_MARK, MARK).alias(unmarked(name)))
    return rows.select(*columns)


def pattern_of(name: str) -> str:
    """The pattern of a name: a file that is there is none, whatever characters its name has."""
    return glob.escape(name) if Path(name).is_file() else name
