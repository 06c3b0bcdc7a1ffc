"""PostgreSQL, which counts its own tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from askew.errors import DataError
from askew_server.counting.contract import driver, failures_named, is_file, table_parts
from askew_server.counting.statements import no_rows

if TYPE_CHECKING:
    import psycopg


class PostgresEngine:
    """One read-only connection, made anew where the server has closed it. A statement sees one
    moment of the database, the next a later one.

    conninfo  "postgresql://name@host/database", or what else libpq accepts; a password is better
              kept in ~/.pgpass than in it.
    """

    dialect = "postgres"

    def __init__(self, conninfo: str) -> None:
        self._driver = driver("psycopg", "postgres")
        self._failure: type[Exception] = self._driver.Error
        self._conninfo = conninfo
        self._connection = self._connect()
        [[encoding]] = self.execute("SHOW server_encoding")
        if encoding != "UTF8":
            self.close()
            raise DataError(f"PostgreSQL: the database's encoding must be UTF8, it is {encoding}")

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:  # noqa: ARG002
        """Return the identifiers of a table as they are written, ("log",) or ("schema", "log"),
        whether or not it is there. Raises DataError for a file: load it into a table first.
        """
        if is_file(name):
            raise DataError(f"{name}: PostgreSQL counts its own tables; load the file into one")
        return table_parts(name)

    def look_through(self, _name: str, _columns: Collection[str] | None = None, /) -> None:
        """Do nothing: a table is counted as it is when it is counted."""

    def broken_lines(self, _name: str, _columns: Collection[str], /) -> int:
        """Return 0, because no text file is read."""
        return 0

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """Return the types of a table's columns, as PostgreSQL writes them, by column. Raises
        DataError for a table that is not there or may not be read.
        """
        with self._failures_named(".".join(table)):
            cursor = self._awake().execute(no_rows(table, self.dialect))
        return {column.name: column.type_display for column in cursor.description or ()}

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """Return the rows of a statement, in which $1 is the parameter whose name sorts first, $2
        the next. Connects anew where the server has closed the connection. Raises DataError where
        PostgreSQL cannot do it.
        """
        values = [value for _, value in sorted((parameters or {}).items())]
        with self._failures_named("PostgreSQL"):
            return [*self._awake().execute(sql, values)]

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        with failures_named("PostgreSQL", self._failure, _no_connection):
            connection: psycopg.Connection[Any] = self._driver.connect(
                self._conninfo,
                autocommit=True,
                cursor_factory=self._driver.RawCursor,
                client_encoding="UTF8",  # whatever the environment says: another lacks characters
                prepare_threshold=None,  # a prepared statement fails once its table has changed
            )
        with self._failures_named("PostgreSQL"):
            connection.execute("SELECT set_config('default_transaction_read_only', 'on', false)")
        return connection

    def _awake(self) -> psycopg.Connection[Any]:
        # A service runs for months, and a question that met a dead one would be paid for nothing.
        try:
            self._connection.execute("SELECT 1")
        except self._failure:
            self._connection.close()
            self._connection = self._connect()
        return self._connection

    def _failures_named(self, where: str) -> AbstractContextManager[None]:
        return failures_named(where, self._failure, _reason)


_WHY = (
    *("authentication failed", "no password supplied", "no pg_hba.conf entry", "does not exist"),
    *("connection refused", "no such file or directory", "failed to resolve host", "not known"),
    *("timeout", "timed out", "too many clients", "starting up", "certificate", "ssl"),
)


def _no_connection(error: Exception) -> str:
    # A driver's words quote what it took for the host, and that is half of the password where one
    # has an unescaped "@".
    words = str(error).lower()
    reasons = [why for why in _WHY if why in words] or [type(error).__name__]
    return f"no connection ({', '.join(reasons)})"


_KINDS = {
    "UndefinedTable": "there is no such table",
    "InvalidSchemaName": "there is no such schema",
    "InsufficientPrivilege": "this account may not read it",
}


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    return _KINDS.get(kind, f"PostgreSQL could not do it ({kind})")
