"""Ctrl-C while a file of items or towns is read is Ctrl-C, at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from time import process_time

import duckdb
import pytest
from small_collections import GERMANY

from askew_server.collections import reading
from askew_server.collections.reading import CollectionFile, Told, read_collection, read_towns

LONG = "SELECT sum(hash(i)) FROM range(10_000_000_000) t(i)"
"""It would take most of a minute."""


def interrupt(_: float) -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    "read",
    [
        lambda path, told: read_collection(
            CollectionFile("cafes", path, "made"), GERMANY, (), told
        ),
        lambda path, told: read_towns(path, GERMANY, "made", told),
    ],
    ids=["items", "towns"],
)
def test_ctrl_c_ends_what_duckdb_works_at_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path, Told], object]
) -> None:
    """Planted bug: the statements in the thread that asks, where DuckDB makes a RuntimeError of
    it.
    """

    def endless(_: Path, connection: duckdb.DuckDBPyConnection) -> None:
        assert list(tmp_path.iterdir())
        connection.execute(LONG)

    monkeypatch.setattr(reading, "rows_of", endless)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    began = process_time()
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path / "cafes.csv", Told(share=interrupt))
    assert (gettempdir(), list(tmp_path.iterdir())) == (str(tmp_path), [])
    assert process_time() - began < 5


STOPPED = f"""
import os, signal
from pathlib import Path
from threading import Timer
from askew_server.cli.main import main
from askew_server.collections import reading

def endless(path, connection):
    assert list(Path(os.environ["TMPDIR"]).iterdir())
    Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    connection.execute("{LONG}")

reading.rows_of = endless
main()
"""


def test_a_collection_that_is_stopped_leaves_no_folder_and_no_model(tmp_path: Path) -> None:
    """Planted bug: SIGTERM ends the process at once."""
    folders = tmp_path / "folders"
    folders.mkdir()
    command = ["collect", "--region", "47/5/55/16", "--out", str(tmp_path / "model")]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, *command, "--collection", "cafes=cafes.csv"],
        env=os.environ | {"TMPDIR": str(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, [*tmp_path.rglob("*")]) == (143, [folders]), done.stderr
    assert done.stderr.splitlines()[-1] == "stopped"
