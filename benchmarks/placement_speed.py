"""How long a placement takes, in milliseconds. `make bench`.

Limits for k <= 64: 1 ms for closed forms, 20 ms for any named disutility under Laplace noise; a
second for k = 10,000. Exits with 1 where a median is beyond its limit.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.results import Result, record

from askew.placement import (
    Identity,
    Laplace,
    Power,
    Saturating,
    place,
)

CLOSED = (Identity(),)
WALKED = (Power(0.1), Power(2.0), Power(5.0), Saturating(1.0))
REPEATS = 15


def milliseconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median time of a call, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def cases() -> list[tuple[str, Callable[[], object], float, int]]:
    """(what, work, limit in milliseconds, repeats); an infinite limit is for information."""
    noise = Laplace(1.0)
    found: list[tuple[str, Callable[[], object], float, int]] = []
    for limit, group in ((1.0, CLOSED), (20.0, WALKED)):
        for h in group:
            found.append((f"Laplace, {h}, k = 64", partial(place, noise, h, 64), limit, 15))
            found.append((f"Laplace, {h}, k = 10,000", partial(place, noise, h, 10_000), 1000.0, 3))
    found.append(("Laplace, np.sqrt, k = 64", lambda: place(noise, np.sqrt, 64), np.inf, 5))
    found.append(("Laplace, np.sqrt, k = 10,000", lambda: place(noise, np.sqrt, 10_000), 1000, 3))
    found.append(("Laplace d = 8, k = 64", lambda: place(Laplace(1.0, 8), None, 64), np.inf, 5))
    return found


def main() -> int:
    """Prints a table; the number of limits that were passed decides the exit status."""
    slow = 0
    for what, work, limit, repeats in cases():
        took = milliseconds(work, repeats)
        late = took > limit
        slow += late
        bound = f"limit {limit:g}" if limit < np.inf else ""
        goal, met = (f"{limit:g} ms", not late) if limit < np.inf else ("", None)
        record(Result("placements", what, ours=took, goal=goal, met=met))
        sys.stdout.write(f"{took:10.3f} ms  {what:45} {bound} {'TOO SLOW' if late else ''}\n")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
