"""ClickHouse, inside this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.counting.availability import require_driver
from server.counting.contract import Bench, CountingContract
from server.counting.parquet import Columns, quoted, write_parquet

from askew_server.counting.engines.clickhouse import ClickHouseEngine

require_driver("clickhouse_connect")
require_driver("chdb")


class ClickHouseBench(Bench):
    def __init__(self, engine: ClickHouseEngine, folder: Path) -> None:
        super().__init__(engine)
        self.clickhouse, self.folder = engine, folder

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        plain = self.new_name()
        path = self.folder / f"{plain}.parquet"
        write_parquet(path, columns, sql_type)
        for statement in (
            f"DROP TABLE IF EXISTS {plain}",
            f"CREATE TABLE {plain} ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)",
        ):
            self.clickhouse.execute(statement)
        # Under an odd name at last: chdb looks for a file of the name of a table being created.
        if name != plain:
            odd = quoted(name, "clickhouse")
            self.clickhouse.execute(f"DROP TABLE IF EXISTS {odd}")
            self.clickhouse.execute(f"RENAME TABLE {plain} TO {odd}")
        return name


@pytest.mark.xdist_group("clickhouse")
class TestClickHouseCounts(CountingContract):
    @pytest.fixture
    def bench(self, clickhouse: ClickHouseEngine, tmp_path: Path) -> Bench:
        return ClickHouseBench(clickhouse, tmp_path)
