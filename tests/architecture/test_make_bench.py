"""`make bench` runs to its end whatever one part says, and then says which were beyond a limit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    "placement_speed",
    "selection",
    "device_step",
    "call_gaps",
    "near",
    "ledger_speed",
    "start_up",
    "counting",
    "stored_releases",
    "reading_speed",
    "training_scale",
    "forecast_speed",
    "device_search",
]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("failing", [[], ["placement_speed"], ["device_step", "counting"]], ids=str)
def test_every_part_runs_and_a_failure_is_told_at_the_end(
    tmp_path: Path, failing: list[str]
) -> None:
    """A python that writes down what it is given, and fails for some scripts.

    Planted bugs: parts as prerequisites, of which the first failure stops the rest; a loop that
    forgets the failures.
    """
    python, log = tmp_path / "python", tmp_path / "log"
    named = '[ "$1" = -m ] && shift; name=${1%.py}; name=${name##*[./]}'  # a file or a module
    ends = f'case "$name" in {"|".join(failing) or "none"}) exit 1;; esac'
    python.write_text(f'#!/bin/sh\n{named}\necho "$name" >> "{log}"\n{ends}\n')
    python.chmod(0o755)
    stamp = tmp_path / "stamp"
    stamp.touch()
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    run = subprocess.run(
        ["make", "bench", f"BIN={tmp_path}", f"STAMP={stamp}", "-o", str(stamp)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert log.read_text().splitlines() == SCRIPTS
    assert (run.returncode != 0) == bool(failing), run.stderr
    assert ("beyond a limit, or broken:" in run.stderr) == bool(failing)
