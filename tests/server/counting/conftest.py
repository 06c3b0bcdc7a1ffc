"""Real engines, each started once, by the first test that needs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from server.counting.availability import QUICK_JVM, require_postgres

from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.counting.engines.spark import SparkEngine


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    """DuckDB as it is by default."""
    engine = DuckDBEngine()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """Spark in this machine, once, and small."""
    with tempfile.TemporaryDirectory(prefix="askew-spark-") as folder:
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.warehouse.dir": folder,
            "spark.local.dir": folder,
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in QUICK_JVM.items():
                patch.setenv(name, value)
            engine = SparkEngine("local[2]", settings=settings)
        yield engine
        engine.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server of our own, on a socket that only it has.

    Its locale orders text as English does, so that an order by bytes must be asked for.
    """
    # A socket's path is short, and pytest's own folders are closed to other accounts.
    with (
        tempfile.TemporaryDirectory(prefix="askew-pg-", dir="/tmp") as name,
        cluster(require_postgres(), Path(name)),
    ):
        yield f"host={name} user=askew dbname=postgres"


@contextmanager
def cluster(programs: Path, folder: Path) -> Iterator[None]:
    """A server with its data and its socket in a folder. PostgreSQL refuses to run as root."""
    data = str(folder / "data")
    nobody = "nobody" if os.geteuid() == 0 else None
    if nobody:
        shutil.chown(folder, nobody)

    def run(program: str, *arguments: str) -> None:
        # pg_ctl leaves a server behind that would keep a pipe open: its words go to a file.
        log = folder / "log"
        with log.open("ab") as words:
            subprocess.run(
                [str(programs / program), *arguments],
                check=True,
                user=nobody,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
            )

    english = ("--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8", "-E", "UTF8")
    run("initdb", "-D", data, "-U", "askew", "--auth=trust", "--no-sync", *english)
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c autovacuum=off"
    run("pg_ctl", "-D", data, "-w", "-o", settings, "start")
    try:
        yield
    finally:
        run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
