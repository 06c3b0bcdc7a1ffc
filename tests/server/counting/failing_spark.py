"""Releases whose Spark fails after the charge; a program for test_spark_counts.py.

Run in a folder with log.parquet and other.parquet. Says as JSON what each command said, as
`seeded_commands` does: one that opens the ledger, and a release for each failure.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from server.counting.release_contract import BUDGET
from server.counting.seeded_commands import SeededBits, run

from askew_server.cli import release_run
from askew_server.counting.engines.spark import SparkEngine

ASKED = ("--epsilon", "1", "--delta", "1e-6")


def drop_view(engine: SparkEngine) -> None:
    for view in engine._views.values():
        engine._session.catalog.dropTempView(view)


def remove_file(_: SparkEngine) -> None:
    Path("log.parquet").unlink()


def lose_the_jvm(_: SparkEngine) -> None:
    """While it hands over rows: of the first, half has come."""
    from pyspark import SparkContext
    from pyspark.serializers import FramedSerializer

    def half_read(*_: object) -> None:
        process = SparkContext._gateway.proc
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        raise EOFError

    setattr(FramedSerializer, "_read_with_length", half_read)  # noqa: B010


FAILURES: dict[str, tuple[str, Callable[[SparkEngine], None]]] = {
    # First: whoever logs keeps the standard error that it finds first.
    "a view that is gone": ("log.parquet", drop_view),
    "a file that is gone": ("log.parquet", remove_file),
    "a JVM that is gone": ("other.parquet", lose_the_jvm),
}


def failing(name: str) -> tuple[int, str, str]:
    """A release that fails when its statement is asked: it alone has a parameter."""
    events, break_it = FAILURES[name]
    execute = SparkEngine.execute

    def broken(self: SparkEngine, sql: str, parameters: Mapping[str, str] | None = None) -> Any:
        if parameters:
            break_it(self)
        return execute(self, sql, parameters)

    setattr(SparkEngine, "execute", broken)  # noqa: B010
    try:
        return run(["release", "--events", events, "--as-of", name, *ASKED])
    finally:
        setattr(SparkEngine, "execute", execute)  # noqa: B010


if __name__ == "__main__":
    setattr(release_run, "SystemBits", lambda: SeededBits(1))  # noqa: B010 (whose secret is known)
    sys.stdout.write(json.dumps([run([*BUDGET]), *map(failing, FAILURES)]))
