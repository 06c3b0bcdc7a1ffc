"""`askew-server import`, with vectors of models that really learn: TruncatedSVD, a two-tower model,
and `implicit` where it is installed. The people are the demo's, simulated.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from askew.limits import MAX_RANKING_DIMENSION
from askew.spaces.vectors import RatingScale
from askew.wire.catalog_file import catalog_to_bytes
from askew_server.demo.simulation import simulated_table
from askew_server.ratings import ItemRow
from askew_server.ratings.vectors import Vectors
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel, import_model
from askew_server.taste.training import given_vectors
from askew_server.taste.training.factors import people_of
from askew_server.taste.training.given_vectors import for_devices, match_items
from askew_server.taste.training.item_vectors import often_rated
from askew_server.taste.training.options import TrainingOptions
from askew_server.taste.training.space_fit import scale_of

Run = Callable[..., int]
DIMENSION = 16


@pytest.fixture(autouse=True)
def _few_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the usual number, so that a model is made in a second."""
    monkeypatch.setattr(given_vectors, "MADE_UP", 400)


@cache
def examples() -> ModuleType:
    """The models of benchmarks/bring_your_own.py."""
    path = Path(__file__).parents[5] / "benchmarks/bring_your_own.py"
    spec = importlib.util.spec_from_file_location("bring_your_own", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bring_your_own"] = module
    spec.loader.exec_module(module)
    return module


@cache
def people() -> tuple[tuple[str, ...], csr_array, csr_array]:
    """Keys, and the likes of four of five people, who are learned from, and of the others."""
    table = simulated_table()
    kept = often_rated(table, 20)
    likes = people_of(table, kept, scale_of(table, None)).likes
    aside = np.arange(table.n_people) % 5 == 0
    keys = tuple(table.item_keys[item] for item in kept)
    return keys, csr_array(likes[~aside]), csr_array(likes[aside])


@cache
def learned(name: str) -> Mapping[str, NDArray[np.floating]]:
    """Vectors of items and of users by a model that learns from the demo's people."""
    _, likes, _ = people()
    more = {"steps": 400, "batch": 128} if name == "two_tower" else {}
    with threadpool_limits(1):
        items, users = getattr(examples(), name)(likes, DIMENSION, **more)
    return {"items": items} if users is None else {"items": items, "users": users}


def write(folder: Path, name: str) -> tuple[Path, Path]:
    """Vectors and items as files."""
    keys, _, _ = people()
    np.savez(folder / "v.npz", vectors=learned(name)["items"], keys=np.array(keys))
    lines = [f'"{key}","{key}"' for key in keys]
    (folder / "items.csv").write_text("\n".join(["item,title", *lines]), encoding="utf-8")
    return folder / "v.npz", folder / "items.csv"


def kept_by_codes(model: ItemModel, vectors: NDArray[np.float64]) -> float:
    """Exact score of what the model's vectors pick for people whom nothing has seen, over that of
    the best, the vectors exact and folded in as devices do.
    """
    keys, _, likes = people()
    place = {key: at for at, key in enumerate(keys)}
    order = [place[key] for key in model.keys]
    likes = csr_array(likes[:, order])
    tables = for_devices(vectors)[order], model.catalog.vectors
    exact, codes = (np.where(likes.toarray(), -1, (likes @ v) @ v.T) for v in tables)
    got = exact[np.arange(len(exact)), codes.argmax(axis=1)]
    return float(np.maximum(got, 0).sum() / np.maximum(exact.max(axis=1), 0).sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truncated_svd", "two_tower"])
def test_vectors_of_other_models_become_a_model_that_devices_rank_by(
    name: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, items = write(tmp_path, name)
    given = [vectors, "--items", items]
    assert run("import", *given, "--out", tmp_path / "m") == 0
    model = artifact.load(tmp_path / "m")
    assert kept_by_codes(model, learned(name)["items"].astype(np.float64)) >= 0.99
    assert model.card.space.ranking_dimension == DIMENSION
    assert model.card.simulated
    assert "SIMULATED likes of 400 people" in model.card.source
    said = capsys.readouterr().out
    assert "numbers each" in said
    assert "SIMULATED from the vectors" in said
    assert "utility    NDCG@10 of SIMULATED people held out" in said
    assert "advice     hold them: " in said
    assert f"{len(catalog_to_bytes(model.card, model.catalog)):,} bytes" in said
    assert f"{list(model.figures.values())[-1]['alone'].ndcg.mean:.3f} ±".replace("0.", ".") in said


def made(vectors: Vectors, of_people: Vectors | None = None) -> ItemModel:
    """The command's model."""
    rows = {key: ItemRow(key, None, ()) for key in people()[0]}
    training = TrainingOptions(ranking_dimension=MAX_RANKING_DIMENSION)
    scale = RatingScale.between(1, 5)
    with threadpool_limits(1):
        return import_model(match_items(vectors, rows), of_people, rows, training, scale)[0]


def test_the_same_vectors_in_another_order_or_unit_make_the_same_model() -> None:
    keys, _, _ = people()
    vectors = learned("truncated_svd")["items"].astype(np.float64)
    turned = Vectors(2.0**30 * vectors[::-1], keys[::-1])
    first, second = made(Vectors(vectors, keys)), made(turned)
    assert first.card.space == second.card.space
    assert first.card.catalog_version == second.card.catalog_version


def test_user_vectors_make_the_space_of_people_like_them() -> None:
    """The first users of all are of one kind here, so what is shown to anybody is for that kind."""
    keys, _, _ = people()
    vectors, users = (learned("two_tower")[name].astype(np.float64) for name in ("items", "users"))
    likest = np.argsort(-(users @ users[0]) / np.linalg.norm(users, axis=1))[:150]
    items = Vectors(vectors, keys)
    models = kind, _ = made(items, Vectors(users[likest])), made(items)
    assert "SIMULATED from those of about 200 users" in kind.card.source
    scores = dict(zip(keys, vectors @ users[0], strict=True))
    shown = [[scores[m.keys[i]] for i in m.catalog.shared_slate[:5]] for m in models]
    assert np.mean(shown[0]) > np.mean(shown[1]) + np.std([*scores.values()])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--scale", "5", "1"], "--scale"),
        (["--like-from", "9"], "--like-from"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_line(
    more: list[str], reason: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, items = write(tmp_path, "truncated_svd")
    out = tmp_path / "m"
    assert run("import", vectors, "--items", items, "--out", out, *more) == 2
    error = capsys.readouterr().err
    assert reason in error.splitlines()[-1]
    assert not out.exists()


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
