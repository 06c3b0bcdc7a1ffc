"""What Spark makes of the statement keeps no more of a person than may count, and sorts on disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from server.counting.availability import require_driver, require_java
from server.counting.parquet import write_parquet
from server.counting.reference import KEY

from askew_server.counting import CountingTask, count_top
from askew_server.counting.engines.spark import SparkEngine

require_driver("pyspark")
require_java()

BOUND = 7


class Explaining:
    """The engine, which gives Spark's plan of a statement instead of its rows."""

    dialect = "spark"

    def __init__(self, engine: SparkEngine) -> None:
        self.table, self.columns, self._engine = engine.table, engine.columns, engine
        self.broken_lines, self.close = engine.broken_lines, engine.close
        self.mark = engine.mark

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
