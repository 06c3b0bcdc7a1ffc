"""ClickHouse, inside this process."""

from __future__ import annotations

import _io
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from server.counting.availability import require_driver
from server.counting.contract import Bench, CountingContract, require_one_look, task
from server.counting.parquet import (
    Columns,
    quoted,
    write_parquet,
    write_parquet_of_bytes,
)
from server.counting.release_contract import Place, ReleaseContract, files, in_a_process

from askew.errors import DataError
from askew_server.counting.engines.clickhouse import ClickHouseEngine

require_driver("clickhouse_connect")
require_driver("chdb")


class ClickHouseBench(Bench):
    """A database of our own: chdb's default one takes names with a "*" for those of files."""

    def __init__(self, engine: ClickHouseEngine, folder: Path) -> None:
        super().__init__(engine)
        self.clickhouse, self.folder = engine, folder
        engine.execute("CREATE DATABASE IF NOT EXISTS askew")

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR") -> str:
        path = self.folder / f"{self.new_name()}.parquet"
        write_parquet(path, columns, sql_type)
        table = f"askew.{quoted(name, 'clickhouse')}"
        for statement in (
            f"DROP TABLE IF EXISTS {table}",
            f"CREATE TABLE {table} ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)",
        ):
            self.clickhouse.execute(statement)
        return f"askew.{name}"


class TestClickHouseCounts(CountingContract):
    number = r"toInt32(\1)"  # a cast gives nothing where a text is none

    @pytest.fixture
    def bench(self, clickhouse: ClickHouseEngine, tmp_path: Path) -> Bench:
        return ClickHouseBench(clickhouse, tmp_path)

    def test_the_driver_leaves_the_rest_of_the_process_alone(self, bench: Bench) -> None:
        """Its import sets io.DEFAULT_BUFFER_SIZE, for everybody."""
        assert io.DEFAULT_BUFFER_SIZE == _io.DEFAULT_BUFFER_SIZE

    def test_a_log_that_changes_is_looked_at_once(self, bench: ClickHouseBench) -> None:
        """Planted bug: the statement of DuckDB, for which ClickHouse reads the events four times:
        a log that somebody writes to is another each time."""
        source = bench.events([("p", str(n)) for n in range(1000)])
        view = f"CREATE VIEW {source}_view AS SELECT * FROM {source} WHERE rand() % 2 = 0"
        bench.clickhouse.execute(view)
        require_one_look(bench, f"{source}_view")

    def test_a_count_is_of_one_moment_of_a_table_that_is_written_to(
        self, bench: ClickHouseBench
    ) -> None:
        """Each row that comes has a unit of two items, of which one is kept, and one of c alone.
        Planted bug: rows of two statements put together. ClickHouse gives all looks of a statement
        the same moment, so how many there are is the matter of the test above.
        """
        bench.clickhouse.execute("DROP TABLE IF EXISTS askew.log")
        bench.clickhouse.execute(
            "CREATE TABLE askew.log (unit String, item String) ENGINE = MergeTree ORDER BY tuple()"
        )
        writer, over, written = ClickHouseEngine("chdb://"), Event(), [0]

        def write(rows: int) -> None:
            writer.execute(
                "INSERT INTO askew.log SELECT concat(row.1, toString(number)), row.2 FROM ("
                "SELECT number, arrayJoin([('h', 'a'), ('h', 'b'), ('l', 'c')]) AS row"
                f" FROM numbers({written[0]}, {rows}))"
            )
            written[0] += rows

        def write_on() -> None:
            while not over.is_set():
                write(100)

        write(50_000)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write_on)
            try:
                for _ in range(3):
                    before = written[0]
                    counted = dict(bench.count(task("askew.log", max_items=1)))
                    assert counted["a"] + counted["b"] == counted["c"]
                    assert before <= counted["c"] <= written[0] + 100
            finally:
                over.set()
            writing.result()
        assert written[0] > before
        writer.close()

    @pytest.mark.parametrize(
        "address",
        [
            "clickhouse://name:hunter2@127.0.0.1:1/base",
            "clickhouse://name:some@hunter2@127.0.0.1:1/base",
            "clickhouse://name:hunter2/more@127.0.0.1:1/base",
            "clickhouse://127.0.0.1:hunter2",
        ],
    )
    def test_no_part_of_a_password_is_in_an_error(
        self, address: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(DataError, match="no connection") as error:
            ClickHouseEngine(address)
        shown = capfd.readouterr()
        assert "hunter2" not in str(error.value) + shown.out + shown.err

    def test_text_that_is_not_utf8_fails_nothing(self, bench: ClickHouseBench) -> None:
        path = bench.folder / "bytes.parquet"
        write_parquet_of_bytes(path, "p", b"MARK\xff\xfe")
        bench.clickhouse.execute("DROP TABLE IF EXISTS askew.bytes")
        bench.clickhouse.execute(
            f"CREATE TABLE askew.bytes ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)"
        )
        assert bench.count(task("askew.bytes")) == [(b"MARK\xff\xfe".hex(), 1)]


LOAD = """
import sys
from askew_server.counting.engines.clickhouse import ClickHouseEngine

address, *files = sys.argv[1:]
engine = ClickHouseEngine(address)
engine.execute("CREATE DATABASE askew")
for name, path in zip(("events", "catalog"), files):
    engine.execute(
        f"CREATE TABLE askew.{name} ENGINE = MergeTree ORDER BY tuple()"
        f" AS SELECT * FROM file('{path}', Parquet)"
    )
engine.close()
"""


class TestClickHouseReleases(ReleaseContract):
    def place(self, folder: Path, request: pytest.FixtureRequest) -> Place:
        address = f"chdb://{folder / 'tables'}"
        in_a_process(LOAD, address, *map(str, files(folder)))
        return Place(address, "askew.events", "askew.catalog")
