"""A benchmark counts the CPU and the memory of what it started and did not wait for."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.rows import cpu_seconds, peak_megabytes, running_peak, running_seconds

WORKS = """
import time
held = bytearray(200_000_000)
while time.process_time() < 0.5:
    pass
print(flush=True)
input()
"""
STARTS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKS!r}])"


def test_of_a_process_of_a_process_while_it_runs_and_when_it_is_over() -> None:
    """Planted bug: children alone."""
    before, began = running_seconds(), cpu_seconds()
    command = [sys.executable, "-c", STARTS]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert running_seconds() - before >= 0.45
    assert cpu_seconds() - began >= 0.45
    assert 200 < running_peak() < 1000
    assert peak_megabytes() > 200
    child.communicate(b"\n")
    assert running_seconds() <= before + 0.1
    assert cpu_seconds() - began >= 0.45, "it is counted among those that were waited for"
