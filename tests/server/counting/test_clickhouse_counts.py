"""ClickHouse, inside this process."""

from __future__ import annotations

import _io
import io
from pathlib import Path

import pytest
from server.counting.availability import require_driver
from server.counting.contract import Bench, CountingContract, task
from server.counting.parquet import (
    Columns,
    quoted,
    write_parquet,
    write_parquet_of_bytes,
)

from askew_server.counting.engines.clickhouse import ClickHouseEngine

require_driver("clickhouse_connect")
require_driver("chdb")


class ClickHouseBench(Bench):
    """A database of our own: chdb's default one takes names with a "*" for those of files."""

    def __init__(self, engine: ClickHouseEngine, folder: Path) -> None:
        super().__init__(engine)
        self.clickhouse, self.folder = engine, folder
        engine.execute("CREATE DATABASE IF NOT EXISTS askew")

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        path = self.folder / f"{self.new_name()}.parquet"
        write_parquet(path, columns, sql_type)
        table = f"askew.{quoted(name, 'clickhouse')}"
        for statement in (
            f"DROP TABLE IF EXISTS {table}",
            f"CREATE TABLE {table} ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)",
        ):
            self.clickhouse.execute(statement)
        return f"askew.{name}"


@pytest.mark.xdist_group("clickhouse")
class TestClickHouseCounts(CountingContract):
    @pytest.fixture
    def bench(self, clickhouse: ClickHouseEngine, tmp_path: Path) -> Bench:
        return ClickHouseBench(clickhouse, tmp_path)

    def test_the_driver_leaves_the_rest_of_the_process_alone(self, bench: Bench) -> None:
        """Its import sets io.DEFAULT_BUFFER_SIZE, for everybody."""
        assert io.DEFAULT_BUFFER_SIZE == _io.DEFAULT_BUFFER_SIZE

    def test_text_that_is_not_utf8_fails_nothing(self, bench: ClickHouseBench) -> None:
        path = bench.folder / "bytes.parquet"
        write_parquet_of_bytes(path, "p", b"MARK\xff\xfe")
        bench.clickhouse.execute("DROP TABLE IF EXISTS askew.bytes")
        bench.clickhouse.execute(
            f"CREATE TABLE askew.bytes ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)"
        )
        assert bench.count(task("askew.bytes")) == [(b"MARK\xff\xfe".hex(), 1)]
