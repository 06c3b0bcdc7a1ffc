"""Memory does not grow with people times items: training and updating for many of both, within a
limit that any matrix of them passes. In a process of its own, for the limit.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from askew_server.ratings import RatingTable, titled
from askew_server.taste.model import train, update
from askew_server.taste.options import TrainingOptions

PEOPLE, ITEMS, EACH = 100_000, 8000, 8  # 3.2 GB in single precision, 800 MB of one byte each
MEBIBYTES = 700  # beyond what the imports take


def table() -> RatingTable:
    """EACH ratings a person, of items from some place on: there is something to learn."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(PEOPLE, dtype=np.int32), EACH)
    steps = rng.integers(1, ITEMS // 16, len(person)).reshape(PEOPLE, EACH).cumsum(axis=1)
    item = ((rng.integers(ITEMS, size=(PEOPLE, 1)) + steps) % ITEMS).astype(np.int32).ravel()
    rating = rng.integers(1, 6, len(person)).astype(np.float64)
    return RatingTable(person, item, rating, PEOPLE, tuple(map(str, range(ITEMS))))


@pytest.mark.slow
def test_many_people_and_many_items_fit_into_little_memory() -> None:
    """Planted bugs, MemoryError each: scores of all people, or of all who are sampled, at once."""
    command = [sys.executable, __file__]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


if __name__ == "__main__":
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + (MEBIBYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with threadpool_limits(1):
        ratings = table()
        rows = {key: titled(key) for key in ratings.item_keys}
        options = TrainingOptions(ranking_dimension=8, min_ratings=1)
        model = train(ratings, rows, options, source="nobody", simulated=True)
        update(model, ratings, rows, source="nobody")
