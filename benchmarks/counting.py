"""Bounded counting on every engine that is installed, beside the engine's bare query.

    python -m benchmarks.counting        10^5 to 10^7 events
    python -m benchmarks.counting 1e8    so many, on the two engines that count files on disk

bare   SELECT item, COUNT(DISTINCT unit) ... ORDER BY ... LIMIT: no bound on contributions
hand   our statement, run by hand
ours   count_top: column types, missing ids, the statement

CPU of all processes of an engine, those of a JVM or a server among them; DuckDB and Spark with
3 GB. Large logs are counted once.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.counting_engines import (
    on_clickhouse,
    on_duckdb,
    on_duckdb_by_hand,
    on_postgres,
    on_spark,
    started_spark,
)
from benchmarks.counting_logs import DELTA, LIMIT, SHAPES, TEXTS, made_log
from benchmarks.rows import OURS, Goal, Row, Work, finish, run

SIZES = (10**5, 10**6, 10**7)
SMALL, IN_MEMORY = 10**4, 10**7
HAS_SPARK = bool(find_spec("pyspark") and shutil.which("java"))
MEMORY = 4295  # MB, 4 GiB
BY_HAND = Goal(times=1.2, floor="hand", megabytes=MEMORY)
WITHIN = Goal(floor="bare", megabytes=MEMORY)
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
    if find_spec("chdb") and not large:
        yield row("ClickHouse", on_clickhouse, BESIDE, 1)
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
