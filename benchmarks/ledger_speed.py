"""Charges per second of the ledger, beside SQLite's own commits with full syncs on the same disk.

    .venv/bin/python -m benchmarks.ledger_speed [DIRECTORY]

An act waits for three syncs: the announcement in the anchor, which has to be there before the row;
the commit; and the line that keeps the row, before its caller may draw. Charges that arrive
together share them. Medians of five rounds; the goal is half of SQLite's rate for 16 that arrive
together, on a disk that takes a millisecond a sync or more: on a faster one, or one that only says
that it syncs, the CPU decides, and nothing is judged.

Then the CPU of a charge, in memory where there is some: what a sync takes is the disk's, and three
of SQLite's commits have as many. The goal is .2 ms, one after the other and 16 at a time.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from benchmarks.rows import OURS, Goal, Row, Work, finish, run

from askew.dp.analyst import PayWhatYouGet
from askew.dp.composition import Loss, PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE, BoundedRange, PureDP
from askew_server.ledger import ChargeRequest, Ledger

ROUNDS, COMMITS, CHARGES, THREADS = 5, 60, 160, (1, 4, 16, 64)
GOAL, FAST = 0.5, 1000
TOGETHER, MILLISECONDS = 16, 0.2  # of CPU a charge
MEMORY = Path("/dev/shm")
CAP = PrivacyFilter(epsilon=Fraction(10**6), delta=Fraction(1, 100), slack=Fraction(1, 10**9))
LOSS = PureDP(Fraction(1, 1000), ADD_OR_REMOVE_ONE)
LISTS = BoundedRange(Fraction(1, 1000), 20, Fraction(0), ADD_OR_REMOVE_ONE)
NUMBERS = count()


def opened(folder: Path) -> Ledger:
    book = Ledger(folder / "ledger.sqlite", folder / "anchor")
    book.open_dataset("films", "1", CAP, "one person", ADD_OR_REMOVE_ONE)
    return book


def bare(folder: Path) -> sqlite3.Connection:
    """One table, in a file whose every commit is synced."""
    database = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE rows (a, b, c)")
    return database


def rate(work: Callable[[], object], times: int) -> tuple[float, float]:
    """Times per second, and milliseconds of CPU each."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return times / (time.perf_counter() - started), 1000 * (time.process_time() - used) / times


def request(loss: Loss = LOSS) -> ChargeRequest:
    key = str(next(NUMBERS))
    return ChargeRequest(dataset="films", version="1", key=key, digest=bytes(32), loss=loss)


def commits(database: sqlite3.Connection, times: int = COMMITS) -> None:
    for number in range(times):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, bytes(32), "1/1000"))
        database.execute("COMMIT")


def charges(book: Ledger, threads: int) -> None:
    wanted = [[request() for _ in range(CHARGES // threads)] for _ in range(threads)]
    each = [Thread(target=lambda own=own: [book.charge(one) for one in own]) for own in wanted]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()


def rates(folder: Path) -> bool:
    """Whether charges that arrive together reach half of SQLite's rate."""
    floors: list[float] = []
    ours: dict[int, list[tuple[float, float]]] = {threads: [] for threads in THREADS}
    with closing(bare(folder)) as database, opened(folder) as book:
        for _ in range(ROUNDS):
            floors.append(rate(lambda: commits(database), COMMITS)[0])
            for threads, found in ours.items():
                found.append(rate(partial(charges, book, threads), CHARGES))
    floor = median(floors)
    print(f"SQLite, a commit each     {floor:8.0f} a second")
    for threads, found in ours.items():
        speed, used = (median(each) for each in zip(*found, strict=True))
        share = f"{speed / floor:5.2f} of it, {used:.2f} ms of CPU a charge, syncs among it"
        print(f"{threads:3} charges at a time    {speed:8.0f} a second, {share}")
    reached = median(speed for speed, _ in ours[TOGETHER]) / floor
    print(f"{TOGETHER} at a time: {reached:.2f} of SQLite's rate, goal {GOAL:g}")
    if floor > FAST:
        print("this disk syncs too fast to judge by; name another directory")
        return True
    return reached >= GOAL


def one(folder: Path, loss: Loss) -> Mapping[str, Work]:
    database, book = bare(folder), opened(folder)
    return {
        "floor": lambda: commits(database, 1),
        "three commits": lambda: commits(database, 3),
        OURS: lambda: book.charge(request(loss)),
    }


def several(folder: Path) -> Mapping[str, Work]:
    database, book = bare(folder), opened(folder)
    pool = ThreadPoolExecutor(TOGETHER)

    def together() -> None:
        list(pool.map(book.charge, [request() for _ in range(TOGETHER)]))

    return {"floor": lambda: commits(database, TOGETHER), OURS: together}


def asked(folder: Path) -> Mapping[str, Work]:
    """An analyst's questions, whose answers so far are counted for each."""
    database, book = bare(folder), opened(folder)
    tiny, terms = Fraction(1, 10**9), dict[str, Any](k_star=10**6, l_star=10**5)
    granted = PayWhatYouGet(**terms, epsilon=Fraction(1, 100), delta=tiny / 10**5, slack=tiny)
    book.grant("films", "ada", granted)

    def question() -> object:
        return book.charge(replace(request(granted.answer(1)), principal="ada"))

    return {"floor": lambda: commits(database, 1), OURS: question}


def cpu(folder: Path) -> bool:
    goal = Goal(milliseconds=MILLISECONDS)
    kinds: dict[str, Loss] = {"pure": LOSS, "zCDP": LISTS}
    rows = [
        Row(f"a charge, {name}", partial(one, fresh(folder), loss), goal)
        for name, loss in kinds.items()
    ]
    rows.append(Row("an analyst's question", partial(asked, fresh(folder)), Goal()))
    most = Goal(milliseconds=TOGETHER * MILLISECONDS)
    rows.append(Row(f"{TOGETHER} charges together", partial(several, fresh(folder)), most))
    return run("CPU of the ledger", rows)


def fresh(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


if __name__ == "__main__":
    parent = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as scratch:
        kept = [rates(Path(scratch))]
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else parent) as scratch:
        kept.append(cpu(Path(scratch)))
    finish(kept)
