"""Training at the size of MovieLens 25M and beyond, on made-up ratings of people with tastes.

    .venv/bin/python benchmarks/training_scale.py [RATINGS]

Writes a csv of 2.5e7 (or so many) ratings, trains on it in a process of its own, and prints its CPU
seconds and its peak of memory beside scikit-learn's TruncatedSVD of the same likes at the same
factors, alone. Limits, for 2.5e7: 150 s of CPU and 4 GB, reading included; the whole at most 12 GB
for 1e8. Time is of the CPU, so a busy machine does not fail it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PEOPLE, ITEMS, TASTES, USUAL = 162_000, 62_000, 12, 25_000_000
CHUNK, LEAST = 500_000, 20
LIKED = 4.0
FACTORS = 32


def ratings(count: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """About `count` distinct pairs of a person and an item, and how many half stars each got."""
    people = max(1000, PEOPLE * count // USUAL)
    items = max(2000, min(ITEMS, ITEMS * count // USUAL))
    activity = rng.lognormal(0, 1.1, people)
    # Popular items are drawn more than once: the surplus makes up for pairs that are the same.
    each = np.minimum(np.maximum(LEAST, 1.3 * count * activity / activity.sum()), items // 4)
    person = np.repeat(np.arange(people), each.astype(np.int64))
    popularity = 1 / np.arange(1, items + 1) ** 0.9
    item = rng.choice(items, len(person), p=popularity / popularity.sum())
    person, item = np.divmod(np.unique(person * items + item), items)
    tastes = rng.gamma(0.5, size=(people, TASTES)).astype(np.float32)
    nature = rng.gamma(0.3, size=(items, TASTES)).astype(np.float32)
    halves = np.empty(len(person), np.int64)
    edges = None
    for start in range(0, len(person), CHUNK):
        part = slice(start, start + CHUNK)
        found = np.log1p((tastes[person[part]] * nature[item[part]]).sum(axis=1))
        found += rng.normal(0, 0.5, len(found))
        edges = np.quantile(found, np.arange(1, 10) / 10) if edges is None else edges
        halves[part] = 1 + np.searchsorted(edges, found)
    return person, item, halves


def write(
    path: Path, person: NDArray[np.int64], item: NDArray[np.int64], halves: NDArray[np.int64]
) -> None:
    with path.open("w", encoding="ascii") as file:
        file.write("userId,movieId,rating\n")
        for start in range(0, len(person), CHUNK):
            part = slice(start, start + CHUNK)
            columns = (column[part].tolist() for column in (person, item, halves))
            file.writelines(f"{p},{i},{h / 2}\n" for p, i, h in zip(*columns, strict=True))


def floor(person: NDArray[np.int64], item: NDArray[np.int64], halves: NDArray[np.int64]) -> float:
    """CPU seconds of scikit-learn's factors of the same likes."""
    from scipy.sparse import csr_array
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_limits

    liked = halves / 2 >= LIKED
    likes = csr_array((np.ones(int(liked.sum())), (person[liked], item[liked])))
    with threadpool_limits(1):
        started = time.process_time()
        TruncatedSVD(FACTORS, n_iter=7, random_state=0).fit(likes)
        return time.process_time() - started


def train(path: Path, out: Path) -> tuple[float, float]:
    """CPU seconds and gigabytes of a process that trains."""
    command = [sys.executable, "-m", "askew_server", "train", "--ratings", path, "--out", out]
    process = subprocess.Popen([*map(str, command), "--ranking-dimension", str(FACTORS)])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"training failed with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def main(count: int) -> bool:
    person, item, halves = ratings(count, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "ratings.csv"
        write(path, person, item, halves)
        alone = floor(person, item, halves)
        size = len(person)
        del person, item, halves
        seconds, memory = train(path, Path(scratch) / "model")
    most_seconds, most_memory = 150 * max(1, size / USUAL), 4 if size <= 1.2 * USUAL else 12
    print(f"{size:,} ratings: {seconds:.0f} s of CPU, at most {most_seconds:.0f}")
    print(f"memory {memory:.2f} GB, at most {most_memory}")
    print(f"the factors alone, by scikit-learn: {alone:.1f} s of CPU")
    return seconds <= most_seconds and memory <= most_memory


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (22 << 30, resource.RLIM_INFINITY))
    sys.exit(not main(int(float(sys.argv[1])) if len(sys.argv) > 1 else USUAL))
