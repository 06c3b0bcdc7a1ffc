"""Every measurement by its name, each in a process of its own:.

    python -m benchmarks                     those of `make bench`, one after the other
    python -m benchmarks all                 with the dear ones that it leaves out
    python -m benchmarks list                all names
    python -m benchmarks NAME [ARGUMENT ..]  one of them, which changes no report

All of them run, whatever one before it says; then benchmarks/results.md, results.json and
growth.svg are written. What was beyond a goal, or broken, is named in the end, and the exit status
is 1. What each printed lies in build/bench/NAME.txt, its rows in NAME.jsonl.
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
    "covariance": Part("noisy_covariance", "exact noise on a matrix beside floats'; items"),
    "device": Part("device_step", "a device's own work on one question", usual=True),
    "near": Part("near", "a question near a place; numbers of items", True, ("1e7",)),
    "ledger": Part("ledger_speed", "the CPU of a charge, and opening a ledger", usual=True),
    "start-up": Part("start_up", "CPU of commands from start to end", usual=True),
    "counting": Part("counting", "engines beside their bare query; events", True, ("1e8",)),
    "training": Part("training_scale", "made-up ratings to a model; their number", usual=True),
    "search": Part("device_search", "a key press in a search; titles", usual=True),
    "private_model": Part("private_model", "what privacy costs a model, 10 min; ratings, items"),
    "proposals": Part("proposals", "the proposed mechanism, 10 min; files of counts"),
    "recall": Part("recall", "top 20 beside peers, a picture, 1 min; a file of counts"),
    "serving": Part("server_speed", "answers beside an echo; scenes", True, ("every",)),
    "cryptographic": Part("cryptographic", "a question's cost beside published ones", usual=True),
    "thin": Part("thin_device", "bytes and memory of a device, 2 min; items"),
    "overload": Part("overload", "ten times what a server can answer", usual=True),
    "start": Part("server_start", "what a server takes to start; numbers of items"),
    "tastes": Part("tastes", "what a signal of tastes is worth, 3 min; ratings"),
}


def run(name: str, arguments: list[str]) -> results.Part:
    """What it measured, whether it kept its goals, or how it ended. What it prints is shown."""
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
    """What a run of all usual parts does not measure."""
    each = [f"`{name}`: {part.about}" for name, part in PARTS.items() if not part.usual]
    dear = [
        f'the dear rows of `{name}`: `make bench NAME={name} ARGS="{" ".join(part.most)}"`'
        for name, part in PARTS.items()
        if part.usual and part.most and not most
    ]
    return [*dear, *each]


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
    about, found = results.machine(), list[results.Part]()
    for name in names:
        found.append(run(name, list(PARTS[name].most) if most else arguments[1:]))
        if whole:  # as far as it is, should the machine stop
            results.write(found, about, left_out(most=most))
    for each in found:
        print(f"{each.name:13} {each.seconds:6.0f} s  {'FAILED' if each.ended else 'kept'}")
    for each in found:
        for row in each.missed:
            print(f"missed: {each.name}: {row.title}: {row.work}")
    if failed := [each.name for each in found if each.ended]:
        print(f"beyond a goal, or broken: {' '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
