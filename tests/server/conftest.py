"""Small matrices of ratings, as tables, as trained models and as directories to forge."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from askew_server.cli import main as cli
from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions

NAN = float("nan")
Run = Callable[..., int]


@pytest.fixture
def hooks() -> Iterator[None]:
    """Puts back what a log takes over."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    others = (sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning)
    yield
    root.handlers[:], root.level = before
    sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning = others


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, hooks: None) -> Run:  # a server takes them over
    """Runs the command in this process and gives its exit code."""

    def command(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["askew-server", *map(str, arguments)])
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return command


@pytest.fixture(scope="session")
def table_of() -> Callable[[NDArray[np.float64]], RatingTable]:
    """Makes the table of a matrix with a row for each person; NaN is no rating."""

    def make(matrix: NDArray[np.float64]) -> RatingTable:
        person, item = np.nonzero(~np.isnan(matrix))
        return RatingTable(
            person=person.astype(np.int64),
            item=item.astype(np.int64),
            rating=matrix[person, item],
            n_people=matrix.shape[0],
            item_keys=tuple(f"key {i}" for i in range(matrix.shape[1])),
        )

    return make


@pytest.fixture(scope="session")
def matrix() -> NDArray[np.float64]:
    """60 people of mixed tastes, 24 items, ratings of 1 to 5 in halves, a third of them missing."""
    rng = np.random.default_rng(20261121)
    tastes, kinds = rng.normal(size=(60, 3)), rng.normal(size=(24, 3))
    stars = 3 + tastes @ kinds.T + rng.normal(scale=0.3, size=(60, 24))
    ratings: NDArray[np.float64] = np.round(2 * np.clip(stars, 1, 5)) / 2
    ratings[rng.random(ratings.shape) < 1 / 3] = NAN
    return ratings


@pytest.fixture(scope="session")
def table(
    table_of: Callable[[NDArray[np.float64]], RatingTable], matrix: NDArray[np.float64]
) -> RatingTable:
    """The table of `matrix`."""
    return table_of(matrix)


@pytest.fixture(scope="session")
def rows() -> dict[str, ItemRow]:
    """What is known about the 24 items of `table`, of all but the last."""
    genres = ("Drama", "Comedy")
    return {f"key {i}": ItemRow(f"Film {i}", 1950 + i, genres[: i % 3]) for i in range(23)}


@pytest.fixture(scope="session")
def model(table: RatingTable, rows: dict[str, ItemRow]) -> ItemModel:
    """The model of `table`, in the plane."""
    options = TrainingOptions(dimension=2, min_ratings=5, least_likes=4)
    return train(table, rows, options, source="ratings of 60 people")


@pytest.fixture
def directory(tmp_path: Path, model: ItemModel) -> Path:
    """A model as it was saved."""
    artifact.save(model, tmp_path / "model")
    return tmp_path / "model"
