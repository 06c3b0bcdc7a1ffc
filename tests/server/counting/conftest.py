"""Real engines, each started once, by the first test that needs it. Where one is not installed, its
tests are skipped, saying what to get, or fail in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.counting.engines.spark import SparkEngine

# A JVM that lives for a minute pays for compiling well, and for collecting in parallel.
QUICK_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def require_driver(module: str) -> None:
    """Leaves a test module unless the Python package is installed."""
    if find_spec(module) is None:
        _unavailable(f"the Python package {module} is not installed; get it by: make engines")


def require_java() -> None:
    """Leaves a test module unless Spark could start."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        _unavailable("Spark needs java; get it by: apt-get install default-jre-headless")


def require_postgres() -> Path:
    """The folder of initdb and pg_ctl, which Debian keeps off the path."""
    if program := shutil.which("pg_ctl"):
        return Path(program).resolve().parent
    if folders := sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")):
        return folders[-1].parent
    return _unavailable("PostgreSQL is not installed; get it by: apt-get install postgresql")


def _unavailable(message: str) -> Path:
    if os.environ.get("ASKEW_ENGINES") == "require":
        raise RuntimeError(f"ASKEW_ENGINES=require, but {message}")
    pytest.skip(message, allow_module_level=True)


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
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
