"""The engines with a log that each of them counts, and what is compared on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import mkdtemp

import duckdb
from benchmarks.counting_logs import MEMORY, bare, task
from benchmarks.rows import OURS, Work

from askew_server.counting import Engine, count_top
from askew_server.counting.engines.duckdb import DuckDBEngine

KEY = bytes(range(32))
JAVA_MEMORY = "3g"  # of the heap; a quarter of 4 GiB is left to the rest of a JVM


def compared(engine: Engine, events: str, table: str) -> Mapping[str, Work]:
    """bare: the engine's own query without a bound. ours: count_top, that is column types, missing
    ids and the statement.
    """
    return {
        "bare": lambda: engine.execute(bare(table)),
        OURS: lambda: count_top(engine, task(events), KEY),
    }


def on_duckdb(log: Path) -> Mapping[str, Work]:
    """On files, beyond its memory on disk."""
    engine = DuckDBEngine(memory_limit=MEMORY, temp_directory=log.with_suffix(".tmp"))
    return compared(engine, str(log), *engine.table(str(log)))


def on_duckdb_by_hand(log: Path) -> Mapping[str, Work]:
    """Also our statement without what we do around it, which is why it is asked for once before."""
    engine = _Listening(memory_limit=MEMORY, temp_directory=log.with_suffix(".tmp"))
    both = compared(engine, str(log), *engine.table(str(log)))
    both[OURS]()
    by_hand = partial(engine.execute, engine.asked, {"secret": "0" * 32})
    return {"bare": both["bare"], "hand": by_hand, OURS: both[OURS]}


class _Listening(DuckDBEngine):
    """Remembers the last statement that it was asked."""

    asked = ""

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        self.asked = sql
        return super().execute(sql, parameters)


def on_spark(log: Path, small: Path) -> Mapping[str, Work]:
    """Warm: a JVM that counted a small log before."""
    engine = started_spark(log.parent)
    for work in compared(engine, str(small), *engine.table(str(small))).values():
        work()
    return compared(engine, str(log), *engine.table(str(log)))


def started_spark(folder: Path) -> Engine:
    """Spark on this machine, with as much memory as DuckDB."""
    from askew_server.counting.engines.spark import SparkEngine

    settings = {"spark.driver.memory": JAVA_MEMORY, "spark.local.dir": str(folder)}
    return SparkEngine("local[2]", settings=settings)


def on_clickhouse(log: Path) -> Mapping[str, Work]:
    """ClickHouse inside this process, the log in a table of its own."""
    from askew_server.counting.engines.clickhouse import ClickHouseEngine

    engine = ClickHouseEngine("chdb://")
    engine.execute("CREATE DATABASE askew")
    engine.execute(
        "CREATE TABLE askew.events ENGINE = MergeTree ORDER BY tuple() AS"
        f" SELECT * FROM file('{log}', Parquet)"
    )
    return compared(engine, "askew.events", "askew.events")


def on_postgres(log: Path) -> Mapping[str, Work]:
    """A server of our own, as Debian sets it up, the log in a table."""
    import psycopg

    from askew_server.counting.engines.postgres import PostgresEngine

    address = _postgres_server(Path(mkdtemp(dir=log.parent)))
    lines = log.with_suffix(".csv")
    duckdb.sql(f"COPY (FROM '{log}') TO '{lines}' (HEADER false)")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE events (unit TEXT, item TEXT)")
        copying = connection.cursor().copy("COPY events FROM STDIN (FORMAT csv)")
        with copying as copied, lines.open("rb") as read:
            while block := read.read(1 << 20):
                copied.write(block)
        connection.execute("ANALYZE events")
    lines.unlink()
    return compared(PostgresEngine(address), "events", "events")


def _postgres_server(folder: Path) -> str:
    """Its address, once it answers. It refuses to run as root."""
    import psycopg

    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    nobody = "nobody" if os.geteuid() == 0 else None
    folder.parent.chmod(0o755)
    if nobody:
        shutil.chown(folder, nobody)
    quiet, data = subprocess.DEVNULL, str(folder / "data")
    run = partial(subprocess.Popen, user=nobody, cwd=folder, stdout=quiet, stderr=quiet)
    made = [f"{programs}/initdb", "-D", data, "-U", "askew", "--auth=trust", "-EUTF8"]
    run(made).wait()
    server = run([f"{programs}/postgres", "-D", data, "-k", str(folder), "-h", ""])
    Finalize(None, server.terminate, exitpriority=1)  # a row ends without `atexit`
    address = f"host={folder} user=askew dbname=postgres"
    while server.poll() is None:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return address
    raise SystemExit("PostgreSQL did not start")
