"""Rows of a benchmark: ours beside a floor and peers, each row in a process of its own.

A row that is slow is stopped after its seconds of CPU, which a busy machine does not use up, and
the others go on. Contenders take turns, medians are compared within a row, and a row fails beyond
its goal. Times and memory are of this process, of those that it waited for (RUSAGE_CHILDREN), and
of those that it started and that still run, such as a JVM or the server of a database.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from benchmarks.results import Result, record
from threadpoolctl import threadpool_limits

Work = Callable[[], object]
OURS = "ours"
_SHORT = 0.02  # seconds: work that takes less is done several times at a go


@dataclass(frozen=True)
class Goal:
    """What `ours` may take: times the floor, milliseconds of CPU, or megabytes at its peak."""

    times: float | None = None
    milliseconds: float | None = None
    megabytes: float | None = None
    floor: str = "floor"

    def misses(self, taken: Mapping[str, float], peak: float) -> list[str]:
        """Each bound that is passed, in words. `taken` in milliseconds."""
        ours, floor, missed = taken[OURS], taken.get(self.floor), []
        if self.times is not None and floor is None:
            missed.append(f"{self.floor} was not measured")
        elif self.times is not None and floor is not None and ours > self.times * floor:
            missed.append(f"{ours / floor:.2f} times {self.floor}, not {self.times:g}")
        if self.milliseconds is not None and ours > self.milliseconds:
            missed.append(f"{ours:.3g} ms, not {self.milliseconds:g}")
        if self.megabytes is not None and peak > self.megabytes:
            missed.append(f"{peak:.0f} MB, not {self.megabytes:g}")
        return missed

    def __str__(self) -> str:
        bounds = (
            (self.times, f"times {self.floor}"),
            (self.milliseconds, "ms"),
            (self.megabytes, "MB"),
        )
        return ", ".join(f"{most:g} {unit}" for most, unit in bounds if most is not None)


@dataclass(frozen=True)
class Row:
    """Contenders by name, one of them "ours", made in the row's own process by `make`."""

    name: str
    make: Callable[[], Mapping[str, Work]]
    goal: Goal = Goal()
    rounds: int = 5
    seconds: int = 60  # of CPU: of all rounds together, and of any process that it starts
    curve: str = ""  # and x: its place in a picture of growth
    x: float | None = None


def cpu_seconds() -> float:
    """Of this process, and of those that it started, whether or not it waited for them. One that
    outlives the process that started it is no longer seen.
    """
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    waited_for = others.ru_utime + others.ru_stime
    return own.ru_utime + own.ru_stime + waited_for + running_seconds()


def peak_megabytes() -> float:
    """Of this process and of the largest that it started, whichever is more."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(running_peak(), *(used.ru_maxrss * 1024 / 1e6 for used in each))


def run(title: str, rows: Iterable[Row]) -> bool:
    """Prints every row; whether there is any, and each was over in time and within its goal."""
    print(f"\n{title}", flush=True)
    kept = [_printed(title, row) for row in rows]  # every one, whatever one before it says
    return bool(kept) and all(kept)


def finish(kept: Iterable[bool]) -> None:
    """The end of a benchmark: status 1 where a row missed its goal."""
    if not all(list(kept)):
        sys.exit("beyond a goal, or stopped: see the rows marked with !")


def _printed(title: str, row: Row) -> bool:
    taken, peak, ended = _measured(row)
    floor = taken.get(row.goal.floor)
    for name, milliseconds in taken.items():
        share = f"{milliseconds / floor:9.2f} times {row.goal.floor}" if floor else ""
        print(f"  {row.name:34} {name:24} {milliseconds:11.3f} ms{share}", flush=True)
    missed = row.goal.misses(taken, peak) if OURS in taken else [ended or "ours was not measured"]
    if ended and OURS in taken:
        missed.append(ended)
    goal = f"; goal {row.goal}" if str(row.goal) else ""
    verdict = f"! {'; '.join(missed)}" if missed else "kept" if goal else "no goal"
    print(f"  {row.name:34} {verdict}{goal}; peak {peak:.0f} MB", flush=True)
    record(
        Result(
            title,
            row.name,
            ours=taken.get(OURS),
            peers={n: ms for n, ms in taken.items() if n not in {OURS, row.goal.floor}},
            floor=None if floor is None else (row.goal.floor, floor),
            goal=str(row.goal),
            met=not missed if goal or missed else None,
            note=ended or (f"peak {peak:.0f} MB" if row.goal.megabytes else ""),
            curve=row.curve,
            x=row.x,
        )
    )
    return not missed


def _measured(row: Row) -> tuple[dict[str, float], float, str]:
    """Median milliseconds of each contender, the peak, and why the row ended early, if it did."""
    context = get_context("fork")  # rows are closures
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(row, sender))
    process.start()
    sender.close()
    rounds: dict[str, list[float]] = {}
    peak = 0.0
    while True:
        try:
            name, seconds, peak = receiver.recv()
        except EOFError:
            break
        rounds.setdefault(name, []).append(seconds)
    process.join()
    ended = ""
    if process.exitcode:
        late = process.exitcode == -signal.SIGXCPU
        ended = f"stopped after {row.seconds} s of CPU" if late else f"status {process.exitcode}"
    return {name: 1000 * median(each) for name, each in rounds.items()}, peak, ended


def _measure(row: Row, sender: Connection) -> None:
    """In the row's process: what each contender took in each round, as soon as it is known."""
    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CPU, (row.seconds, row.seconds + 5))  # of each process
    os.environ["OPENBLAS_NUM_THREADS"] = (
        "1"  # of what it starts; a thread that spins counts as work
    )
    with threadpool_limits(1):
        contenders, times = row.make(), dict[str, int]()
        for _ in range(row.rounds):
            for name, work in contenders.items():
                if name not in times:
                    times[name] = _times(work) if row.rounds > 1 else 1
                began = cpu_seconds()
                for _ in range(times[name]):
                    work()
                sender.send((name, (cpu_seconds() - began) / times[name], peak_megabytes()))
                if cpu_seconds() > row.seconds:  # with what it started
                    signal.raise_signal(signal.SIGXCPU)


def _times(work: Work) -> int:
    """How often to do it at a go. It also warms up; what is done in one round alone does not."""
    work()
    began = cpu_seconds()
    work()
    return max(1, int(_SHORT / max(cpu_seconds() - began, 1e-6)))


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
