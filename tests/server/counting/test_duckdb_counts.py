"""DuckDB from parquet, from csv, and from the tables of its own files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import duckdb
import pytest
from server.counting.contract import INTEGERS, UUID, Bench, CountingContract, ParquetBench, task
from server.counting.reference import (
    Columns,
    Pair,
    quoted,
    reference_counts,
    typed,
    write_parquet,
)

from askew_server.counting.bounding import require_countable, require_events
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.counting.statements import carried, counting


class TableBench(Bench):
    """A file of DuckDB's, opened again, for reading, whenever a table was added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.duckdb"
        duckdb.connect(self.path).close()
        super().__init__(DuckDBEngine(self.path))

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> str:
        self.engine.close()
        parquet = self.path.with_name(f"{self.new_name()}.parquet")
        write_parquet(parquet, columns)
        kinds = typed(columns, sql_type, last)
        named = ", ".join(
            f"CAST({quoted(column)} AS {kind}) AS {quoted(column)}" for column, kind in kinds
        )
        with duckdb.connect(self.path) as connection:
            connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT {named} FROM '{parquet}'")
        self.engine = DuckDBEngine(self.path)
        return name


IDS = {**INTEGERS, "UBIGINT": ("0", "18446744073709551615"), "UUID": (UUID,)}
HUGE: dict[str, tuple[str, ...]] = {"HUGEINT": ("170141183460469231731687303715884105727",)}


class TestDuckDBCountsParquetFiles(CountingContract):
    accepted_ids = IDS

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = ParquetBench(DuckDBEngine(), tmp_path)
        yield bench
        bench.engine.close()


def test_one_item_of_one_person_above_the_bound_is_no_more_work(tmp_path: Path) -> None:
    """By the rows that DuckDB's operators pass on: its time is theirs. Planted bug: a join with
    nobody, which it leaves out, while one with somebody looks at the items of everybody.
    """
    bench, work = ParquetBench(DuckDBEngine(), tmp_path), []
    pairs = [(f"p{unit}", f"i{(unit + n) % 997}") for unit in range(2000) for n in range(5)]
    for log in (pairs, [*pairs, ("p7", "one more")]):
        asked = task(bench.events(log), max_items=5)
        sql = carried(counting(asked, "duckdb"), require_events(bench.engine, asked), "duckdb")
        measured = f"EXPLAIN (ANALYZE, FORMAT json) {sql}"
        [[_, plan]] = bench.engine.execute(measured, {"secret": "x" * 32})
        work.append(sum(map(int, re.findall(r'"intermediate_rows": (\d+)', str(plan)))))
    bench.engine.close()
    without, with_it = work
    assert without > len(pairs)
    assert abs(with_it - without) < 200  # of 10,000 pairs, and of one person's six


class TestDuckDBCountsTables(CountingContract):
    odd_ratings: ClassVar = {**CountingContract.odd_ratings, **HUGE}
    refused_ids = ("BIT", "ENUM ('varchar')", "JSON", "STRUCT (v VARCHAR)", "TIMESTAMP")
    accepted_ids = IDS | HUGE

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = TableBench(tmp_path)
        yield bench
        bench.engine.close()

    @pytest.mark.parametrize(
        ("collation", "columns"),
        [("NOCASE", {"unit"}), ("NOACCENT", {"item"}), ("NOCASE.NOACCENT", {"unit", "item"})],
    )
    def test_columns_that_compare_by_another_rule_are_counted_by_their_bytes(
        self, bench: TableBench, collation: str, columns: set[str]
    ) -> None:
        """Who is who, what is what, and which comes first among equals. Planted bugs: either column
        as it compares itself; a caseless rule of our own."""
        rules = dict.fromkeys(columns, collation)
        keep(bench, "events", EVENTS, rules)
        keep(bench, "films", [("", item) for item in ("A", "a", "ä", "b")], rules)
        for most in (1, 2, 1000):
            counted = bench.count(task("events", max_items=most))
            assert counted == reference_counts(EVENTS, most, limit=40)
        of_catalog = task("events", max_items=1000, catalog="films")
        require_countable(bench.engine, of_catalog)
        assert bench.count(of_catalog) == [("a", 3), ("A", 2), ("ä", 1), ("b", 0)]


# Two people whose names differ in case or accent, and items that do, and as many people for two.
EVENTS = [
    *(("p", item) for item in ("A", "a", "ä", "B", "Ä")),
    *(("P", item) for item in ("a", "A", "Ä")),
    *(("é", "a"), ("E", "Ä")),
]


def keep(bench: TableBench, name: str, events: list[Pair], collations: dict[str, str]) -> None:
    """A table of two text columns, some of which compare by a rule of their own."""
    bench.engine.close()
    rules = {column: f"COLLATE {rule}" for column, rule in collations.items()}
    with duckdb.connect(bench.path) as owner:
        columns = (f"{column} VARCHAR {rules.get(column, '')}" for column in ("unit", "item"))
        owner.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        owner.executemany(f"INSERT INTO {name} VALUES (?, ?)", events)
    bench.engine = DuckDBEngine(bench.path)


def test_what_does_not_fit_into_memory_lies_in_a_folder_of_this_account_alone(
    tmp_path: Path,
) -> None:
    engine = DuckDBEngine(temp_directory=tmp_path)
    [[spilled]] = engine.execute("SELECT current_setting('temp_directory')")
    [folder] = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(str(spilled)).parent == folder
    engine.close()
    assert not list(tmp_path.iterdir())
