"""Who stops a command that reads ratings ends it, and takes along what it had copied."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from askew_server.ratings.queries import database

STOPPED = """
import os, signal
from pathlib import Path
from askew_server.cli.main import main
from askew_server.ratings import lines, reader

def stopped(out, block):
    out.write(block)
    assert list(Path(os.environ["TMPDIR"]).glob("askew-ratings-*/plain"))
    os.kill(os.getpid(), signal.SIGTERM)
    return True

lines._written, reader.LEAST_BYTES = stopped, 0
main()
"""


@pytest.fixture(autouse=True)
def way() -> str:
    """Only columns make copies."""
    return "columns"


def test_a_training_that_is_stopped_leaves_no_copy_of_ratings(tmp_path: Path) -> None:
    """Planted bug: SIGTERM ends the process at once."""
    path, copies = tmp_path / "ratings.csv.gz", tmp_path / "copies"
    copies.mkdir()
    path.write_bytes(gzip.compress(b"user,item,rating\n1,2,3\n"))
    command = ["train", "--ratings", str(path), "--out", str(tmp_path / "model")]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, *command],
        env=os.environ | {"TMPDIR": str(copies)},
        check=False,
    )
    assert (done.returncode, list(copies.iterdir())) == (143, [])


def test_ctrl_c_while_duckdb_works_is_ctrl_c(tmp_path: Path) -> None:
    """DuckDB makes it a RuntimeError, whose traceback nobody asked for, or sees it in the end."""

    def asked() -> None:
        timer = Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with database(tmp_path) as connection:
            timer.start()
            connection.execute("SELECT sum(hash(i)) FROM range(100_000_000) t(i)")
            timer.join()

    with pytest.raises(KeyboardInterrupt):
        asked()
