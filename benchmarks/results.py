"""The one report of `make bench`: each measurement beside its peers, its floor and its goal.

A measurement hands over rows with `record`; `make bench` gathers those of all of them and writes
benchmarks/results.json and results.md, also where one of them ended early: then it has a row that
says so. A ratio is of medians that were taken in turns in one process or one run.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
RECORD: Final = "ASKEW_BENCH_ROWS"  # names the file that a measurement adds its rows to
BUSY: Final = 0.5  # cores that others take: beyond, a row says so
PACKAGES: Final = ("numpy", "scipy", "grpcio", "protobuf", "duckdb", "opendp")
ABOUT: Final = (
    "`make bench` writes this page. Every row is a median, and a ratio is of medians of one run: "
    "compare ratios, since times differ from machine to machine. A floor is what any program must "
    "do. A peer is another program, or a paper's algorithm, written plainly."
)


@dataclass(frozen=True)
class Result:
    """What one piece of work took. ours, peers and floor: medians in `unit`.

    met: whether the goal was met; None where there is none.
    """

    title: str
    work: str
    unit: str = "ms"
    ours: float | None = None
    peers: Mapping[str, float] = field(default_factory=dict)
    floor: tuple[str, float] | None = None
    goal: str = ""
    met: bool | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Return ours as a multiple of the floor."""
        if self.ours is None or self.floor is None or not self.floor[1]:
            return None
        return self.ours / self.floor[1]


def record(result: Result) -> None:
    """Add a row to the report, where one is being made."""
    if path := os.environ.get(RECORD):
        with Path(path).open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")


def recorded(path: Path) -> list[Result]:
    """Return the rows that a measurement added."""
    if not path.exists():
        return []
    return [_result(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _result(found: dict[str, Any]) -> Result:
    floor = found.pop("floor")
    return Result(floor=None if floor is None else (floor[0], floor[1]), **found)


@dataclass(frozen=True)
class Part:
    """A measurement: its name, what it is of, its rows, whether it ended well, and its seconds."""

    name: str
    about: str
    rows: Sequence[Result]
    ended: str = ""
    seconds: float = 0.0
    foreign: float = 0.0  # cores that others took meanwhile

    @property
    def missed(self) -> list[Result]:
        """Return the rows beyond their goals, and one for an end that no row explains."""
        found = [row for row in self.rows if row.met is False]
        if self.ended and not found:
            found.append(Result(self.about, f"`{self.name}` {self.ended}", met=False))
        return found


def machine() -> dict[str, str]:
    """Describe where and of what a report is made."""
    names = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next((line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "")
    gigabytes = f"{int(memory.split()[1]) / 2**20:.0f} GB, " if memory else ""
    return {
        "machine": (names[0].partition(":")[2].strip() if names else platform.processor())
        + f", {os.cpu_count()} cores, {gigabytes}{platform.system()} {platform.machine()}",
        "versions": ", ".join([f"Python {platform.python_version()}", *_versions()]),
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def commit() -> str:
    """Return what is checked out, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    run = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []


def _versions() -> Iterator[str]:
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue


def busy_seconds() -> float:
    """Return busy seconds of all cores since the machine started; 0 where they are not counted."""
    if not (first := _lines("/proc/stat")[:1]):
        return 0.0
    numbers = list(map(int, first[0].split()[1:9]))
    return (sum(numbers) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK")


def write(parts: Sequence[Part], about: Mapping[str, str], left_out: Sequence[str]) -> None:
    """Write the report and its figures."""
    content = {
        "about": about,
        "left_out": list(left_out),
        "parts": [asdict(part) for part in parts],
    }
    path = HERE / "results.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = markdown(parts, about, left_out)
    (HERE / "results.md").write_text(text, encoding="utf-8")


def markdown(parts: Sequence[Part], about: Mapping[str, str], left_out: Sequence[str]) -> str:
    """Return the report as a page."""
    goals = [row for part in parts for row in part.rows if row.met is not None]
    missed = [row for part in parts for row in part.missed]
    lines = [
        "# Benchmarks",
        "",
        ABOUT,
        "",
        *(f"- {name}: {text}" for name, text in about.items()),
        f"- goals: {len(goals)}, of which {sum(row.met is True for row in goals)} are met",
        "",
        "## Missed",
        "",
        *(f"- {row.title}: {row.work}{_why(row)}" for row in missed),
        *([] if missed else ["Nothing."]),
        "",
        "## Left out of this run",
        "",
        *(f"- {part}" for part in left_out),
        *([] if left_out else ["Nothing."]),
    ]
    for part in parts:
        for title in dict.fromkeys(row.title for row in part.rows):
            rows = [row for row in part.rows if row.title == title]
            lines += ["", f"## {part.about}: {title}", "", table(rows).rstrip("\n")]
        if part.foreign > BUSY:
            lines += ["", f"On a busy machine: others took {part.foreign:.1f} cores meanwhile."]
        if part.ended:
            lines += ["", f"`{part.name}` {part.ended}."]
    return "\n".join(lines) + "\n"


def _why(row: Result) -> str:
    ratio = "" if row.ratio is None or row.floor is None else f"{row.ratio:.2f} {row.floor[0]}, "
    ours = "" if row.ours is None else f"{_figure(row.ours)} {row.unit}, "
    goal = f"goal {row.goal}" if row.goal else ""
    note = f"; {row.note}" if row.note else ""
    text = f"{ratio}{ours}{goal}{note}".strip(", ;")
    return f": {text}" if text else ""


def table(rows: Iterable[Result]) -> str:
    """Return rows as a table of a document."""
    lines = [
        "| work | ours | peers | floor | ours / floor | goal | met |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        peers = ", ".join(f"{name} {_figure(taken)}" for name, taken in row.peers.items())
        floor = "" if row.floor is None else f"{row.floor[0]} {_figure(row.floor[1])}"
        cells = (
            row.work + (f" ({row.note})" if row.note else ""),
            "" if row.ours is None else f"{_figure(row.ours)} {row.unit}",
            peers,
            floor,
            "" if row.ratio is None else f"{row.ratio:.2f}",
            row.goal,
            {None: "", True: "yes", False: "**MISSED**"}[row.met],
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
