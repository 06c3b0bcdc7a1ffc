"""Training at the size of MovieLens 25M and beyond, on made-up ratings of people with tastes.

    .venv/bin/python -m benchmarks.training_scale [RATINGS]

Makes 2.5e7 (or so many) ratings, writes them as csv, and trains on the file in a process of its
own, within a limit of memory. Its factors alone stand beside TruncatedSVD of scikit-learn, with as
many steps and with its own default, and beside ALS of `implicit` where that is installed.
Time is of the CPU, so a busy machine does not fail it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from askew_server.taste.training import ease

PEOPLE, ITEMS, TASTES, USUAL = 162_000, 62_000, 12, 25_000_000
AT_A_TIME, LEAST = 500, 20  # people, and the fewest ratings of one
LIKED = 8  # half stars
FACTORS = 64
ROUNDS = 15  # of ALS: the default of `implicit`


@dataclass(frozen=True, eq=False)
class Ratings:
    """Distinct pairs of a person and an item, and how many half stars each got."""

    person: NDArray[np.int32] = field(repr=False)
    item: NDArray[np.int32] = field(repr=False)
    halves: NDArray[np.int8] = field(repr=False)

    @classmethod
    def made(cls, count: int, rng: np.random.Generator) -> Ratings:
        """About so many."""
        items = max(2000, min(ITEMS, ITEMS * count // USUAL))
        parts = zip(*_some(count, max(1000, PEOPLE * count // USUAL), items, rng), strict=True)
        return cls(*(np.concatenate(part) for part in parts))

    def write(self, path: Path) -> None:
        """As the csv that MovieLens has."""
        import duckdb

        columns = {"userId": self.person, "movieId": self.item, "rating": self.halves}
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("columns", columns)
            connection.execute(
                "COPY (SELECT userId, movieId, (rating / 2)::DECIMAL(2, 1) AS rating FROM columns) "
                f"TO '{path}' (FORMAT csv)"
            )

    def likes(self) -> csr_array:
        liked = self.halves >= LIKED
        return csr_array((np.ones(int(liked.sum())), (self.person[liked], self.item[liked])))


def _some(
    count: int, people: int, items: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8]]]:
    """The ratings of some people at a time."""
    activity = rng.lognormal(0, 1.1, people)
    # Popular items are drawn more than once: the surplus makes up for pairs that are the same.
    each = np.minimum(np.maximum(LEAST, 1.3 * count * activity / activity.sum()), items // 4)
    reached = np.cumsum(1 / np.arange(1, items + 1) ** 0.9)
    nature = rng.gamma(0.3, size=(items, TASTES)).astype(np.float32)
    edges = None
    for start in range(0, people, AT_A_TIME):
        some = each[start : start + AT_A_TIME].astype(np.int64)
        tastes = rng.gamma(0.5, size=(len(some), TASTES)).astype(np.float32)
        drawn = np.searchsorted(reached, rng.random(int(some.sum())) * reached[-1])
        pairs = np.unique(np.repeat(np.arange(len(some)) * items, some) + drawn)
        person, item = np.divmod(pairs, items)
        found = np.log1p(np.einsum("nt,nt->n", tastes[person], nature[item]))
        found += rng.normal(0, 0.5, len(found))
        edges = np.quantile(found, np.arange(1, 10) / 10) if edges is None else edges
        halves = 1 + np.searchsorted(edges, found)
        yield (person + start).astype(np.int32), item.astype(np.int32), halves.astype(np.int8)


def train(path: Path, out: Path, gigabytes: int) -> None:
    """In a process of its own, which may not have more memory."""
    command = [sys.executable, "-m", "askew_server", "train", "--ratings", path, "--out", out]
    # The limit is of addresses: DuckDB and BLAS set some aside that they never touch.
    limit = (gigabytes + 4) << 30
    subprocess.run(
        [*map(str, command)],
        check=True,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


def trainings(path: Path, out: Path, gigabytes: int) -> Mapping[str, Work]:
    return {OURS: partial(train, path, out, gigabytes)}


def factorizations(likes: csr_array) -> Mapping[str, Work]:
    from sklearn.decomposition import TruncatedSVD

    as_many, usual = TruncatedSVD(FACTORS, n_iter=7, random_state=0), TruncatedSVD(FACTORS)
    contenders: dict[str, Work] = {
        OURS: partial(ease.fit_sparse, likes, 100.0, FACTORS),
        "TruncatedSVD, 7 steps": partial(as_many.fit, likes),
        "TruncatedSVD": partial(usual.fit, likes),
    }
    if find_spec("implicit") is None:
        print("  implicit is not installed: no row of its ALS (`pip install implicit`)", flush=True)
        return contenders
    from implicit.als import AlternatingLeastSquares

    als = AlternatingLeastSquares(factors=FACTORS, iterations=ROUNDS, num_threads=1)
    fit = partial(als.fit, csr_matrix(likes, dtype=np.float32), show_progress=False)
    return contenders | {f"implicit, ALS of {ROUNDS} rounds": fit}


def main(count: int) -> None:
    ratings = Ratings.made(count, np.random.default_rng(0))
    size = len(ratings.person)
    most, gigabytes = round(150 * max(1, count / USUAL)), 4 if count <= USUAL else 12
    with tempfile.TemporaryDirectory() as scratch:
        path, out = Path(scratch) / "ratings.csv", Path(scratch) / "model"
        ratings.write(path)
        likes = ratings.likes()
        del ratings  # the row's process would have a copy of it
        goal = Goal(milliseconds=1000 * most, megabytes=1000 * gigabytes)
        whole = partial(trainings, path, out, gigabytes)
        beside = partial(factorizations, likes)
        rows = (
            Row(f"{size:,} ratings, csv to model", whole, goal, rounds=1, seconds=2 * most),
            Row(
                f"{FACTORS} factors of {likes.nnz:,} likes",
                beside,
                Goal(times=1.2, floor="TruncatedSVD"),
                rounds=1,
                seconds=2 * most,
            ),
        )
        finish([run("Training", rows)])


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else USUAL)
