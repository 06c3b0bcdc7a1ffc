"""Does one piece of work for many people and many items within a limit of memory: its name and the
limit in MiB, beyond what the imports take, are the arguments. A process of its own, for the limit.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from askew_server.ratings import RatingTable, titled
from askew_server.taste.model.item_model import train, update
from askew_server.taste.training.options import TrainingOptions

EACH = 8
OPTIONS = TrainingOptions(ranking_dimension=8, min_ratings=1)


def table(people: int, items: int) -> RatingTable:
    """EACH ratings a person, of items from some place on: there is something to learn."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(people, dtype=np.int32), EACH)
    steps = rng.integers(1, items // 16, len(person)).reshape(people, EACH).cumsum(axis=1)
    item = ((rng.integers(items, size=(people, 1)) + steps) % items).astype(np.int32).ravel()
    rating = rng.integers(1, 6, len(person)).astype(np.float64)
    return RatingTable(person, item, rating, people, tuple(map(str, range(items))))


def train_and_update() -> None:
    """A model, and another catalog in its space."""
    ratings = table(100_000, 8000)
    rows = {key: titled(key) for key in ratings.item_keys}
    model = train(ratings, rows, OPTIONS, source="nobody", simulated=True)
    update(model, ratings, rows, source="nobody")


WORK = {"train": train_and_update}


def main(name: str, mebibytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with threadpool_limits(1):
        WORK[name]()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
