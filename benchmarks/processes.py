"""Processes that this one started and that still run: their CPU and their memory, as Linux says.

What was waited for stands in RUSAGE_CHILDREN; a JVM or a server of a database is not waited for
before it is stopped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _WAITED = 11, 15  # fields of /proc/PID/stat after the name, which are utime and after cstime


def descendants(pid: int) -> Iterator[int]:
    """Children of a process, theirs, and so on."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _read(listed).split()):
            yield child
            yield from descendants(child)


def running_seconds() -> float:
    """CPU of all of them, and of those that they waited for."""
    return sum(map(_seconds, descendants(os.getpid())))


def running_peak() -> float:
    """Megabytes that the largest of them had at most."""
    return max(map(_peak, descendants(os.getpid())), default=0.0)


def _seconds(pid: int) -> float:
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[_USER:_WAITED])) / _TICKS


def _peak(pid: int) -> float:
    lines = _read(Path(f"/proc/{pid}/status")).splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def _read(path: Path) -> str:
    """Its text, none if the process is gone."""
    try:
        return path.read_text()
    except OSError:
        return ""
