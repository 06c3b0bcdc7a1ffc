"""Releases that die by SIGKILL; a script for test_crashes.py.

    python doomed_release.py FOLDER points            prints every point that a release passes
    python doomed_release.py FOLDER at POINT ...      in FOLDER/0, FOLDER/1 ... dies at each POINT

A folder holds ledger.sqlite, its mark, log.csv and films.csv. What is shown is
appended to its file `shown`, a line at a time, as a reader would have got it.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from askew.noise.randomness import SystemBits
from askew_server.cli import release_run
from askew_server.cli.options import Workplace
from askew_server.counting import EventSource
from askew_server.counting.engines import duckdb  # noqa: F401 (each fork would import it anew)
from askew_server.ledger import Ledger, StoredRelease, store
from askew_server.release.forecast import forecast
from askew_server.release.plan import ReleasePlan

EPSILON = Fraction(1, 100)
# What is foreseen is said before anything is at stake, and is the same for all of them.
setattr(release_run, "forecast", cache(forecast))  # noqa: B010


def release(folder: Path, as_of: str, *, again: bool = False) -> None:
    def show(stored: StoredRelease, _: bool) -> None:
        with (folder / "shown").open("ab") as file:
            file.write(stored.payload + b"\n")

    with patch.multiple(release_run, show=show, _say=lambda *_: None):
        release_run.run(
            Workplace(ledger=folder / "ledger.sqlite"),
            as_json=True,
            source=EventSource(events=str(folder / "log.csv"), catalog=str(folder / "films.csv")),
            k=3,
            epsilon=EPSILON,
            delta=Fraction(0),
            mechanism=None,
            max_items_per_unit=10,
            as_of=as_of,
            again=again,
        )


def watch(reached: Callable[[str], object]) -> None:
    """Names every step of a release, and calls `reached` with each name."""
    phase = [""]

    def named(owner: object, name: str, label: str, inside: str | None = None) -> None:
        inner = getattr(owner, name)

        def outer(*arguments: Any, **options: Any) -> Any:
            reached(f"{phase[0]}before {label}")
            phase[0] = inside or phase[0]
            result = inner(*arguments, **options)
            phase[0] = "" if inside else phase[0]
            reached(f"{phase[0]}after {label}")
            return result

        setattr(owner, name, outer)

    named(Ledger, "charge", "charge", "charge: ")
    named(Ledger, "fulfill", "fulfill", "fulfill: ")
    named(release_run, "count_events", "count")
    named(ReleasePlan, "select", "select")
    named(SystemBits, "read", "draw")
    named(store, "replace_file", "mark")

    class Doomed(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            words = " ".join(sql.split()[:3]) if sql.lstrip().startswith("INSERT") else sql.strip()
            told = phase[0] and words.startswith(("BEGIN", "INSERT", "COMMIT"))
            if told:
                reached(f"{phase[0]}before {words}")
            cursor = super().execute(sql, *rest)
            if told:
                reached(f"{phase[0]}after {words}")
            return cursor

    connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Doomed)  # type: ignore[assignment]


def fork(child: Callable[[], None]) -> int:
    """A process that has everything imported and nothing open."""
    process = os.fork()
    if not process:
        child()
        os._exit(0)
    return process


def write(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()  # before the next fork, which would write it again


def kill_at(folder: Path, points: Sequence[str]) -> None:
    def doomed(number: int, point: str) -> None:
        watch(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == point else None)
        release(folder / str(number), "key")

    release(folder / str(len(points)), "foresees")
    for number, point in enumerate(points):
        process = fork(partial(doomed, number, point))
        write(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def main(folder: Path, what: str, *points: str) -> None:
    if what == "at":
        kill_at(folder, points)
    else:
        seen: dict[str, None] = {}
        watch(seen.setdefault)
        release(folder, "points")
        write("\n".join(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
