"""Run measurements by their names, each in a process of its own.

    python -m benchmarks                     those of `make bench`, one after the other
    python -m benchmarks all                 with the dear ones that it leaves out
    python -m benchmarks list                all names
    python -m benchmarks NAME [ARGUMENT ..]  one of them, which changes no report

All of them run, whatever one before it says; then benchmarks/results.md and results.json are
written. What was beyond a goal, or broken, is named in the end, and the exit status is 1. What each
printed lies in build/bench/NAME.txt, its rows in NAME.jsonl.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import results

OUT = Path("build/bench")


@dataclass(frozen=True)
class Part:
    """A module of this package, what it measures and takes, and whether `make bench` runs it.

    most: the arguments of its dear rows, which only `all` runs.
    """

    module: str
    about: str
    usual: bool = False
    most: tuple[str, ...] = ()


PARTS = {
    "placement": Part("placement_speed", "how long a placement takes", usual=True),
    "selection": Part(
        "selection", "mechanisms beside peers; files, items", usual=True, most=("1e7",)
    ),
    "near": Part("near", "a question near a place; numbers of items", True, ("1e7",)),
    "ledger": Part("ledger_speed", "the CPU of a charge, and opening a ledger", usual=True),
    "start-up": Part("start_up", "CPU of commands from start to end", usual=True),
    "counting": Part("counting", "engines beside their bare query; events", True, ("1e8",)),
    "recall": Part("recall", "top 20 beside peers, a picture, 1 min; a file of counts"),
    "serving": Part("server_speed", "answers beside an echo; scenes", usual=True),
    "overload": Part("overload", "ten times what a server can answer", usual=True),
}


def run(name: str, arguments: list[str]) -> results.Part:
    """Run a measurement, show what it prints, and return its rows and how it ended."""
    OUT.mkdir(parents=True, exist_ok=True)
    rows = (OUT / f"{name}.jsonl").absolute()
    rows.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"benchmarks.{PARTS[name].module}", *arguments]
    began, busy, own = time.monotonic(), results.busy_seconds(), _cpu_of_children()
    with (
        (OUT / f"{name}.txt").open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {results.RECORD: str(rows)},
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            kept.write(line)
    seconds, code = time.monotonic() - began, process.returncode
    others = (results.busy_seconds() - busy - _cpu_of_children() + own) / seconds
    return results.Part(
        name,
        PARTS[name].about,
        results.recorded(rows),
        f"ended with status {code}" if code else "",
        seconds,
        max(0.0, others),
    )


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def left_out(*, most: bool) -> list[str]:
    """Return what a run of all usual parts does not measure."""
    unusual = [f"`{name}`: {part.about}" for name, part in PARTS.items() if not part.usual]
    dear = [
        f'the dear rows of `{name}`: `make bench NAME={name} ARGS="{" ".join(part.most)}"`'
        for name, part in PARTS.items()
        if part.usual and part.most and not most
    ]
    return [*dear, *unusual]


def main(arguments: list[str]) -> int:
    if arguments == ["list"]:
        for name, part in PARTS.items():
            print(f"{name:13} {'*' * part.usual:1} {part.about}")
        print("*: what `make bench` runs")
        return 0
    whole, most = arguments in ([], ["all"]), arguments == ["all"]
    if not whole and arguments[0] not in PARTS:
        print(f"no measurement is named {arguments[0]!r}: one of {', '.join(PARTS)}")
        return 2
    names = [name for name, part in PARTS.items() if part.usual] if whole else arguments[:1]
    about, parts = results.machine(), list[results.Part]()
    for name in names:
        parts.append(run(name, list(PARTS[name].most) if most else arguments[1:]))
        if whole:  # as far as it is, should the machine stop
            results.write(parts, about, left_out(most=most))
    for measured in parts:
        print(f"{measured.name:13} {measured.seconds:6.0f} s  {measured.ended or 'kept'}")
    for measured in parts:
        for row in measured.missed:
            print(f"missed: {measured.name}: {row.title}: {row.work}")
    if failed := [part.name for part in parts if part.ended]:
        print(f"beyond a goal, or broken: {' '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
