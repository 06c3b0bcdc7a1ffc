"""PySpark, local mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.counting.availability import require_driver, require_java
from server.counting.contract import Bench, CountingContract
from server.counting.parquet import Columns, write_parquet

from askew_server.counting.engines.spark import SparkEngine

require_driver("pyspark")
require_java()


class SparkBench(Bench):
    def __init__(self, engine: SparkEngine, folder: Path) -> None:
        super().__init__(engine)
        self.folder = folder

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        path = self.folder / f"{name}.parquet"
        write_parquet(path, columns, sql_type)
        return str(path)


@pytest.mark.xdist_group("spark")
class TestSparkCounts(CountingContract):
    @pytest.fixture
    def bench(self, spark: SparkEngine, tmp_path: Path) -> Bench:
        return SparkBench(spark, tmp_path)
