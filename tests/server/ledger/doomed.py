"""A process that dies by SIGKILL at a named step of a charge or of its release.

Run as a program: doomed.py FOLDER PHASE WHEN STEP. Says what it did, a line each, before it dies:
"charged ID" once it may draw, "drawn PAYLOAD", "published PAYLOAD" once it may publish.
A step is the beginning of an SQL statement, or a line of the anchor: "announced", which is written
before the commit, or "kept", after it. WHEN is before or after it, or "in", which writes half of
the line.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from server.ledger.scenes import answer, open_ledger

from askew_server.ledger import Charge, anchor

LINES = {b'{"ann': "announced", b'{"seq': "kept"}
_connect, _write_all = sqlite3.connect, anchor._write_all


def say(word: str, what: object) -> None:
    os.write(1, f"{word} {what}\n".encode())


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(when: str, step: str) -> None:
    """From now on, the step is deadly."""

    def reached(point: str, name: str) -> None:
        if point == when and name.split("\n", maxsplit=1)[0].strip().startswith(step):
            die()

    class Doomed(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            reached("before", sql)
            cursor = super().execute(sql, *rest)
            reached("after", sql)
            return cursor

    def write(file: int, content: bytes, offset: int) -> None:
        line = LINES.get(content[:5], "")
        reached("before", line)
        if (when, line) == ("in", step):
            _write_all(file, content[: len(content) // 2], offset)
        reached("in", line)
        _write_all(file, content, offset)
        reached("after", line)

    sqlite3.connect = lambda *a, **k: _connect(*a, **{**k, "factory": Doomed})
    anchor._write_all = write


def main(folder: Path, phase: str, when: str, step: str) -> None:
    """One answer to an analyst, from the request to the published bytes."""
    if phase == "charge":
        arm(when, step)
    with open_ledger(folder) as ledger:
        charge = ledger.charge(answer("q1", 5))
        assert isinstance(charge, Charge)
        say("charged", charge.id)
    payload = os.urandom(8)
    say("drawn", payload.hex())
    if phase == "fulfill":
        arm(when, step)
    with open_ledger(folder) as ledger:
        ledger.fulfill(charge.id, payload, outputs=2)
    say("published", payload.hex())
    die()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
