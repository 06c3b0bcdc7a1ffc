"""What a number of devices comes to: questions, looks, bytes and cores.

    python deploy/capacity.py [MICROSECONDS]

MICROSECONDS: CPU of one question, as `make bench NAME=serving` measures it; 568 by default, what
the demo's films by `codebook` took on one core of a 2026 server.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from askew.catalog.catalog_file import HEAD_BYTES, LONGEST_DELAY, PERIOD

DAY = 86_400
DEVICES = (10**6, 10**7, 10**8, 10**9)
DEFAULT, WHOLE = 800_000, 4_000_000  # bytes of the files that a device holds by default


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What devices do, and what a core may be asked. Peaks are assumed; the rest is the protocol's.

    questions: of one device in 30 days. peak: the busiest hour by the mean. busy: the part of a
    core that is used at the peak, so that one of two servers can take over.
    """

    questions: float = 1.0
    peak: float = 3.0
    busy: float = 0.5
    question_cpu: float = 568e-6  # seconds


@dataclass(frozen=True)
class Load:
    """A number of devices with these habits; each property is one formula."""

    devices: int
    habits: Habits

    @property
    def questions(self) -> float:
        """A second, on the mean."""
        return self.devices * self.habits.questions / (30 * DAY)

    @property
    def cores(self) -> float:
        """For the questions of the busiest hour."""
        return self.questions * self.habits.peak * self.habits.question_cpu / self.habits.busy

    @property
    def looks(self) -> float:
        """For new files, a second: each device once in the first days after a Monday."""
        return self.devices / (LONGEST_DELAY * DAY)

    def file_bits(self, size: int) -> float:
        """A second in those days, where every device fetches a new file of `size` bytes."""
        return self.looks * 8 * size

    def mean_bits(self, size: int) -> float:
        """A second over the whole week."""
        return self.devices * 8 * size / (PERIOD * DAY)


def rounded(number: float) -> str:
    """Two significant digits, as people read them."""
    if number == 0:
        return "0"
    digits = 1 - math.floor(math.log10(abs(number)))
    return f"{round(number, digits):,.{max(0, digits)}f}"


def table(habits: Habits) -> Iterator[str]:
    """The lines of docs/operations.md."""
    yield (
        "| Devices | questions/s | cores for them | looks/s | unchanged, Gbit/s "
        "| default items, Gbit/s | whole, Gbit/s |"
    )
    yield "|---|---|---|---|---|---|---|"
    for devices in DEVICES:
        load = Load(devices, habits)
        figures = (
            load.questions,
            load.cores,
            load.looks,
            load.file_bits(HEAD_BYTES) / 1e9,
            load.file_bits(DEFAULT) / 1e9,
            load.file_bits(WHOLE) / 1e9,
        )
        power = f"10{str(round(math.log10(devices))).translate(str.maketrans('6789', '⁶⁷⁸⁹'))}"
        yield f"| {power} | {' | '.join(map(rounded, figures))} |"


def main() -> None:
    """Prints the table."""
    cpu = float(sys.argv[1]) / 1e6 if len(sys.argv) > 1 else Habits.question_cpu
    print(*table(Habits(question_cpu=cpu)), sep="\n")


if __name__ == "__main__":
    main()
