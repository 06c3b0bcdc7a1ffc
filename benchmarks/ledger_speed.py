"""Charges per second of the ledger, beside SQLite's own commits with full syncs on the same disk.

    .venv/bin/python benchmarks/ledger_speed.py [DIRECTORY]

An act waits for three syncs: the announcement in the anchor, which has to be there before the row;
the commit; and the line that keeps the row, before its caller may draw. One after the other they
cost a third of SQLite's rate; charges that arrive together share them. Medians of five rounds; the
goal is half of SQLite's rate for 16 that arrive together, on a disk that takes a millisecond a sync
or more: on a faster one, or one that only says that it syncs, the CPU decides, and nothing is
judged.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

from askew.odometer import PrivacyBudget
from askew.privacy import ADD_OR_REMOVE_ONE, PureDP
from askew_server.ledger import ChargeRequest, Ledger

ROUNDS, COMMITS, CHARGES, THREADS = 5, 60, 160, (1, 4, 16, 64)
GOAL, FAST = 0.5, 1000
CAP = PrivacyBudget(epsilon=Fraction(10**6))
LOSS = PureDP(Fraction(1, 1000), ADD_OR_REMOVE_ONE)
NUMBERS = count()


def rate(work: Callable[[], object], times: int) -> tuple[float, float]:
    """Times per second, and milliseconds of CPU each."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return times / (time.perf_counter() - started), 1000 * (time.process_time() - used) / times


def request() -> ChargeRequest:
    key = str(next(NUMBERS))
    return ChargeRequest(dataset="films", version="1", key=key, digest=bytes(32), loss=LOSS)


def commits(database: sqlite3.Connection) -> None:
    for number in range(COMMITS):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, bytes(32), "1/1000"))
        database.execute("COMMIT")


def charges(book: Ledger, threads: int) -> None:
    wanted = [request() for _ in range(CHARGES)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(book.charge, wanted))


def main(folder: Path) -> bool:
    bare: list[float] = []
    ours: dict[int, list[tuple[float, float]]] = {threads: [] for threads in THREADS}
    database = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    with closing(database), Ledger(folder / "ledger.sqlite", folder / "anchor") as book:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE rows (a, b, c)")
        book.open_dataset("films", "1", CAP, "one person", ADD_OR_REMOVE_ONE)
        for _ in range(ROUNDS):
            bare.append(rate(lambda: commits(database), COMMITS)[0])
            for threads, found in ours.items():
                found.append(rate(partial(charges, book, threads), CHARGES))
    floor = median(bare)
    print(f"SQLite, a commit each     {floor:8.0f} a second")
    for threads, found in ours.items():
        speed, used = (median(each) for each in zip(*found, strict=True))
        share = f"{speed / floor:5.2f} of it, {used:.2f} ms of CPU a charge"
        print(f"{threads:3} charges at a time    {speed:8.0f} a second, {share}")
    reached = median(speed for speed, _ in ours[16]) / floor
    print(f"16 at a time: {reached:.2f} of SQLite's rate, goal {GOAL:g}")
    if floor > FAST:
        print("this disk syncs too fast to judge by; name another directory")
        return True
    return reached >= GOAL


if __name__ == "__main__":
    parent = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as scratch:
        sys.exit(not main(Path(scratch)))
