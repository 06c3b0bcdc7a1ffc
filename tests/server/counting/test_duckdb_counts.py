"""DuckDB from parquet, from csv, and from the tables of its own files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from server.counting.contract import Bench, CountingContract, require_one_look
from server.counting.parquet import Columns, quoted, write_parquet
from server.counting.release_contract import Place, files, said

from askew.errors import DataError
from askew_server.counting import ContributionBound, CountingTask
from askew_server.counting.bounding import require_countable
from askew_server.counting.engines.duckdb import DuckDBEngine


class ParquetBench(Bench):
    def __init__(self, folder: Path) -> None:
        super().__init__(DuckDBEngine())
        self.folder = folder

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        path = self.folder / f"{name}.parquet"
        write_parquet(path, columns, sql_type)
        return str(path)


class TableBench(Bench):
    """A file of DuckDB's, opened again, for reading, whenever a table was added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.duckdb"
        duckdb.connect(self.path).close()
        super().__init__(DuckDBEngine(self.path))

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        self.engine.close()
        parquet = self.path.with_name(f"{self.new_name()}.parquet")
        write_parquet(parquet, columns, sql_type)
        with duckdb.connect(self.path) as connection:
            connection.execute(f"CREATE TABLE {quoted(name)} AS FROM '{parquet}'")
        self.engine = DuckDBEngine(self.path)
        return name


class TestDuckDBCountsParquetFiles(CountingContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = ParquetBench(tmp_path)
        yield bench
        bench.engine.close()


class TestDuckDBCountsTables(CountingContract):
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


def test_a_table_whose_ids_are_bits_is_refused(tmp_path: Path) -> None:
    """Planted bug: bits that pass for integers."""
    path = tmp_path / "bits.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE events AS SELECT '101'::BIT AS unit, 'a' AS item")
    engine = DuckDBEngine(path)
    task = CountingTask(events="events", bound=ContributionBound(1), limit=2)
    with pytest.raises(DataError, match="column 'unit' has the type BIT"):
        require_countable(engine, task)
    engine.close()


def test_other_coins_make_another_release(tmp_path: Path) -> None:
    """Or the contract of `release_contract` would compare lists that say nothing of the counts."""
    place = Place("duckdb:", *map(str, files(tmp_path)))
    lists = [said(tmp_path, place, seed) for seed in (1, 2, 3)]
    for number in (1, 2):
        assert len({each.release(number).items for each in lists}) > 1
