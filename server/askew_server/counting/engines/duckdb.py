"""DuckDB inside this process: the default. Reads parquet and csv files, or the tables of a file."""

from __future__ import annotations

import glob
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import duckdb

from askew.errors import DataError
from askew_server.counting.engines import (
    is_file,
    is_text_file,
    no_rows,
    table_parts,
)
from askew_server.counting.engines.csv_header import columns_of
from askew_server.counting.engines.csv_returns import (
    MARK,
    MARKED_MARK,
    MARKED_RETURN,
    RETURN,
    CsvCopies,
    unmarked,
)
from askew_server.counting.engines.duckdb_failures import duckdb_failures
from askew_server.stoppable import Progress, of_duckdb


class DuckDBEngine:
    """A connection of our own; a database file is opened for reading only.

    memory_limit    as DuckDB writes it ("4GB"); beyond it, work goes to temp_directory.
    temp_directory  where that is; else .tmp in the working folder, or beside the database file.
    threads         at most so many; all cores if None.
    progress        told how much of a long statement is done.
    """

    dialect = "duckdb"

    def __init__(
        self,
        database: Path | None = None,
        *,
        memory_limit: str | None = None,
        temp_directory: Path | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        settings: dict[str, str | bool | int | float | list[str]] = {
            # Reading a source must not fetch code from elsewhere.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # The order of the events means nothing, and keeping it costs memory.
            "preserve_insertion_order": False,
        }
        chosen = {
            "memory_limit": memory_limit,
            "temp_directory": None if temp_directory is None else str(temp_directory),
            "threads": threads,
        }
        settings |= {name: value for name, value in chosen.items() if value is not None}
        self._views: dict[str, str] = {}
        self._copies = CsvCopies(temp_directory)
        with duckdb_failures("DuckDB"):
            self._connection = duckdb.connect(
                ":memory:" if database is None else database,
                read_only=database is not None,
                config=settings,
            )
            self._progress = progress or (lambda _: None)
            self._statements = of_duckdb(self._connection, self._progress)

    def table(self, name: str) -> tuple[str, ...]:
        """The identifiers of a table; a file is given a temporary view, each time anew: a copy that
        the last one read may be gone.
        """
        if not is_file(name):
            return table_parts(name)
        view = self._views.setdefault(name, f"askew_file_{len(self._views) + 1}")
        with duckdb_failures(name):
            self._view(name, self._read(name))
        return (view,)

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """The columns of a table with their types."""
        with duckdb_failures(".".join(table)):
            rows = self._connection.execute(f"DESCRIBE {no_rows(table, self.dialect)}").fetchall()
        return {name: kind for name, kind, *_ in rows}

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """The rows of a statement. Ctrl-C and SIGTERM end it at once, and no copy outlives it."""
        values = dict(parameters or {})
        try:
            for name, view in self._views.items():
                if is_text_file(name) and view in sql:
                    self._settle(name)
            with duckdb_failures(", ".join(self._views) or "DuckDB"):
                found = self._statements.result(
                    lambda: self._connection.execute(sql, values).fetchall()
                )
            self._progress(1.0)
        finally:
            self._copies.close()
        return found

    def broken_lines(self, name: str, columns: Collection[str], /) -> int:
        """Lines of a csv file that have too few fields, are too long or are not UTF-8."""
        if not is_text_file(name):
            return 0
        with duckdb_failures(name):
            files = self._files(name)
            lines = self._read_csv(
                self._copies.of(files) or files,
                rejects_table="askew_broken_lines",
                rejects_scan="askew_scans",
            )
            # DuckDB looks at no field that nobody asks for.
            asked = lines.select(*map(duckdb.ColumnExpression, columns)).count("COLUMNS(*)")
            self._statements.result(asked.fetchall)
            [[broken]] = self.execute(
                "SELECT COUNT(DISTINCT (file_id, line)) FROM askew_broken_lines"
            )
            self.execute("DROP TABLE askew_broken_lines")
            self.execute("DROP TABLE askew_scans")
        return int(str(broken))

    def close(self) -> None:
        """Stops what is asked, by whatever thread, and closes the connection."""
        self._statements.stop()
        self._connection.close()
        self._copies.close()

    def _settle(self, name: str) -> None:
        """Has the view of csv files read them as they are now; copies, where a field has a return.
        When rows are asked for, and not when the view is made: that is before the charge.
        """
        with duckdb_failures(name):
            files = self._files(name)
            copies = self._copies.of(files)
            self._view(name, _unmarked(self._read_csv(copies)) if copies else self._read_csv(files))

    def _view(self, name: str, rows: duckdb.DuckDBPyRelation) -> None:
        # Not create_view: its view would be written into the database file.
        sql = f"CREATE OR REPLACE TEMP VIEW {self._views[name]} AS {rows.sql_query()}"
        self._connection.execute(sql)

    def _read(self, name: str) -> duckdb.DuckDBPyRelation:
        if is_text_file(name):
            return self._read_csv(self._files(name))
        return self._connection.read_parquet(pattern_of(name), hive_partitioning=False)

    def _files(self, name: str) -> tuple[str, ...]:
        [*found] = self.execute("SELECT file FROM glob($path)", {"path": pattern_of(name)})
        if not found:
            raise DataError(f"{name}: there is no such file")
        return tuple(str(file) for [file] in found)

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
            # Several threads would each guess whether their part begins inside of a quoted field,
            # and wrongly within one over 2 MB: its lines would then be events, of anybody.
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
