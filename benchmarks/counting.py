"""Bounded counting on every engine that is installed, beside the engine's bare query.

    python -m benchmarks.counting        10^5 to 10^7 events
    python -m benchmarks.counting 1e8    so many, on the two engines that count files on disk

bare   SELECT item, COUNT(DISTINCT unit) ... ORDER BY ... LIMIT: no bound on contributions
hand   our statement, run by hand
ours   count_top: column types, missing ids, the statement

Logs are SIMULATED: people active by a power law, items popular by another. CPU of all processes of
an engine, those of a JVM or a server among them; DuckDB and Spark with 3 GB. Large logs are counted
once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import mkdtemp

import duckdb
from benchmarks.rows import OURS, Goal, Row, Work, finish, run

from askew_server.counting import CountingTask, Engine, count_top
from askew_server.counting.engines.duckdb import DuckDBEngine

LIMIT, DELTA = 1001, 10
MEMORY = "3GB"  # leaves a quarter of 4 GiB to what an engine does not count
# A tenth as many people as events, 10^5 items.
_PERSON = "floor({people} * pow((hash(i) % 1000000007) / 1000000007.0, 1.5))::BIGINT"
_ITEM = "floor(100000 * pow((hash(i + {rows}) % 1000000007) / 1000000007.0, 3))::BIGINT"
_TEXTS = f"'person-' || {_PERSON} AS unit, 'item-' || {_ITEM} AS item"
TEXTS = "text ids"
SHAPES = {
    TEXTS: _TEXTS,
    "integer ids": f"{_PERSON} AS unit, {_ITEM} AS item",
    # As a log has them: who comes back to an item makes another event.
    "text ids, each event 3 times": _TEXTS.replace("(i", "(i // 3"),
}


def made_log(folder: Path, shape: str, rows: int) -> Path:
    """A parquet file of so many events, made once."""
    path = folder / f"{shape}, {rows}.parquet"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    columns = SHAPES[shape].format(people=max(1, rows // 10), rows=rows)
    with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": f"{path}.tmp"}) as made:
        made.execute("SET preserve_insertion_order = false")
        made.execute(
            f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{part}' (FORMAT parquet)"
        )
    part.rename(path)
    return path


def task(events: str) -> CountingTask:
    """The last statement: the top of an unknown domain, at most DELTA items of a person."""
    return CountingTask(events=events, max_items_per_unit=DELTA, limit=LIMIT)


def bare(table: str) -> str:
    """The same without a bound, as anybody would write it."""
    return f"""SELECT item, COUNT(DISTINCT unit) AS n FROM {table}
               GROUP BY item ORDER BY n DESC, item LIMIT {LIMIT}"""


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
    engine = DuckDBEngine(memory_limit=MEMORY, temp_directory=log.parent)
    return compared(engine, str(log), *engine.table(str(log)))


def on_duckdb_by_hand(log: Path) -> Mapping[str, Work]:
    """Also our statement without what we do around it, which is why it is asked for once before."""
    engine = _Listening(memory_limit=MEMORY, temp_directory=log.parent)
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


SIZES = (10**5, 10**6, 10**7)
SMALL, IN_MEMORY = 10**4, 10**7
HAS_SPARK = bool(find_spec("pyspark") and shutil.which("java"))
MEGABYTES = 4295  # 4 GiB
BY_HAND = Goal(times=1.2, floor="hand", megabytes=MEGABYTES)
WITHIN = Goal(floor="bare", megabytes=MEGABYTES)
BESIDE = Goal(floor="bare")  # their memory is that of a server
Made = Callable[[Path], Mapping[str, Work]]
POSTGRES = Path("/usr/lib/postgresql")


def start_up() -> Row:
    """A JVM and a session of Spark, once a process; the floor is a JVM that does nothing."""
    idle = partial(subprocess.run, ["java", "-version"], capture_output=True, check=True)
    with_spark = partial(started_spark, Path(tempfile.gettempdir()))
    return Row("Spark's start", lambda: {"floor": idle, OURS: with_spark}, rounds=1)


def rows_of(folder: Path, events: int) -> Iterator[Row]:
    """Every engine that is installed, on the same log; DuckDB on other shapes too."""
    large, most = events > IN_MEMORY, max(120, events // 40_000)

    def row(name: str, made: Made, goal: Goal, rounds: int, shape: str = TEXTS) -> Row:
        return Row(name, lambda: made(made_log(folder, shape, events)), goal, rounds, most)

    if large:
        yield row("DuckDB, text ids", on_duckdb, WITHIN, 1)
    for shape in () if large else SHAPES:
        goal = BY_HAND if events == IN_MEMORY else BESIDE
        yield row(f"DuckDB, {shape}", on_duckdb_by_hand, goal, 3, shape)
    if HAS_SPARK:  # a JVM that counted a little log before
        yield row("Spark", lambda log: on_spark(log, made_log(folder, TEXTS, SMALL)), WITHIN, 1)
    if find_spec("psycopg") and POSTGRES.exists() and not large:
        yield row("PostgreSQL", on_postgres, BESIDE, 1)


def measured(folder: Path, events: int) -> bool:
    """All rows of a size; its logs are gone then."""
    title = f"{events:.0e} events, at most {DELTA} items a person, {LIMIT} rows"
    kept = run(title, rows_of(folder, events))
    for log in folder.glob("*.parquet"):
        log.unlink()
    return kept


def main(sizes: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="askew-counting-") as name:
        kept = [run("start-up", [start_up()])] if HAS_SPARK and not sizes else []
        events = [int(float(each)) for each in sizes] or SIZES
        kept += [measured(Path(name), each) for each in events]
    finish(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
