"""Databases that count their own tables: ClickHouse and PostgreSQL."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from askew.errors import DataError
from askew_server.counting.engines.driver import (
    driver,
    failures_named,
    is_file,
    no_connection,
    no_rows,
    table_parts,
)

if TYPE_CHECKING:
    import psycopg
    from clickhouse_connect.driver.client import Client


class TableEngine:
    """What is the same for all of them. name: of the database, in its errors."""

    name: str

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:  # noqa: ARG002
        """The identifiers of a table. A file must be loaded into one first."""
        if is_file(name):
            raise DataError(f"{name}: {self.name} counts its own tables; load the file into one")
        return table_parts(name)

    def look_through(self, _name: str, /) -> None:
        """Nothing: a table is counted as it is then."""

    def broken_lines(self, _name: str, _columns: Collection[str], /) -> int:
        """0, because no text file is read."""
        return 0


class ClickHouseEngine(TableEngine):
    """A client of a ClickHouse server.

    dsn  "clickhouse://name:password@host:8123/database"; "chdb://" is ClickHouse inside this
         process, and "chdb:///folder" the same on a folder of its own, where chdb is installed.
    """

    name, dialect = "ClickHouse", "clickhouse"

    def __init__(self, dsn: str) -> None:
        buffer_size = io.DEFAULT_BUFFER_SIZE
        module = driver("clickhouse_connect", "clickhouse")
        # Its import enlarges the buffers of every file that this process opens.
        vars(io).update(DEFAULT_BUFFER_SIZE=buffer_size)
        # What it has to say is in its errors; on standard error it would stand without a reason.
        logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
        with failures_named("ClickHouse", Exception, no_connection):
            self._client: Client = module.get_client(
                **({"interface": "chdb"} if dsn == "chdb://" else {"dsn": dsn})
            )

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """The columns of a table with their types."""
        with self._failures_named(".".join(table)):
            rows = self._client.query(f"DESCRIBE ({no_rows(table, self.dialect)})").result_rows
        return {column: kind for column, kind, *_ in rows}

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        with self._failures_named("ClickHouse"):
            return [*self._client.query(sql, parameters=dict(parameters or {})).result_rows]

    def close(self) -> None:
        """Closes the client."""
        self._client.close()

    def _failures_named(self, where: str) -> AbstractContextManager[None]:
        # Any: what is no answer, of a proxy for instance, fails the driver in many ways.
        return failures_named(where, Exception, _reason_of_clickhouse)


def _reason_of_clickhouse(error: Exception) -> str:
    """ClickHouse's code of the failure: its message may quote a row."""
    code = re.search(r"\bcode:? (\d+)", str(error), re.IGNORECASE)
    return (
        f"ClickHouse could not do it: {type(error).__name__}{f', code {code[1]}' if code else ''}"
    )


class PostgresEngine(TableEngine):
    """One read-only connection, made anew where the server has closed it. A statement sees one
    moment of the database, the next a later one.

    conninfo  "postgresql://name@host/database", or what else libpq accepts; a password is better
              kept in ~/.pgpass than in it.
    """

    name, dialect = "PostgreSQL", "postgres"

    def __init__(self, conninfo: str) -> None:
        self._driver = driver("psycopg", "postgres")
        self._failure: type[Exception] = self._driver.Error
        self._conninfo = conninfo
        self._connection = self._connect()
        [[encoding]] = self.execute("SHOW server_encoding")
        if encoding != "UTF8":
            self.close()
            raise DataError(f"PostgreSQL: the database's encoding must be UTF8, it is {encoding}")

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """The columns of a table with their types."""
        with self._failures_named(".".join(table)):
            cursor = self._awake().execute(no_rows(table, self.dialect))
        return {column.name: column.type_display for column in cursor.description or ()}

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        values = [value for _, value in sorted((parameters or {}).items())]
        with self._failures_named("PostgreSQL"):
            return [*self._awake().execute(sql, values)]

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        with failures_named("PostgreSQL", self._failure, no_connection):
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
        """A connection that answers. A service runs for months, and an analyst's question that
        found a dead one would be paid and not answered.
        """
        try:
            self._connection.execute("SELECT 1")
        except self._failure:
            self._connection.close()
            self._connection = self._connect()
        return self._connection

    def _failures_named(self, where: str) -> AbstractContextManager[None]:
        return failures_named(where, self._failure, _reason_of_postgresql)


def _reason_of_postgresql(error: Exception) -> str:
    """The kind of failure: PostgreSQL's message may quote a row."""
    return f"PostgreSQL could not do it ({type(error).__name__})"
