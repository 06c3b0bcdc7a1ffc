"""What a benchmark says of a row: its goal is judged, and a slow row does not stop the others."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.rows import Goal, Row, Work, finish, run

BUSY = "import time\nwhile time.process_time() < .4: pass"


def spin(turns: int) -> Work:
    return lambda: sum(range(turns))


def forever() -> None:
    while True:
        sum(range(1000))


def row(name: str, ours: Work, goal: Goal, **limits: Any) -> Row:
    return Row(name, lambda: {"floor": spin(20_000), "ours": ours}, goal, **limits)


def test_a_row_within_its_goal_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sums", [row("as much", spin(20_000), Goal(times=3))])
    assert "kept; goal 3 times floor" in capsys.readouterr().out


def test_a_row_beyond_its_goal_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert not run("sums", [row("ten times", spin(200_000), Goal(times=3))])
    assert "times floor, not 3" in capsys.readouterr().out


def test_a_row_that_holds_too_much_memory_fails_the_run() -> None:
    # A row begins with what this process has now, whatever it or its children had at their peak.
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    goal = Goal(megabytes=resident / 1e6 + 100)
    assert run("sums", [row("small", lambda: bytes(1_000_000), goal)])
    assert not run("sums", [row("large", lambda: b"1" * 300_000_000, goal)])


def test_a_row_that_never_ends_is_stopped_and_the_next_one_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        row("slow", forever, Goal(), seconds=1, rounds=2),
        row("next", spin(1000), Goal(times=3)),
    ]
    assert not run("sums", rows)
    said = capsys.readouterr().out
    assert "stopped after 1 s of CPU" in said
    assert "kept; goal 3 times floor" in said


def test_a_row_that_is_stopped_before_its_floor_fails_and_the_next_one_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stopped = Row(
        "slow floor", lambda: {"ours": spin(10), "floor": forever}, Goal(times=2), 1, seconds=1
    )
    assert not run("sums", [stopped, row("next", spin(1000), Goal(times=3))])
    said = capsys.readouterr().out
    assert "floor was not measured; stopped after 1 s of CPU" in said
    assert "kept; goal 3 times floor" in said


def test_what_a_row_starts_counts_towards_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Planted bug: each process has the seconds for itself, and a row of many has no end."""

    def start() -> object:
        return subprocess.run([sys.executable, "-c", BUSY], check=True)

    many = row("many", start, Goal(), rounds=50, seconds=1)
    assert not run("processes", [many])
    assert "stopped after 1 s of CPU" in capsys.readouterr().out


def test_a_benchmark_without_a_row_measured_nothing() -> None:
    assert not run("sums", [])


def test_a_row_that_fails_is_no_row_that_is_kept() -> None:
    assert not run("sums", [row("broken", lambda: 1 // 0, Goal())])


def test_a_benchmark_with_a_missed_goal_ends_with_a_status() -> None:
    with pytest.raises(SystemExit):
        finish([True, False])
    finish([True, True])


WORKS = """
import time
held = bytearray(200_000_000)
while time.process_time() < 0.5:
    pass
print(flush=True)
input()
"""
STARTS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKS!r}])"
COUNTS = f"""
import subprocess, sys
from benchmarks.rows import cpu_seconds, peak_megabytes, running_peak, running_seconds
began = cpu_seconds()
command = [sys.executable, "-c", {STARTS!r}]
child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
assert running_seconds() >= 0.45
assert cpu_seconds() - began >= 0.45
assert 200 < running_peak() < 1000
assert peak_megabytes() > 200
child.communicate(b"\\n")
assert running_seconds() == 0
assert cpu_seconds() - began >= 0.45, "it is counted among those that were waited for"
"""


def test_of_a_process_of_a_process_while_it_runs_and_when_it_is_over() -> None:
    """Planted bug: children alone. In a process of its own, which starts nothing else."""
    subprocess.run([sys.executable, "-c", COUNTS], check=True)
