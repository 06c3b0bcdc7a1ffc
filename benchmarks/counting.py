"""Bounded counting on DuckDB beside the engine's bare query, and within 4 GiB.

    python benchmarks/counting.py        10^7 events, medians of 5 rounds in one process
    python benchmarks/counting.py 1e8    also so many rows on disk, one run each, with its peak RSS

bare   SELECT item, COUNT(DISTINCT unit) ... ORDER BY ... LIMIT: no bound on contributions
hand   our statement, run by hand
ours   count_top: column types, missing ids, the statement
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import duckdb

from askew_server.counting import ContributionBound, CountingTask, count_top
from askew_server.counting.engines.duckdb import DuckDBEngine

ROUNDS, ROWS, LIMIT, DELTA = 5, 10_000_000, 1001, 10
KEY = bytes(range(32))
BARE = f"""SELECT item, COUNT(DISTINCT unit) AS n FROM events
           GROUP BY item ORDER BY n DESC, item LIMIT {LIMIT}"""
# A tenth as many people as events, active by a power law, 10^5 items, popular by another.
PERSON = "floor({people} * pow((hash(i) % 1000000007) / 1000000007.0, 1.5))::BIGINT"
ITEM = "floor(100000 * pow((hash(i + {rows}) % 1000000007) / 1000000007.0, 3))::BIGINT"
SHAPES = {
    "text ids": f"'person-' || {PERSON} AS unit, 'item-' || {ITEM} AS item",
    "integer ids": f"{PERSON} AS unit, {ITEM} AS item",
    # As a log has them: who comes back to an item makes another event.
    "text ids, each event 3 times": (
        f"'person-' || {PERSON} AS unit, 'item-' || {ITEM} AS item".replace("(i", "(i // 3")
    ),
}
MEMORY = "3GB"  # leaves a quarter of 4 GiB to what DuckDB does not count


def generate(path: Path, shape: str, rows: int) -> None:
    """Events in a parquet file."""
    columns = SHAPES[shape].format(people=rows // 10, rows=rows)
    with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": f"{path}.tmp"}) as made:
        made.execute("SET preserve_insertion_order = false")
        made.execute(f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{path}'")


def task(path: Path) -> CountingTask:
    return CountingTask(events=str(path), bound=ContributionBound(DELTA), limit=LIMIT)


class Listening(DuckDBEngine):
    """Remembers the last statement that it was asked."""

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> list[tuple[object, ...]]:
        self.asked = sql
        return super().execute(sql, parameters)


def medians(work: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Seconds on the clock and of CPU, for each; the rounds take turns."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, run in work.items():
            clock, cpu = time.perf_counter(), time.process_time()
            run()
            taken[name].append((time.perf_counter() - clock, time.process_time() - cpu))
    return {
        name: (median(clock for clock, _ in each), median(cpu for _, cpu in each))
        for name, each in taken.items()
    }


def side_by_side(folder: Path) -> None:
    print(f"{ROWS:.0e} events, at most {DELTA} items a person, {LIMIT} rows; medians of {ROUNDS}")
    print(f"{'':30} {'bare s':>8} {'hand s':>8} {'ours s':>8} {'/bare':>7} {'/hand':>7}  CPU /bare")
    for shape in SHAPES:
        path = folder / f"{shape}.parquet"
        generate(path, shape, ROWS)
        taken = medians(contenders(path))
        bare, hand, ours = (taken[name] for name in ("bare", "hand", "ours"))
        print(
            f"{shape:30} {bare[0]:8.2f} {hand[0]:8.2f} {ours[0]:8.2f}"
            f" {ours[0] / bare[0]:7.2f} {ours[0] / hand[0]:7.2f}  {ours[1] / bare[1]:9.2f}",
            flush=True,
        )
        path.unlink()


def contenders(path: Path) -> dict[str, Callable[[], object]]:
    engine = Listening()
    count_top(engine, task(path), KEY)
    sql = engine.asked
    by_hand = duckdb.connect()
    for view in ("events", *engine.table(str(path))):
        by_hand.execute(f"CREATE VIEW {view} AS FROM '{path}'")
    return {
        "bare": lambda: by_hand.execute(BARE).fetchall(),
        "hand": lambda: by_hand.execute(sql, {"secret": "0" * 32}).fetchall(),
        "ours": lambda: count_top(engine, task(path), KEY),
    }


def within_memory(folder: Path, rows: int) -> None:
    path = folder / "large.parquet"
    generate(path, "text ids", rows)
    print(f"\n{rows:.0e} rows, {path.stat().st_size / 2**30:.2f} GiB of parquet; limit {MEMORY}")
    for what in ("bare", "ours"):
        start = time.perf_counter()
        child = subprocess.Popen([sys.executable, __file__, what, str(path)])
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        print(f"{what:30} {seconds:8.1f} s, peak RSS {used.ru_maxrss / 2**20:.2f} GiB", flush=True)
        if child.returncode:
            sys.exit(f"{what} failed")


def one_run(what: str, path: Path) -> None:
    engine = DuckDBEngine(memory_limit=MEMORY, temp_directory=path.with_suffix(".tmp"))
    if what == "ours":
        count_top(engine, task(path), KEY)
    else:
        [view] = engine.table(str(path))
        engine.execute(BARE.replace("FROM events", f"FROM {view}"))
    engine.close()


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["bare"], ["ours"]):
        one_run(arguments[0], Path(arguments[1]))
        return
    with tempfile.TemporaryDirectory(prefix="askew-counting-") as name:
        side_by_side(Path(name))
        for rows in arguments:
            within_memory(Path(name), int(float(rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
