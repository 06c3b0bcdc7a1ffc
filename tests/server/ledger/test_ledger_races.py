"""Several processes and threads of an operator at once: one lock decides what the caps allow."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from server.ledger.scenes import (
    ENVIRONMENT,
    TERMS,
    budget_of,
    new_ledger,
    open_ledger,
    request,
)

from askew.dp.analyst import AnalystUsage
from askew.errors import AskewError
from askew_server.ledger.store import write_ahead

# Waits until it is told to go, so that all of them go at once.
RIVAL = """
import json, sys
from fractions import Fraction
from pathlib import Path
from askew.errors import AskewError
from server.ledger.scenes import answer, open_ledger

folder, number = sys.argv[1:]
ledger = open_ledger(Path(folder))

def spend(n):
    try:
        return type(ledger.charge(answer(f"{number} {n}", 4))).__name__
    except AskewError as error:
        return type(error).__name__

print("ready", flush=True)
sys.stdin.readline()
print(json.dumps([spend(n) for n in range(3)]), flush=True)
"""


def race(folder: Path) -> Counter[str]:
    """What the charges of eight rivals came to."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(folder), str(number)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    assert {rival.stdout.readline() for rival in running if rival.stdout} == {"ready\n"}
    for rival in running:
        if rival.stdin:
            rival.stdin.write("go\n")
            rival.stdin.flush()
    answers = [json.loads(rival.communicate(timeout=100)[0]) for rival in running]
    return Counter(word for words in answers for word in words)


def test_eight_processes_never_pass_the_terms_of_an_analyst(tmp_path: Path) -> None:
    """20 symbols, 4 a call."""
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
    assert race(tmp_path) == {"Charge": 5, "BudgetExceeded": 19}
    with open_ledger(tmp_path) as ledger:
        assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=20, calls=5)


def test_eight_threads_of_one_ledger_never_pass_the_cap(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:

        def spend(number: int) -> str:
            try:
                return type(ledger.charge(request(str(number)))).__name__
            except AskewError as error:
                return type(error).__name__

        with ThreadPoolExecutor(8) as pool:
            answers = Counter(pool.map(spend, range(24)))
        assert answers == {"Charge": 10, "BudgetExceeded": 14}


class Hurried:
    """A file whose journal another process is changing, the first so many times."""

    def __init__(self, times: int) -> None:
        self.heard: list[str] = []
        self._times = times

    def execute(self, sql: str) -> Hurried:
        self.heard.append(sql)
        if sql == WAL and self.heard.count(sql) <= self._times:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return self

    def fetchone(self) -> tuple[str]:
        return ("delete",)


WAL = "PRAGMA journal_mode = WAL"


def test_who_finds_the_journal_being_changed_waits_and_tries_again() -> None:
    """SQLite does not wait there, so of several who open a new ledger at once one might fail."""
    database = Hurried(2)
    write_ahead(cast("sqlite3.Connection", database))
    changes = [sql for sql in database.heard if sql != "PRAGMA journal_mode"]
    assert changes == [WAL, *["BEGIN IMMEDIATE", "ROLLBACK", WAL] * 2]
