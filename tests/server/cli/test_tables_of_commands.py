"""Every command that makes a model makes its tables too, of the catalog that it makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from askew_server.retrieval.served import snapshot_of
from askew_server.retrieval.snapshot import Retriever
from askew_server.retrieval.tabulated import published, tables_of
from askew_server.taste.model import artifact
from askew_server.taste.model.answer_tables import AnswerTables
from askew_server.taste.model.item_model import ItemModel

Run = Callable[..., int]
PRIOR = ("--prior-cohort", "friends")
OPTIONS = ("--min-ratings", 2, "--least-likes", 2, "--rule", "posterior", "-k", 2)


def ratings_of(path: Path, n_films: int) -> Path:
    """Sixty people, each with half of the films."""
    rng = np.random.default_rng(n_films)
    rows = [
        f"{person},film {film},{rng.integers(1, 6)}"
        for person in range(60)
        for film in range(n_films)
        if (person + film) % 2
    ]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    return path


def tables(model: ItemModel) -> AnswerTables:
    assert model.tables is not None
    return model.tables


def assert_are_its_own(model: ItemModel) -> None:
    found = tables(model)
    asked = {(made, k) for made, sizes in published(model.card).items() for k in sizes}
    assert {(each.lattice, each.k) for each in found.tables} == asked
    assert asked
    fresh = tables_of(Retriever(model.card, model.catalog, model.prior))
    assert fresh is not None
    for stored, made in zip(found.tables, fresh.tables, strict=True):
        np.testing.assert_array_equal(stored.slates[stored.numbers], made.slates[made.numbers])
    assert snapshot_of(model).tables == found.tables


@pytest.mark.slow
def test_training_and_every_new_catalog_make_their_own_tables(tmp_path: Path, run: Run) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    old = ratings_of(tmp_path / "old.csv", 30)
    assert not run("train", "--ratings", old, "--out", first, *OPTIONS, *PRIOR)
    new = ratings_of(tmp_path / "new.csv", 32)
    assert not run("update", "--model", first, "--ratings", new, "--out", second)
    trained, updated = artifact.load(first), artifact.load(second)
    assert trained.card.catalog_version != updated.card.catalog_version
    for each in (trained, updated):
        assert_are_its_own(each)
