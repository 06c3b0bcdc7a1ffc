"""PostgreSQL, a server of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from server.counting.availability import require_driver, require_postgres
from server.counting.contract import Bench, CountingContract
from server.counting.parquet import Columns, quoted

from askew_server.counting.engines.postgres import PostgresEngine

require_driver("psycopg")
require_postgres()

TYPES = {"VARCHAR": "TEXT", "BIGINT": "BIGINT", "DOUBLE": "DOUBLE PRECISION"}


class PostgresBench(Bench):
    def __init__(self, address: str) -> None:
        import psycopg

        super().__init__(PostgresEngine(address))
        self.owner: Any = psycopg.connect(address, autocommit=True)

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        table = quoted(name, "postgres")
        named = ", ".join(f"{quoted(column, 'postgres')} {TYPES[sql_type]}" for column in columns)
        self.owner.execute(f"DROP TABLE IF EXISTS {table}")
        self.owner.execute(f"CREATE TABLE {table} ({named})")
        with self.owner.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)
        return name

    def close(self) -> None:
        self.engine.close()
        self.owner.close()


@pytest.mark.xdist_group("postgres")
class TestPostgresCounts(CountingContract):
    @pytest.fixture
    def bench(self, postgres: str) -> Iterator[Bench]:
        bench = PostgresBench(postgres)
        yield bench
        bench.close()
