"""Spark through PySpark: local mode, or a cluster by its master's address."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyarrow.parquet import read_schema

from askew.errors import DataError
from askew_server.counting.contract import (
    driver,
    failures_named,
    is_file,
    is_text_file,
    table_parts,
)
from askew_server.counting.statements import no_rows
from askew_server.folders import PrivateFolder
from askew_server.interruptible import Interruptible
from askew_server.tables.files import State, files_of, require_still, states_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Folders such as "day=3" do not become columns.
_ANY_FILE = {"recursiveFileLookup": "true"}
# While a job runs, the UI would serve its statements, with the secret, and its numbers of rows to
# the network; the log quotes a row that could not be read.
_OURS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.runSQLOnFiles": "false",  # "csv.log" is a table, and no file to guess types of
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
_ALONE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# Python's loggers of PySpark: on standard error, each would write what Spark says of a failure,
# with its statement, the secret in it, and a row.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_GLOB = str.maketrans({character: f"\\{character}" for character in "\\{}[]*?,"})


class SparkEngine:
    """A Spark session, which this engine opens and closes.

    master    "local[2]", "spark://host:7077", "yarn" ... Files must be where its workers see them.
    settings  further properties ("spark.executor.memory": "8g").

    In local mode, what does not fit into memory lies in a `PrivateFolder`. Spark reads parquet
    files and tables where they are. It reads text in ways of its own, which would make one person's
    line rows of others: text is written as parquet, or counted by DuckDB.
    """

    dialect = "spark"

    def __init__(
        self,
        master: str = "local[*]",
        *,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        sql = driver("pyspark.sql", "spark")
        self._folder: PrivateFolder | None = None
        builder = sql.SparkSession.builder.master(master).appName("askew-counting")
        ours = dict(_OURS)
        if master.startswith("local"):
            self._folder = PrivateFolder()
            ours |= _ALONE | {"spark.local.dir": str(self._folder.path)}
        for name, value in {**ours, **(settings or {})}.items():
            builder = builder.config(name, value)
        self._failures: tuple[type[Exception], ...] = (
            driver("pyspark.errors", "spark").PySparkException,
            driver("py4j.protocol", "spark").Py4JError,  # what PySpark does not translate
            ConnectionError,  # no JVM any more
        )
        for name in _LOGGERS:  # made by PySpark: it gives them words that no other logger takes
            driver("pyspark.logger", "spark").PySparkLogger.getLogger(name).disabled = True
        with failures_named("Spark", Exception, _reason):
            self._session: SparkSession = builder.getOrCreate()
        self._statements = Interruptible(self._session.sparkContext.cancelAllJobs)
        self._views: dict[str, str] = {}
        self._looked_through: dict[str, tuple[State, ...]] = {}

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:  # noqa: ARG002
        """Return the identifiers of a table as they are written, whether or not it is there; for
        parquet those of a temporary view, ("askew_file_1",), made anew each time: Spark keeps which
        files there were, and how long. Raises DataError for a file of text.
        """
        if not is_file(name):
            return table_parts(name)
        if is_text_file(name):
            raise DataError(
                f"{name}: Spark counts parquet files and tables; write the file as parquet, or"
                " count it with --engine duckdb:"
            )
        view = self._views.setdefault(name, f"askew_file_{len(self._views) + 1}")
        with self._failures_named(name):
            self._parquet(name).createOrReplaceTempView(view)
        return (view,)

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """Return the types of a table's columns, as Spark writes them, by column. Raises DataError
        for a table that is not there.
        """
        with self._failures_named(".".join(table)):
            return dict(self._session.sql(no_rows(table, self.dialect)).dtypes)

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """Return the rows of a statement, all of them: PySpark takes the end of a JVM for the end
        of the rows, so it is asked something after them. Ctrl-C and SIGTERM end it at once. Raises
        DataError where a file changed since it was looked through, or is read.
        """
        values = dict(parameters or {})
        asked = [name for name, view in self._views.items() if view in sql]
        seen = [self._looked_through.get(name) or states_of(files_of(name)) for name in asked]
        with self._failures_named("Spark"):
            rows = self._statements.result(
                lambda: [tuple(row) for row in self._session.sql(sql, args=values).collect()]
            )
            self._session.sql("SELECT 1")
        for states in seen:
            require_still(states)
        return rows

    def look_through(self, name: str, _columns: Collection[str] | None = None, /) -> None:
        """Note how this machine's files are now: `execute` raises DataError if they change after
        it.
        """
        if is_file(name):
            self._looked_through[name] = states_of(files_of(name))

    def broken_lines(self, _name: str, _columns: Collection[str], /) -> int:
        """Return 0, because no text file is read."""
        return 0

    def close(self) -> None:
        """Stop the session, if its JVM is still there, and remove its folder, if it has one."""
        with suppress(*self._failures):
            self._statements.stop()
            self._session.stop()
        if self._folder is not None:
            self._folder.close()

    def _parquet(self, name: str) -> DataFrame:
        # In the columns that all files have, of one type: by the types of one file, a value of
        # another would fail the count after the charge. A file that is there is no pattern,
        # whatever characters its name has.
        path = name.translate(_GLOB) if Path(name).is_file() else name
        reader = self._session.read.options(**_ANY_FILE)
        first = reader.parquet(path)
        files = first.inputFiles()
        if len(files) == 1:
            return first
        try:
            rows = reader.option("mergeSchema", "true").parquet(path)
        except self._failures:
            raise DataError(
                f"{name}: a column has another type in some of its files, or one is damaged; write"
                " each column of all files with one type"
            ) from None
        local = [unquote(urlsplit(file).path) for file in files if file.startswith("file:")]
        lacking = {
            column for file in local for column in {*rows.columns} - {*read_schema(file).names}
        }
        return rows.drop(*lacking)

    def _failures_named(self, where: str) -> AbstractContextManager[None]:
        return failures_named(where, self._failures, _reason)


def _reason(error: Exception) -> str:
    # Its message may quote a row.
    condition = None
    with suppress(Exception):  # it asks the JVM, if it knows of one at all
        condition = getattr(error, "getCondition")()  # noqa: B009 (not every error has it)
    return f"Spark could not do it ({condition or type(error).__name__})"
