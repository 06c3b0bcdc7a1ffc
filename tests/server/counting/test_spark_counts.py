"""PySpark, local mode."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from server.counting import failing_spark
from server.counting.conftest import QUICK_JVM, require_driver, require_java
from server.counting.contract import Bench, CountingContract, ParquetBench, task
from server.counting.reference import KEY, Columns, write_parquet, write_parquet_of_bytes
from server.ledger.scenes import ENVIRONMENT

from askew.errors import DataError
from askew_server.counting import KEY_BYTES, count_top
from askew_server.counting.bounding import bounding_secret, require_countable
from askew_server.counting.engines.spark import SparkEngine
from askew_server.release.forecast import SimulatedBits

pytestmark = pytest.mark.slow


require_driver("pyspark")
require_java()


class TestSparkCounts(CountingContract):
    @pytest.fixture
    def bench(self, spark: SparkEngine, tmp_path: Path) -> Bench:
        return ParquetBench(spark, tmp_path)

    def test_files_that_change_while_they_are_counted_are_not_counted(
        self, spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After all that Spark's engine looks at, and before its first row. Planted bug: no second
        look at the files."""
        path, result = tmp_path / "log.parquet", spark._statements.result
        write_parquet(path, {"unit": ["p"], "item": ["a"]})

        def touched(statement: Callable[[], object]) -> object:
            os.utime(path, ns=(1, 1))
            return result(statement)

        monkeypatch.setattr(spark._statements, "result", touched)
        with pytest.raises(DataError, match="it was changed while it was read"):
            count_top(spark, task(str(path)), KEY)
        monkeypatch.undo()
        assert count_top(spark, task(str(path)), KEY).items[0] == "a"

    def test_text_is_refused_and_no_table_is_a_file_of_guessed_types(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        """Spark reads text in ways of its own. Planted bugs: read all the same; "csv.log" is the
        file log."""
        (tmp_path / "log").write_text("unit,item\np,a\n")
        for name, message in (
            (f"{tmp_path}/log.tsv.gz", "Spark counts parquet files and tables; write the"),
            (f"csv.{tmp_path / 'log'}", "TABLE_OR_VIEW_NOT_FOUND"),
        ):
            with pytest.raises(DataError, match=message):
                require_countable(spark, task(name))

    @pytest.mark.parametrize(
        "later", [{"unit": ["q"]}, {"unit": [1], "item": [1]}], ids=["no column", "other types"]
    )
    def test_parquet_files_of_other_types_or_columns_are_refused_before_a_row_is_read(
        self, spark: SparkEngine, tmp_path: Path, later: Columns
    ) -> None:
        """Planted bug: the columns of one file, by which the rows of another fail."""
        write_parquet(tmp_path / "1.parquet", {"unit": ["p"], "item": ["a"]})
        write_parquet(tmp_path / "2.parquet", later, "VARCHAR" if len(later) == 1 else "BIGINT")
        with pytest.raises(DataError, match="one type"):
            require_countable(spark, task(str(tmp_path / "*.parquet")))

    def test_parquet_files_may_differ_in_other_columns_and_hold_text_that_is_none(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        write_parquet(tmp_path / "1.parquet", {"unit": ["p"], "item": ["a"]})
        write_parquet(tmp_path / "2 %.parquet", {"unit": ["q"], "item": ["a"], "a.b": ["x"]})
        write_parquet_of_bytes(tmp_path / "3.parquet", "q", b"MARK\xff\xfe")  # no UTF-8
        top = count_top(spark, task(str(tmp_path / "*.parquet")), KEY)
        assert (top.items, top.counts) == (("a", "MARK\ufffd\ufffd"), (2, 1))


def test_a_failure_after_the_charge_is_one_line_without_a_row_or_the_secret(
    tmp_path: Path,
) -> None:
    """Planted bugs: Spark's own log on standard error, which may quote what it rejects; that of
    PySpark, which quotes the statement; the rows that came before a JVM was lost taken for all;
    a session that cannot be stopped any more and says so.
    """
    for name in ("log", "other"):
        write_parquet(tmp_path / f"{name}.parquet", {"unit": ["canary-unit"], "item": ["film"]})
    done = subprocess.run(
        [sys.executable, failing_spark.__file__],
        cwd=tmp_path,
        env={**ENVIRONMENT, **QUICK_JVM, "ASKEW_ENGINE": "spark:local[2]"},
        capture_output=True,
        text=True,
        timeout=300,  # seconds; only a hang waits for it
        check=True,
    )
    (opened, _, _), *failures = json.loads(done.stdout)
    assert opened == 0
    assert len(failures) == len(failing_spark.FAILURES)
    for name, (code, _, err) in zip(failing_spark.FAILURES, failures, strict=True):
        *_, last = err.splitlines()
        assert code == 1, name
        assert last.startswith("askew-server: Spark: Spark could not do it ("), err
    secret = bounding_secret(SimulatedBits(1).read(KEY_BYTES))
    for canary in ("canary", secret, "Traceback", "Stage", "ROW_NUMBER"):
        assert canary not in done.stdout + done.stderr


@pytest.mark.parametrize("public", [False, True])
def test_spark_keeps_no_more_of_a_person_than_counts_and_orders_nothing_in_one_place(
    spark: SparkEngine, tmp_path: Path, public: bool
) -> None:
    """By Spark's plan: before items are sent elsewhere, and after. Planted bugs: places from 0, by
    a subtraction that Spark does not see through; items collected into an array and cut, which one
    person can make any size; a window over everybody, which moves all pairs to one task.
    """
    log, catalog = tmp_path / "log.parquet", tmp_path / "catalog.parquet"
    write_parquet(log, {"unit": ["p", "q"], "item": ["a", "b"]})
    write_parquet(catalog, {"item": ["a", "b"]})
    plans = []

    def explain(sql: str, parameters: Mapping[str, str]) -> list[tuple[object, ...]]:
        plans.extend(spark.execute(f"EXPLAIN {sql}", parameters))
        return []

    explaining: Any = SimpleNamespace(
        dialect="spark", table=spark.table, columns=spark.columns, execute=explain
    )
    of_catalog: dict[str, Any] = {"catalog": str(catalog)} if public else {}
    count_top(explaining, task(str(log), max_items=7, **of_catalog), KEY)
    [[shown]] = plans
    plan = str(shown)
    limits = re.findall(r"WindowGroupLimit \[unit#\d+\], .*, row_number\(\), (\d+), (\w+)", plan)
    assert sorted(limits) == [("7", "Final"), ("7", "Partial")]
    assert not re.search("collect_list|collect_set|ObjectHashAggregate|array", plan, re.IGNORECASE)
    windows = re.findall(r"\+- Window \[.*\], (\[[^\]]*\]), \[[^\]]*\]$", plan, re.MULTILINE)
    assert windows
    assert all(re.fullmatch(r"\[unit#\d+\]", partition) for partition in windows)
    assert not re.search("SinglePartition|CartesianProduct|NestedLoopJoin", plan)
