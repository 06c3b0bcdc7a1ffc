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

from askew.break_even import Way
from askew.wire.held import held_to_bytes
from askew_server.evaluation.data import simulated_table
from askew_server.model import artifact
from askew_server.model.item_model import ItemModel
from askew_server.training.embeddings.geometry import FoldIn, for_devices
from askew_server.training.factors import people_of
from askew_server.training.item_vectors import often_rated
from askew_server.training.rating_scale import scale_of

Run = Callable[..., int]
DIMENSION = 16


@cache
def examples() -> ModuleType:
    """The models of benchmarks/bring_your_own.py."""
    path = Path(__file__).parents[4] / "benchmarks/bring_your_own.py"
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
    tables = for_devices(vectors, FoldIn.RIDGE)[order], model.catalog.vectors
    exact, codes = (np.where(likes.toarray(), -1, (likes @ v) @ v.T) for v in tables)
    got = exact[np.arange(len(exact)), codes.argmax(axis=1)]
    return float(np.maximum(got, 0).sum() / np.maximum(exact.max(axis=1), 0).sum())


@pytest.mark.parametrize("name", ["truncated_svd", "two_tower", "implicit_als"])
def test_vectors_of_other_models_become_a_model_that_devices_rank_by(
    name: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "implicit_als":
        pytest.importorskip("implicit", reason="implicit is an example, not a dependency")
    vectors, items = write(tmp_path, name)
    given = ["--item-vectors", vectors, "--items", items, "--principal"]
    assert run("import", *given, "--out", tmp_path / "m") == 0
    model = artifact.load(tmp_path / "m")
    assert kept_by_codes(model, learned(name)["items"].astype(np.float64)) >= 0.99
    assert model.card.space.ranking_dimension == DIMENSION
    assert model.card.simulated
    assert "SIMULATED likes of 2,000 people" in model.card.source
    said = capsys.readouterr().out
    assert "numbers each, folded in by ridge" in said
    assert "SIMULATED from the vectors" in said
    assert f"rule       {model.card.rule.kind}" in said
    assert "worth      of asking, to SIMULATED people kept aside" in said
    assert model.card.break_even is not None
    assert model.card.break_even.proposal.way is Way.WHOLE
    assert f"{len(held_to_bytes(model.card, model.catalog)):,} bytes" in said
    for rule, figure in model.figures.items():
        assert f"  {rule:<10} {figure.ratio:.2f} of the best possible score" in said


def test_the_same_vectors_in_another_order_or_unit_make_the_same_model(
    run: Run, tmp_path: Path
) -> None:
    vectors, items = write(tmp_path, "truncated_svd")
    keys, _, _ = people()
    turned = 2.0**30 * learned("truncated_svd")["items"][::-1]
    np.savez(tmp_path / "turned.npz", vectors=turned, keys=np.array(keys[::-1]))
    cards = []
    for name, path in {"first": vectors, "second": tmp_path / "turned.npz"}.items():
        out = tmp_path / name
        given = ["--item-vectors", path, "--items", items, "--rule", "none", "--principal"]
        assert run("import", *given, "--out", out) == 0
        cards.append(artifact.load(out).card)
    assert cards[0].space == cards[1].space
    assert cards[0].catalog_version == cards[1].catalog_version


def test_user_vectors_make_the_space_of_people_like_them(run: Run, tmp_path: Path) -> None:
    """The first users of all are of one kind here, so what is shown to anybody is for that kind."""
    vectors, items = write(tmp_path, "two_tower")
    users = learned("two_tower")["users"]
    likest = np.argsort(-(users @ users[0]) / np.linalg.norm(users, axis=1))[:150]
    np.savez(tmp_path / "users.npz", vectors=users[likest])
    given = ["--item-vectors", vectors, "--items", items, "--rule", "none", "--principal"]
    more = ["--user-vectors", tmp_path / "users.npz"]
    assert run("import", *given, "--out", tmp_path / "anybody") == 0
    assert run("import", *given, *more, "--out", tmp_path / "kind") == 0
    anybody, kind = (artifact.load(tmp_path / name) for name in ("anybody", "kind"))
    assert "SIMULATED from those of about 200 users" in kind.card.source
    of_items = dict(zip(people()[0], learned("two_tower")["items"] @ users[0], strict=True))
    shown = [
        [of_items[model.keys[i]] for i in model.catalog.shared_slate[:5]]
        for model in (kind, anybody)
    ]
    likes_in_general = np.std(list(of_items.values()))
    assert np.mean(shown[0]) > np.mean(shown[1]) + likes_in_general


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--scale", "5", "1"], "--scale"),
        (["--like-from", "9"], "--like-from"),
        (["--rule", "posterior"], "needs no prior"),
        (["--dimension", "17"], "17"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_line(
    more: list[str], reason: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, items = write(tmp_path, "truncated_svd")
    out = tmp_path / "m"
    assert run("import", "--item-vectors", vectors, "--items", items, "--out", out, *more) == 2
    error = capsys.readouterr().err
    assert reason in error.splitlines()[-1]
    assert not out.exists()


def test_nothing_is_overwritten(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And that is said before anything is read."""
    assert run("import", "--item-vectors", "no", "--items", "no", "--out", tmp_path) == 2
    assert "does not exist yet" in capsys.readouterr().err
