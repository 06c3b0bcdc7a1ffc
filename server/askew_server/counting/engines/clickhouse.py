"""ClickHouse through clickhouse-connect: counts the tables of a server."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

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
    from clickhouse_connect.driver.client import Client


class ClickHouseEngine:
    """A client of a ClickHouse server.

    dsn  "clickhouse://name:password@host:8123/database"; "chdb://" is ClickHouse inside this
         process, and "chdb:///folder" the same on a folder of its own, where chdb is installed.
    """

    dialect = "clickhouse"

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

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:  # noqa: ARG002
        """The identifiers of a table. A file must be loaded into one first."""
        if is_file(name):
            raise DataError(f"{name}: ClickHouse counts its own tables; load the file into one")
        return table_parts(name)

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

    def mark(self, _name: str, _key: bytes, /) -> None:
        """None: a table does not tell whether it has changed."""

    def broken_lines(self, _name: str, _columns: Collection[str], /) -> int:
        """0, because no text file is read."""
        return 0

    def close(self) -> None:
        """Closes the client."""
        self._client.close()

    def _failures_named(self, where: str) -> AbstractContextManager[None]:
        # Any: what is no answer, of a proxy for instance, fails the driver in many ways.
        return failures_named(where, Exception, _reason)


def _reason(error: Exception) -> str:
    """ClickHouse's code of the failure: its message may quote a row."""
    code = re.search(r"\bcode:? (\d+)", str(error), re.IGNORECASE)
    return (
        f"ClickHouse could not do it: {type(error).__name__}{f', code {code[1]}' if code else ''}"
    )
