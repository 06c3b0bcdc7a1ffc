"""Who stops a command that reads ratings ends it in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

STOPPED = """
import os, signal
from askew_server.cli.main import main
from askew_server.ratings import columns

columns.Judge.judged = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
main()
"""


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_command_that_is_stopped_while_it_reads_ends_in_order(
    tmp_path: Path, command: str
) -> None:
    """Planted bug: SIGTERM ends the process at once, without a word."""
    path = tmp_path / "ratings.parquet"
    select = 'SELECT 1 AS "user", 2 AS item, 3 AS rating'
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    options = ["--ratings", str(path), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, command, *options],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "stopped" in done.stderr) == (143, True)
