"""PySpark, local mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from server.counting.availability import require_driver, require_java
from server.counting.contract import Bench, CountingContract, task
from server.counting.parquet import Columns, write_parquet
from server.counting.reference import KEY
from server.counting.release_contract import BUDGET, Place, ReleaseContract, files, ran

from askew.errors import DataError
from askew_server.counting import Engine, count_top
from askew_server.counting.engines.duckdb import DuckDBEngine
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

    def test_a_csv_is_read_as_duckdb_reads_it(self, spark: SparkEngine, tmp_path: Path) -> None:
        path = tmp_path / "log.csv"
        path.write_text('unit,item\n01,1.0\n#a, b \n"x,""y""","two\nlines"\nNULL,true\n\\,a\n')
        duck = DuckDBEngine()
        assert self.events(spark, path) == self.events(duck, path)

    @pytest.mark.parametrize("line", ["p,", 'p,""'])
    def test_an_empty_field_of_a_csv_is_a_missing_id_as_in_duckdb(
        self, spark: SparkEngine, tmp_path: Path, line: str
    ) -> None:
        path = tmp_path / "log.csv"
        path.write_text(f"unit,item\n{line}\n")
        for engine in (DuckDBEngine(), spark):
            with pytest.raises(DataError, match="1 rows have no value in column 'item'"):
                count_top(engine, task(str(path)), KEY)

    def test_a_short_line_of_a_csv_is_refused_and_not_shown(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        path = tmp_path / "log.csv"
        path.write_text("unit,item\np,a\nhidden\n")
        with pytest.raises(DataError) as error:
            count_top(spark, task(str(path)), KEY)
        assert "hidden" not in str(error.value)

    def events(self, engine: Engine, path: Path) -> list[tuple[object, ...]]:
        [view] = engine.table(str(path))
        return sorted(engine.execute(f"SELECT unit, item FROM {view}"), key=repr)


@pytest.mark.xdist_group("spark")
class TestSparkReleases(ReleaseContract):
    def place(self, folder: Path, request: pytest.FixtureRequest) -> Place:
        return Place("spark:local[2]", *map(str, files(folder)))

    def test_no_row_is_in_what_spark_says(self, tmp_path: Path) -> None:
        """Planted bug: Spark's own log on standard error, which quotes the row that it rejects."""
        (tmp_path / "log.csv").write_text("unit,item\nperson,film\ncanary-unit\n")
        asked = ("--epsilon", "1", "--delta", "1e-6", "--events", "log.csv")
        made = ran(tmp_path, "spark:local[2]", [BUDGET, ("release", *asked)])
        _, (code, _, err) = json.loads(made.stdout)
        assert (code, "Spark could not do it" in err) == (1, True)
        assert "canary" not in made.stdout + made.stderr
        assert "Stage" not in made.stderr
