"""`askew-server import`, with vectors of a model that learns: a truncated SVD. The people are the
demo's, simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from askew.limits import MAX_RANKING_DIMENSION
from askew.spaces.vectors import RatingScale
from askew_server.demo.simulation import simulated_table
from askew_server.ratings import ItemRow
from askew_server.ratings.vectors import Vectors
from askew_server.taste import artifact, imported_vectors
from askew_server.taste.imported_vectors import match_items
from askew_server.taste.item_vectors import often_rated
from askew_server.taste.model import ItemModel, import_model
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import histories_of
from askew_server.taste.space_fit import rating_scale_of

Run = Callable[..., int]
DIMENSION = 16


@pytest.fixture(autouse=True)
def _few_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the usual number, so that a model is made in a second."""
    monkeypatch.setattr(imported_vectors, "MADE_UP", 400)


@cache
def people() -> tuple[tuple[str, ...], csr_array, csr_array]:
    """Keys, and the likes of four of five people, who are learned from, and of the others."""
    table = simulated_table()
    kept = often_rated(table, 20)
    likes = histories_of(table, kept, rating_scale_of(table, None)).likes
    aside = np.arange(table.n_people) % 5 == 0
    keys = tuple(table.item_keys[item] for item in kept)
    return keys, csr_array(likes[~aside]), csr_array(likes[aside])


@cache
def learned() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return vectors of items and of users: a truncated SVD of the likes of the demo's people."""
    with threadpool_limits(1):
        users, weights, items = np.linalg.svd(people()[1].toarray(), full_matrices=False)
    roots = np.sqrt(weights[:DIMENSION])
    return items[:DIMENSION].T * roots, users[:, :DIMENSION] * roots


def imported(vectors: Vectors, of_people: Vectors | None = None) -> ItemModel:
    """The command's model."""
    rows = {key: ItemRow(key, None, ()) for key in people()[0]}
    training = TrainingOptions(ranking_dimension=MAX_RANKING_DIMENSION)
    scale = RatingScale.between(1, 5)
    with threadpool_limits(1):
        return import_model(match_items(vectors, rows), of_people, rows, training, scale)[0]


def test_the_same_vectors_in_another_order_or_unit_make_the_same_model() -> None:
    keys, _, _ = people()
    vectors, _ = learned()
    turned = Vectors(2.0**30 * vectors[::-1], keys[::-1])
    first, second = imported(Vectors(vectors, keys)), imported(turned)
    assert first.card.space == second.card.space
    assert first.card.catalog_version == second.card.catalog_version


def test_user_vectors_make_the_space_of_people_like_them() -> None:
    """The users are of one kind here, whose taste is the third factor, while the first is what all
    like. So what is shown to anybody is for that kind.
    """
    keys, _, _ = people()
    vectors, users = learned()
    towards = users[:, 2] / np.maximum(np.linalg.norm(users, axis=1), 1e-9)
    likest = np.argsort(-towards)[:150]
    taste = users[likest[0]]
    items = Vectors(vectors, keys)
    models = kind, _ = imported(items, Vectors(users[likest])), imported(items)
    assert "SIMULATED from those of about 200 users" in kind.card.source
    scores = dict(zip(keys, vectors @ taste, strict=True))
    shown = [[scores[m.keys[i]] for i in m.catalog.shared_slate[:5]] for m in models]
    assert np.mean(shown[0]) > np.mean(shown[1]) + np.std([*scores.values()])


def test_vectors_of_fewer_numbers_than_a_signal_would_have_make_a_smaller_signal(
    tmp_path: Path, run: Run
) -> None:
    """Nobody chose the larger one: it is the default."""
    vectors = np.random.default_rng(6).normal(size=(60, 3))
    np.savez(tmp_path / "v.npz", vectors=vectors)
    rows = "".join(f"{item},Film {item}\n" for item in range(60))
    (tmp_path / "items.csv").write_text(f"item,title\n{rows}")
    files = (tmp_path / "v.npz", "--items", tmp_path / "items.csv")
    assert run("import", *files, "--out", tmp_path / "m") == 0
    assert artifact.load(tmp_path / "m").card.space.dimension == 3
