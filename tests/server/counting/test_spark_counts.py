"""PySpark, local mode."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from server.counting import failing_spark
from server.counting.availability import require_driver, require_java
from server.counting.contract import FLOATS, TEXTS, Bench, CountingContract, task
from server.counting.parquet import Columns, write_parquet, write_parquet_of_bytes
from server.counting.reference import KEY, reference_counts
from server.counting.release_contract import Place, ReleaseContract, files, program
from server.counting.seeded_commands import SeededBits

from askew.errors import DataError
from askew_server.counting import KEY_BYTES, CountingTask, Engine, TopCounts, count_top
from askew_server.counting.bounding import (
    bounding_secret,
    catalog_size,
    require_countable,
)
from askew_server.counting.engines.duckdb import DuckDBEngine
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

    def test_a_csv_is_read_as_duckdb_reads_it(self, spark: SparkEngine, tmp_path: Path) -> None:
        path = tmp_path / "log.csv"
        path.write_text('unit,item\n01,1.0\n#a, b \n"x,""y""","one line"\nNULL,true\n\\,a\n')
        duck = DuckDBEngine()
        assert self.events(spark, path) == self.events(duck, path)

    @pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
    def test_files_that_change_while_they_are_counted_are_not_counted(
        self, spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """After all that Spark's engine looks at, and before its first row. Planted bug: no second
        look at the files."""
        path, result = tmp_path / name, spark._statements.result
        path.write_text("unit,item\np,a\n")
        if name == "log.parquet":
            write_parquet(path, {"unit": ["p"], "item": ["a"]})

        def appended(statement: Callable[[], object]) -> object:
            os.utime(path, ns=(1, 1))
            if name == "log.csv":
                with path.open("a") as file:
                    file.write("q,b\n")
            return result(statement)

        monkeypatch.setattr(spark._statements, "result", appended)
        with pytest.raises(DataError, match="it was changed while it was read"):
            count_top(spark, task(str(path)), KEY)
        monkeypatch.undo()
        assert count_top(spark, task(str(path)), KEY).items[0] == "a"

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

    def test_a_log_whose_last_line_has_no_end_is_refused_and_a_catalog_is_not(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        """DuckDB leaves the line out; Spark would count half of a name, as it did."""
        log, items = tmp_path / "log.csv", tmp_path / "items.csv"
        log.write_text("unit,item\np,a\nq,b")
        items.write_text("item\na\nb")
        asked = task(str(log), limit=None, catalog=str(items))
        assert catalog_size(spark, asked) == 2
        for look in (lambda: spark.look_through(str(log)), lambda: count_top(spark, asked, KEY)):
            with pytest.raises(DataError, match=r"log\.csv: its last line has no line feed"):
                look()
        log.write_text("unit,item\np,a\nq,b\n")
        assert count_top(spark, asked, KEY) == TopCounts(("a", "b"), (1, 1))

    def test_a_quote_that_is_not_closed_is_an_error_that_names_its_line(
        self, spark: SparkEngine, tmp_path: Path
    ) -> None:
        path = tmp_path / "log.csv"
        path.write_text('unit,item\np,a\nq,"b\nr,c\n')
        with pytest.raises(DataError, match=r"log\.csv, line 3: a quote is not closed"):
            count_top(spark, task(str(path)), KEY)

    @pytest.mark.parametrize("ends", ["\n", "\r\n"])
    def test_a_return_in_a_field_of_a_csv_is_a_character_of_it(
        self, spark: SparkEngine, tmp_path: Path, ends: str
    ) -> None:
        """Planted bug: lineSep of a return, for which ann has the event of zed\\rann."""
        path = tmp_path / "log.csv"
        names = ["zed\rann", "zed", "ann", "a\r", "\ra"]
        events = [(unit, item) for unit in names for item in names]
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator=ends).writerows([("unit", "item"), *events])
        wanted = reference_counts(events, 3, limit=40)
        duck = DuckDBEngine()
        for engine in (duck, spark):
            assert list(zip(*counted_by(engine, path), strict=True)) == wanted
        duck.close()

    @pytest.mark.parametrize("line", ["p,", 'p,""', "hidden", ",a", '"",a'])
    def test_a_line_of_a_csv_that_gives_no_ids_is_left_out_as_by_duckdb(
        self, spark: SparkEngine, tmp_path: Path, line: str
    ) -> None:
        path = tmp_path / "log.csv"
        path.write_text(f"unit,item\nq,b\n{line}\np,a,too,many\n")
        asked = task(str(path))
        for engine in (DuckDBEngine(), spark):
            assert count_top(engine, asked, KEY) == TopCounts(("a", "b"), (1, 1))

    def test_no_line_of_a_csv_fails_the_others(self, spark: SparkEngine, tmp_path: Path) -> None:
        """Planted bug: Spark's mode FAILFAST."""
        path = tmp_path / "log.csv"
        path.write_bytes(b'unit,item\nhidden\nr,\xff\nx,y\0\n"u"v,w\n\n' + b"q,b\n" * 3)
        require_countable(spark, task(str(path)))
        assert dict(zip(*counted_by(spark, path), strict=True))["b"] == 1

    def test_text_that_is_not_utf8_fails_nothing(self, spark: SparkEngine, tmp_path: Path) -> None:
        write_parquet_of_bytes(tmp_path / "log.parquet", "p", b"MARK\xff\xfe")
        assert counted_by(spark, tmp_path / "log.parquet") == (("MARK\ufffd\ufffd",), (1,))

    def events(self, engine: Engine, path: Path) -> list[tuple[object, ...]]:
        [view] = engine.table(str(path))
        return sorted(engine.execute(f"SELECT unit, item FROM {view}"), key=repr)


class TestSparkReleases(ReleaseContract):
    def place(self, folder: Path, request: pytest.FixtureRequest) -> Place:
        return Place("spark:local[2]", *map(str, files(folder)))

    def test_a_failure_after_the_charge_is_one_line_without_a_row_or_the_secret(
        self, tmp_path: Path
    ) -> None:
        """Planted bugs: Spark's own log on standard error, which may quote what it rejects; that of
        PySpark, which quotes the statement; the rows that came before a JVM was lost taken for all;
        a session that cannot be stopped any more and says so.
        """
        (tmp_path / "log.csv").write_text(
            "unit,item\nperson,film\n" + "canary-unit," * 30_000 + "\n"
        )
        for name in ("log", "other"):
            write_parquet(tmp_path / f"{name}.parquet", {"unit": ["canary-unit"], "item": ["film"]})
        made = program(tmp_path, "spark:local[2]", failing_spark.__file__)
        (opened, _, _), *failures = json.loads(made.stdout)
        assert opened == 0
        assert len(failures) == len(failing_spark.FAILURES)
        for name, (code, _, err) in zip(failing_spark.FAILURES, failures, strict=True):
            *_, last = err.splitlines()
            assert code == 1, name
            assert last.startswith("askew-server: Spark: Spark could not do it ("), err
        secret = bounding_secret(SeededBits(1).read(KEY_BYTES))
        for canary in ("canary", secret, "Traceback", "Stage", "ROW_NUMBER"):
            assert canary not in made.stdout + made.stderr


require_driver("pyspark")


require_java()


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
    assert all(re.fullmatch(r"\[unit#\d+\]", each) for each in windows)
    assert "CartesianProduct" not in plan
    assert "NestedLoopJoin" not in plan
