"""Releases whose Spark fails after the charge; a program for test_spark_counts.py.

Run in a folder with log.parquet and other.parquet. Says as JSON the exit code, standard output and
standard error of each command: one that opens the ledger, and a release for each failure. What the
engine itself writes to standard error, from another process or from C, comes before that.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from askew_server.cli import main as cli
from askew_server.cli import release_run
from askew_server.counting.engines.spark import SparkEngine
from askew_server.release.forecast import SimulatedBits

BUDGET = ("ledger", "open", "--dataset", "plays", "--epsilon", "40", "--delta", "1/100")
ASKED = ("--epsilon", "1", "--delta", "1e-6")


def run(arguments: list[str]) -> tuple[int, str, str]:
    """One command, as the console would run it."""
    sys.argv = ["askew-server", *arguments]
    code = 0
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


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
    setattr(release_run, "SystemBits", lambda: SimulatedBits(1))  # noqa: B010 (whose secret is known)
    sys.stdout.write(json.dumps([run([*BUDGET]), *map(failing, FAILURES)]))
