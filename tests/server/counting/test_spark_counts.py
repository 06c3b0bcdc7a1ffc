"""PySpark, local mode."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from server.counting import failing_spark
from server.counting.conftest import QUICK_JVM, require_driver, require_java
from server.counting.contract import FLOATS, TEXTS, Bench, CountingContract, task
from server.counting.reference import KEY, Columns, write_parquet, write_parquet_of_bytes
from server.ledger.scenes import ENVIRONMENT

from askew.errors import DataError
from askew_server.counting import KEY_BYTES, CountingTask, Engine, count_top
from askew_server.counting.bounding import (
    bounding_secret,
    require_countable,
)
from askew_server.counting.engines.spark import SparkEngine

pytestmark = pytest.mark.slow


require_driver("pyspark")


require_java()


class SparkBench(Bench):
    def __init__(self, engine: SparkEngine, folder: Path) -> None:
        super().__init__(engine)
        self.folder = folder

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> str:
        path = self.folder / f"{name}.parquet"
        write_parquet(path, columns, sql_type, last)
        return str(path)


def counted_by(engine: Engine, path: Path) -> tuple[tuple[str, ...], tuple[int, ...]]:
    top = count_top(engine, task(str(path)), KEY)
    return top.items, top.counts


class TestSparkCounts(CountingContract):
    odd_ratings: ClassVar = {
        "VARCHAR": (*TEXTS, "4\0", "\x015"),
        "DOUBLE": FLOATS,
        "DECIMAL(38, 0)": ("99999999999999999999999999999999999999", None),
        "BIGINT": ("9223372036854775807", None),
    }
    refused_ids = ("DOUBLE", "DECIMAL(9, 0)", "DATE", "BOOLEAN", "BLOB", "VARCHAR[]")
    accepted_ids: ClassVar = {
        "TINYINT": ("-128", "0", "127"),
        "BIGINT": ("-9223372036854775808", "9223372036854775807"),
        "VARCHAR": ("", " ", "01", "1", "1.0", "a", "a ", "NULL", "nan"),
    }

    @pytest.fixture
    def bench(self, spark: SparkEngine, tmp_path: Path) -> Bench:
        return SparkBench(spark, tmp_path)

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

    @pytest.mark.parametrize("name", ["log.csv", "log.tsv.gz"])
    def test_text_is_refused_before_the_charge(
        self, spark: SparkEngine, tmp_path: Path, name: str
    ) -> None:
        """Spark reads it in ways of its own. Planted bug: read all the same."""
        with pytest.raises(DataError, match="Spark counts parquet files and tables; write the"):
            require_countable(spark, task(str(tmp_path / name)))

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

    def test_parquet_files_may_differ_in_other_columns(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        write_parquet(tmp_path / "1.parquet", {"unit": ["p"], "item": ["a"]})
        write_parquet(tmp_path / "2 %.parquet", {"unit": ["q"], "item": ["a"], "a.b": ["x"]})
        top = count_top(spark, task(str(tmp_path / "*.parquet")), KEY)
        assert (top.items, top.counts) == (("a",), (2,))

    def test_a_table_is_never_a_file_whose_types_are_guessed(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        """Planted bug: "csv.log" is the file log."""
        (tmp_path / "log").write_text("unit,item\np,a\n")
        with pytest.raises(DataError, match="TABLE_OR_VIEW_NOT_FOUND"):
            require_countable(spark, task(f"csv.{tmp_path / 'log'}"))

    def test_text_that_is_not_utf8_fails_nothing(self, spark: SparkEngine, tmp_path: Path) -> None:
        write_parquet_of_bytes(tmp_path / "log.parquet", "p", b"MARK\xff\xfe")
        assert counted_by(spark, tmp_path / "log.parquet") == (("MARK\ufffd\ufffd",), (1,))


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
    secret = bounding_secret(failing_spark.SeededBits(1).read(KEY_BYTES))
    for canary in ("canary", secret, "Traceback", "Stage", "ROW_NUMBER"):
        assert canary not in done.stdout + done.stderr


BOUND = 7


class Explaining:
    """The engine, which gives Spark's plan of a statement instead of its rows."""

    dialect = "spark"

    def __init__(self, engine: SparkEngine) -> None:
        self.table, self.columns, self._engine = engine.table, engine.columns, engine
        self.broken_lines, self.close = engine.broken_lines, engine.close
        self.look_through = engine.look_through

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        [[self.plan]] = self._engine.execute(f"EXPLAIN {sql}", parameters)
        return []


@pytest.fixture(params=["unknown domain", "catalog"])
def plan(spark: SparkEngine, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    log, catalog = tmp_path / "log.parquet", tmp_path / "catalog.parquet"
    write_parquet(log, {"unit": ["p", "q"], "item": ["a", "b"]})
    write_parquet(catalog, {"item": ["a", "b"]})
    public = request.param == "catalog"
    task = CountingTask(
        events=str(log),
        max_items_per_unit=BOUND,
        limit=None if public else 5,
        catalog=str(catalog) if public else None,
    )
    explaining = Explaining(spark)
    count_top(explaining, task, KEY)
    assert isinstance(explaining.plan, str)
    return explaining.plan


def test_of_a_person_no_more_items_are_kept_than_may_count(plan: str) -> None:
    """Before they are sent elsewhere, and after. Planted bug: places from 0, by a subtraction that
    Spark does not see through.
    """
    limits = re.findall(r"WindowGroupLimit \[unit#\d+\], .*, row_number\(\), (\d+), (\w+)", plan)
    assert sorted(limits) == [(str(BOUND), "Final"), (str(BOUND), "Partial")]


def test_no_list_is_made_of_anybodys_items(plan: str) -> None:
    """Planted bug: items collected into an array and cut, which one person can make any size."""
    assert not re.search("collect_list|collect_set|ObjectHashAggregate|array", plan, re.IGNORECASE)


def test_nothing_is_put_in_order_in_one_place(plan: str) -> None:
    """Planted bug: a window over everybody, which moves all pairs to one task."""
    assert "SinglePartition" not in plan
    windows = re.findall(r"\+- Window \[.*\], (\[[^\]]*\]), \[[^\]]*\]$", plan, re.MULTILINE)
    assert windows
    assert all(re.fullmatch(r"\[unit#\d+\]", partition) for partition in windows)
    assert "CartesianProduct" not in plan
    assert "NestedLoopJoin" not in plan
