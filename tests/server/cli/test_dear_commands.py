"""Items with payloads, as an operator makes them: slates by their vectors, and a folder of
payloads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from askew.protocol.utility_table import ServingMode
from askew.spaces.buckets import SlateCodebook
from askew_server.taste.model import artifact, item_model

Run = Callable[..., int]
RNG = np.random.default_rng(5)
OF_TWO_TASTES = [
    (f"p{person}", f"a{item:02}", int(np.clip(RNG.normal(4.5 - 3 * ((item + person) % 2)), 1, 5)))
    for person in range(60)
    for item in range(24)
    if RNG.random() < 0.7
]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Sixty people of two tastes and two dozen articles."""
    lines = "".join(f"{person},{item},{rating}\n" for person, item, rating in OF_TWO_TASTES)
    (tmp_path / "ratings.csv").write_text("user,item,rating\n" + lines)
    return tmp_path / "ratings.csv"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A page for each article but the last."""
    (tmp_path / "pages").mkdir()
    for item in range(23):
        (tmp_path / "pages" / f"a{item:02}.html").write_text(f"page {item}")
    return tmp_path / "pages"


def train(run: Run, ratings: Path, out: Path, *more: object) -> int:
    size = ("--ranking-dimension", 2, "--min-ratings", 2, "-k", 2)
    return run("train", "--ratings", ratings, "--out", out, *size, *more)


@pytest.mark.slow
def test_a_model_of_articles_is_trained_and_updated(
    tmp_path: Path, run: Run, ratings: Path, pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dear = ("--has-payloads", "--prior-cohort", "readers", "--payloads", pages)
    assert train(run, ratings, tmp_path / "m1", *dear) == 0
    shown = capsys.readouterr().out
    model = artifact.load(tmp_path / "m1")
    assert isinstance(slates := model.card.space.buckets, SlateCodebook)
    assert f"slates     {len(slates)} of 2 items, whose vectors devices hold" in shown
    assert model.card.utility_table is not None
    assert (
        model.card.utility_table.proposal.mode is not ServingMode.LOCAL
    )  # what is held cannot be read
    assert "payloads   23 of 24 items, 151 bytes, 7 the largest" in shown
    assert model.payloads is not None
    assert [model.payloads[item] for item in (3, 23)] == [b"page 3", b""]

    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a23").write_text("late news")
    files = ("--ratings", ratings, "--payloads", tmp_path / "later")
    assert run("update", "--model", tmp_path / "m1", *files, "--out", tmp_path / "m2") == 0
    again = artifact.load(tmp_path / "m2")
    assert again.card.space == model.card.space
    assert again.payloads is not None
    assert [again.payloads[item] for item in (3, 23)] == [b"page 3", b"late news"]


def test_without_a_prior_there_is_nobody_to_choose_slates_for(
    tmp_path: Path, run: Run, ratings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(run, ratings, tmp_path / "m1", "--has-payloads") == 2
    assert "slates are chosen for its people" in capsys.readouterr().err
    assert not (tmp_path / "m1").exists()


def test_a_folder_of_other_files_is_refused_before_anything_is_trained(
    tmp_path: Path,
    run: Run,
    ratings: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A training takes minutes, and would be lost. Planted bug: the folder is read after it."""
    monkeypatch.setattr(item_model, "train", lambda *_, **__: pytest.fail("trained for nothing"))
    (tmp_path / "empty").mkdir()
    assert train(run, ratings, tmp_path / "m1", "--payloads", tmp_path / "empty") != 0
    assert "no file that is named by the key of an item" in capsys.readouterr().err
    assert not (tmp_path / "m1").exists()
