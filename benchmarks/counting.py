"""Bounded counting on every engine that is installed, beside the engine's bare query.

    python -m benchmarks.counting        10^7 events
    python -m benchmarks.counting 1e8    so many, on the two engines that count files on disk

bare   SELECT item, COUNT(DISTINCT unit) ... ORDER BY ... LIMIT: no bound on contributions
hand   our statement, run by hand
ours   count_top: column types, missing ids, the statement

Logs are SIMULATED: people active by a power law, items popular by another. CPU of all processes of
an engine, a JVM among them; DuckDB and Spark with 3 GB. Large logs are counted once.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

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
    """Return the path of a parquet file of so many events, which is made once."""
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
    """Return the task: the top of an unknown domain, at most DELTA items of a person."""
    return CountingTask(events=events, max_items_per_unit=DELTA, limit=LIMIT)


def bare(table: str) -> str:
    """Return the same query without a bound, as anybody would write it."""
    return f"""SELECT item, COUNT(DISTINCT unit) AS n FROM {table}
               GROUP BY item ORDER BY n DESC, item LIMIT {LIMIT}"""


KEY = bytes(range(32))
JAVA_MEMORY = "3g"  # of the heap; a quarter of 4 GiB is left to the rest of a JVM


def compared(engine: Engine, events: str, table: str) -> Mapping[str, Work]:
    """Return two contenders. bare: the engine's own query without a bound. ours: count_top, that is
    column types, missing ids and the statement.
    """
    return {
        "bare": lambda: engine.execute(bare(table)),
        OURS: lambda: count_top(engine, task(events), KEY),
    }


class _Listening(DuckDBEngine):
    """Remembers the last statement that it was asked."""

    asked = ""

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        self.asked = sql
        return super().execute(sql, parameters)


def on_duckdb(make: Callable[[], Path], *, by_hand: bool) -> Mapping[str, Work]:
    """Count the file that `make` returns, beyond its memory on disk. by_hand: also our statement
    without what we do around it, which is why it is asked for once before.
    """
    log = make()
    engine = _Listening(memory_limit=MEMORY, temp_directory=log.parent)
    works = compared(engine, str(log), *engine.table(str(log)))
    if not by_hand:
        return works
    works[OURS]()
    hand = partial(engine.execute, engine.asked, {"secret": "0" * 32})
    return {"bare": works["bare"], "hand": hand, OURS: works[OURS]}


def on_spark(log: Path, small: Path) -> Mapping[str, Work]:
    """Return contenders in a warm JVM, which counted a small log before, with as much memory as
    DuckDB.
    """
    from askew_server.counting.engines.spark import SparkEngine

    settings = {"spark.driver.memory": JAVA_MEMORY, "spark.local.dir": str(log.parent)}
    engine = SparkEngine("local[2]", settings=settings)
    for work in compared(engine, str(small), *engine.table(str(small))).values():
        work()
    return compared(engine, str(log), *engine.table(str(log)))


SMALL, USUAL = 10**4, 10**7  # events
HAS_SPARK = bool(find_spec("pyspark") and shutil.which("java"))
MEGABYTES = 4295  # 4 GiB
BY_HAND = Goal(times=1.2, floor="hand", megabytes=MEGABYTES)
WITHIN = Goal(floor="bare", megabytes=MEGABYTES)


def rows_of(folder: Path, events: int) -> Iterator[Row]:
    """Yield a row for each engine that is installed, on one log; DuckDB on other shapes too."""
    large, most = events > USUAL, max(120, events // 40_000)
    rounds, goal = (1, WITHIN) if large else (3, BY_HAND)
    for shape in [TEXTS] if large else SHAPES:
        make = partial(on_duckdb, partial(made_log, folder, shape, events), by_hand=not large)
        yield Row(f"DuckDB, {shape}", make, goal, rounds, most)
    if HAS_SPARK:  # a JVM that counted a little log before
        logs = partial(made_log, folder, TEXTS)
        yield Row("Spark", lambda: on_spark(logs(events), logs(SMALL)), WITHIN, 1, most)


def measured(folder: Path, events: int) -> bool:
    """Run all rows of a size, and remove its logs."""
    title = f"{events:.0e} events, at most {DELTA} items a person, {LIMIT} rows"
    kept = run(title, rows_of(folder, events))
    for log in folder.glob("*.parquet"):
        log.unlink()
    return kept


def main(sizes: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="askew-counting-") as name:
        events = [int(float(size)) for size in sizes] or [USUAL]
        kept = [measured(Path(name), number) for number in events]
    finish(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
