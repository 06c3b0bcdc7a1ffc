"""Who stops a command that reads ratings ends it, and takes along the folder of DuckDB."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from time import process_time

import duckdb
import pytest

from askew_server.ratings import parquet
from askew_server.ratings.queries import answered, arrays_of, database

LONG = "SELECT sum(hash(i)) FROM range(10_000_000_000) t(i)"
"""It would take most of a minute."""

STOPPED = """
import os, signal
from pathlib import Path
from askew_server.cli.main import main
from askew_server.ratings import parquet_columns, reader

def stopped(*_):
    assert list(Path(os.environ["TMPDIR"]).glob("askew-ratings-*"))
    os.kill(os.getpid(), signal.SIGTERM)

parquet_columns.arrays_of, reader.LEAST_BYTES = stopped, 0
main()
"""


@pytest.fixture(autouse=True)
def way() -> str:
    """Only columns need a folder."""
    return "columns"


@pytest.mark.parametrize("command", [["train"], ["evaluate"]])
def test_a_command_that_is_stopped_leaves_no_folder(tmp_path: Path, command: list[str]) -> None:
    """Planted bug: SIGTERM ends the process at once."""
    path, folders = tmp_path / "ratings.parquet", tmp_path / "folders"
    folders.mkdir()
    select = 'SELECT 1 AS "user", 2 AS item, 3 AS rating'
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    command = [*command, "--ratings", str(path), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, *command],
        env=os.environ | {"TMPDIR": str(folders)},
        check=False,
    )
    assert (done.returncode, list(folders.iterdir())) == (143, [])


def test_ctrl_c_ends_what_duckdb_works_at(tmp_path: Path) -> None:
    """Planted bug: it is waited for."""
    began = process_time()

    def stopped() -> None:
        with database(tmp_path) as connection:
            Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            answered(connection, LONG)

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert process_time() - began < 5


def test_ctrl_c_is_ctrl_c_row_by_row_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a RuntimeError, which DuckDB makes of a signal in the thread that asks."""
    path = tmp_path / "ratings.parquet"
    select = 'SELECT 1 AS "user", 2 AS item, 3 AS rating'
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")

    def endless(_: str) -> str:
        Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        monkeypatch.undo()
        return f"({LONG})::VARCHAR"

    monkeypatch.setattr(parquet, "_as_text", endless)
    with pytest.raises(KeyboardInterrupt):
        next(parquet.parquet_ratings(path))


def test_how_far_a_query_is_is_told_and_who_fails_at_that_ends_it(tmp_path: Path) -> None:
    """Planted bug: DuckDB not asked to count, which it does for its bar alone."""
    began = process_time()

    def stopped(done: int, size: int) -> None:
        raise BrokenPipeError(done, size)

    with database(tmp_path) as connection, pytest.raises(BrokenPipeError) as told:
        arrays_of(connection, LONG, stopped, 10**6)
    assert (0 <= told.value.args[0] < told.value.args[1] == 10**6) is True
    assert process_time() - began < 5
