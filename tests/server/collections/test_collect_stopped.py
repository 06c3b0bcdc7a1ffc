"""Who stops a command that reads a collection ends it in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STOPPED = """
import os, signal
from askew_server.cli.main import main
from askew_server.collections import intake

intake._plain = lambda _: os.kill(os.getpid(), signal.SIGTERM)
main()
"""


def test_a_collection_that_is_stopped_leaves_no_model(tmp_path: Path) -> None:
    """Planted bug: SIGTERM ends the process at once."""
    file, out = tmp_path / "cafes.csv", tmp_path / "model"
    file.write_text("name,latitude,longitude\nA,50,10\n")
    command = ["collect", "--region", "47/5/55/16", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, *command, "--collection", f"cafes={file}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, out.exists()) == (143, False), done.stderr
    assert done.stderr.splitlines()[-1] == "stopped"
