"""DuckDB from parquet, from csv, and from the tables of its own files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from server.counting.contract import (
    FLOATS,
    TEXTS,
    UUID,
    Bench,
    CountingContract,
    require_one_look,
    task,
)
from server.counting.reference import (
    Columns,
    Pair,
    columns_of,
    quoted,
    reference_counts,
    typed,
    write_parquet,
)

from askew_server.counting.bounding import _names, require_countable
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.counting.statements import carried, counting


class ParquetBench(Bench):
    def __init__(self, folder: Path) -> None:
        super().__init__(DuckDBEngine())
        self.folder = folder

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> str:
        path = self.folder / f"{name}.parquet"
        write_parquet(path, columns, sql_type, last)
        return str(path)


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


INTEGERS = {
    "TINYINT": ("-128", "0", "127"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "UBIGINT": ("0", "18446744073709551615"),
    "UUID": (UUID,),
    "VARCHAR": ("", " ", "01", "1", "1.0", "a", "a ", "NULL", "nan"),
}
RATINGS = {
    "VARCHAR": (*TEXTS, "4\0", "\x015"),
    "DOUBLE": FLOATS,
    "DECIMAL(38, 0)": ("99999999999999999999999999999999999999", None),
    "BIGINT": ("9223372036854775807", None),
}


class TestDuckDBCountsParquetFiles(CountingContract):
    odd_ratings = RATINGS
    refused_ids = ("DOUBLE", "DECIMAL(9, 0)", "DATE", "BOOLEAN", "BLOB", "VARCHAR[]")
    accepted_ids = INTEGERS

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = ParquetBench(tmp_path)
        yield bench
        bench.engine.close()


def test_one_item_of_one_person_above_the_bound_is_no_more_work(tmp_path: Path) -> None:
    """By the rows that DuckDB's operators pass on: its time is theirs. Planted bug: a join with
    nobody, which it leaves out, while one with somebody looks at the items of everybody.
    """
    people, work = 2000, []
    engine = DuckDBEngine()
    for more in (0, 1):
        pairs = [(f"p{unit}", f"i{(unit + n) % 997}") for unit in range(people) for n in range(5)]
        pairs += [("p7", f"more {n}") for n in range(more)]
        units, items = columns_of(pairs)
        path = tmp_path / f"{more}.parquet"
        write_parquet(path, {"unit": units, "item": items})
        asked = task(str(path), max_items=5)
        sql = carried(counting(asked, "duckdb"), _names(engine, asked), "duckdb")
        measured = f"EXPLAIN (ANALYZE, FORMAT json) {sql}"
        [[_, plan]] = engine.execute(measured, {"secret": "x" * 32})
        work.append(sum(map(int, re.findall(r'"intermediate_rows": (\d+)', str(plan)))))
    engine.close()
    without, with_it = work
    assert without > 5 * people
    assert abs(with_it - without) < 200  # of 10,000 pairs, and of one person's six


class TestDuckDBCountsTables(CountingContract):
    odd_ratings = RATINGS | {"HUGEINT": ("170141183460469231731687303715884105727", None)}
    refused_ids = ("BIT", "ENUM ('varchar')", "JSON", "STRUCT (v VARCHAR)", "TIMESTAMP")
    accepted_ids = INTEGERS | {"HUGEINT": ("170141183460469231731687303715884105727",)}

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = TableBench(tmp_path)
        yield bench
        bench.engine.close()

    def test_a_log_that_changes_is_looked_at_once(self, bench: TableBench) -> None:
        """Planted bug: NOT MATERIALIZED."""
        source = bench.events([("p", str(n)) for n in range(1000)])
        bench.engine.close()
        with duckdb.connect(bench.path) as connection:
            connection.execute(f"CREATE VIEW half AS FROM {source} WHERE random() < 0.5")
        bench.engine = DuckDBEngine(bench.path)
        require_one_look(bench, "half")

    @pytest.mark.thin
    @pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
    @pytest.mark.parametrize("columns", [{"unit"}, {"item"}, {"unit", "item"}])
    @pytest.mark.parametrize("max_items", [1, 2, 1000])
    def test_columns_that_compare_by_another_rule_are_counted_by_their_bytes(
        self, bench: TableBench, collation: str, columns: set[str], max_items: int
    ) -> None:
        """Who is who, what is what, and which comes first among equals. Planted bugs: either column
        as it compares itself; a caseless rule of our own."""
        keep(bench, "events", EVENTS, dict.fromkeys(columns, collation))
        counted = bench.count(task("events", max_items=max_items))
        assert counted == reference_counts(EVENTS, max_items, limit=40)
        if max_items == 1000:
            assert counted == [("a", 3), ("Ä", 3), ("A", 2), ("B", 1), ("ä", 1)]

    @pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
    def test_a_catalog_that_compares_by_another_rule_is_read_by_its_bytes(
        self, bench: TableBench, collation: str
    ) -> None:
        """Planted bug: titles that differ in case or accent taken for one."""
        keep(bench, "events", EVENTS, {"item": collation})
        keep(bench, "films", [("", item) for item in ("A", "a", "ä", "b")], {"item": collation})
        asked = task("events", max_items=1000, limit=None, catalog="films")
        require_countable(bench.engine, asked)
        assert bench.count(asked) == [("a", 3), ("A", 2), ("ä", 1), ("b", 0)]


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
    """Planted bug: DuckDB's own folder, which others may open."""
    engine = DuckDBEngine(temp_directory=tmp_path)
    [[spilled]] = engine.execute("SELECT current_setting('temp_directory')")
    [folder] = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(str(spilled)).parent == folder
    engine.close()
    assert not list(tmp_path.iterdir())
