"""ClickHouse, inside this process."""

from __future__ import annotations

import _io
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from server.counting.availability import require_driver
from server.counting.contract import Bench, CountingContract, require_one_look, task
from server.counting.parquet import (
    Columns,
    quoted,
    write_parquet,
    write_parquet_of_bytes,
)
from server.counting.reference import KEY, reference_counts, varied_events
from server.counting.release_contract import Place, ReleaseContract, files, in_a_process

from askew.errors import DataError
from askew_server.counting import count_top
from askew_server.counting.engines.databases import ClickHouseEngine

pytestmark = pytest.mark.slow


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
from askew_server.counting.engines.databases import ClickHouseEngine

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


require_driver("clickhouse_connect")


require_driver("chdb")


EVENTS = [event for event in varied_events() if all(event)]


class Handler(BaseHTTPRequestHandler):
    """Answers as `breaks` says; the statements that have a parameter are the ones that count."""

    protocol_version = "HTTP/1.1"
    breaks: ClassVar[str] = ""

    def do_POST(self) -> None:
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = parse_qs(urlsplit(self.path).query)
        secret = asked.get("param_secret")
        rows = answered(statement, {"secret": secret[0]} if secret else {})
        match self.breaks if secret else "":
            case "":
                self.reply(200, rows)
            case "refused":
                self.reply(500, b"Code: 241. DB::Exception: hidden: Memory limit exceeded")
            case "of something else":
                self.reply(200, b"\xff\xfecanary-hidden" * 50)
            case "cut":
                self.close_connection = True
                self.reply(200, rows[: len(rows) // 2], length=len(rows))
            case "none":
                self.close_connection = True

    def reply(self, code: int, body: bytes, *, length: int | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: what is shown is what the engine shows."""


def answered(statement: str, parameters: dict[str, str]) -> bytes:
    import chdb

    query: Any = chdb.query
    rows: bytes = query(statement, "Native", params=parameters).bytes()
    return rows


@pytest.fixture
def engine(clickhouse: ClickHouseEngine) -> Iterator[ClickHouseEngine]:
    """The log is in a table; `clickhouse` keeps it."""
    clickhouse.execute("CREATE DATABASE IF NOT EXISTS askew")
    clickhouse.execute("DROP TABLE IF EXISTS askew.log")
    clickhouse.execute("CREATE TABLE askew.log (unit String, item String) ENGINE = Memory")
    clickhouse._client.insert("askew.log", EVENTS, ["unit", "item"])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        engine = ClickHouseEngine(f"clickhouse://name@127.0.0.1:{server.server_port}/default")
        yield engine
        engine.close()
        server.shutdown()
        thread.join()


def test_a_count_over_http_is_that_of_the_definition(engine: ClickHouseEngine) -> None:
    top = count_top(engine, task("askew.log"), KEY)
    assert list(zip(top.items, top.counts, strict=True)) == reference_counts(EVENTS, 3, limit=40)


@pytest.mark.parametrize("breaks", ["refused", "of something else", "cut", "none"])
def test_an_answer_that_breaks_off_is_one_line_without_what_it_said(
    engine: ClickHouseEngine,
    breaks: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Planted bugs: the driver's own errors alone, as bytes that are no answer raise others; its
    log on standard error; the rows that came taken for all."""
    monkeypatch.setattr(Handler, "breaks", breaks)
    with pytest.raises(DataError, match=r"^ClickHouse: ClickHouse could not do it: ") as error:
        count_top(engine, task("askew.log"), KEY)
    shown = capfd.readouterr()
    assert "hidden" not in str(error.value) + shown.out + shown.err
    assert len(str(error.value).splitlines()) == 1
    assert error.value.__suppress_context__
    assert shown.err == ""
    assert caplog.records == []  # without a handler, as here, they go to standard error
