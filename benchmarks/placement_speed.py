"""How long a placement takes: 1 ms for closed forms of k = 64, 20 ms for others, 1 s for 10,000."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from benchmarks.rows import OURS, Goal, Row, finish, run

from askew.placement import Identity, Laplace, Power, place


def rows() -> Iterator[Row]:
    def row(name: str, work: Callable[[], object], most: float) -> Row:
        return Row(name, lambda: {OURS: work}, Goal(milliseconds=most))

    noise = Laplace(1.0)
    for curve in (Identity(), Power(0.1), Power(2.0), Power(5.0)):
        for k in (64, 10_000):
            most = 1000.0 if k > 64 else 1.0 if curve == Identity() else 20.0
            yield row(f"Laplace, {curve}, k = {k:,}", partial(place, noise, curve, k), most)
    yield row("Laplace, np.sqrt, k = 10,000", lambda: place(noise, np.sqrt, 10_000), 1000.0)


if __name__ == "__main__":
    finish([run("placements", rows())])
