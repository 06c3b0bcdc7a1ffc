"""Play counts and other scales are understood, or refused whole: no row of them is dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_world import made_space

from askew.errors import DataError, ParameterError
from askew.spaces.vectors import RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste import artifact
from askew_server.taste.item_vectors import GivenVectors
from askew_server.taste.options import TrainingOptions
from askew_server.taste.space_fit import rating_scale_of

Run = Callable[..., int]


def play_counts(n_people: int = 120, n_items: int = 40) -> list[tuple[str, str, int]]:
    """Who played what how often: log-normal, from 1 to hundreds of thousands. Simulated."""
    rng = np.random.default_rng(7)
    kinds, rows = rng.integers(3, size=n_items), []
    for person in range(n_people):
        weights = np.where(kinds == person % 3, 6.0, 1.0)
        for item in rng.choice(n_items, size=15, replace=False, p=weights / weights.sum()):
            plays = int(np.exp(rng.normal(5, 2.2))) + 1
            rows.append((f"person {person}", f"Band {item} ({1960 + item})", plays))
    return rows


def write(path: Path, rows: list[tuple[str, str, int]]) -> None:
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{n}\n" for u, i, n in rows))


def test_counts_train_with_every_row_and_without_an_items_file(
    tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, path, out = play_counts(), tmp_path / "plays.csv", tmp_path / "model"
    write(path, rows)
    options = ["--counts", "--min-ratings", 5]
    assert run("train", "--ratings", path, "--out", out, *options) == 0
    shown = capsys.readouterr()
    assert "bad rows" not in shown.err
    assert f"{len(rows):,} by 120 people of 40 items" in shown.out
    model = artifact.load(out)
    assert model.card.space.scale == RatingScale(0.0, 1.0, 1.0)
    assert model.counts["likes"] == model.counts["ratings"]
    assert model.catalog.items[0].label == "Band 0 (1960)"
    options += ["--like-from", 100]
    assert run("train", "--ratings", path, "--out", tmp_path / "fewer", *options) == 0
    fewer = artifact.load(tmp_path / "fewer")
    assert (fewer.training.counts, fewer.training.like_from) == (100.0, None)
    assert 0.4 < fewer.counts["likes"] / fewer.counts["ratings"] < 0.8


def test_an_update_of_such_a_model_reads_counts_and_keeps_the_titles(
    tmp_path: Path, run: Run
) -> None:
    path, items, old, new = (tmp_path / name for name in ("plays.csv", "items.csv", "a", "b"))
    titles = "".join(f"Band {i} ({1960 + i}),Name {i}\n" for i in range(40))
    items.write_text("item,title\n" + titles)
    write(path, play_counts())
    options = ["--counts", "--items", items, "--min-ratings", 5]
    assert run("train", "--ratings", path, "--out", old, *options) == 0
    write(path, [*play_counts(), *((f"person {p}", "Band 99 (1999)", 4000) for p in range(60))])
    assert run("update", "--model", old, "--ratings", path, "--out", new) == 0
    labels = {item.label for item in artifact.load(new).catalog.items}
    assert labels == {*(f"Name {i}" for i in range(40)), "Band 99 (1999)"}


def table_of(ratings: list[float]) -> RatingTable:
    own = np.arange(len(ratings))
    return RatingTable(own, own, np.array(ratings), len(own), tuple(map(str, own)))


def test_a_scale_on_which_hardly_anything_is_a_like_is_refused_by_default() -> None:
    """Counts below 1000, or one 99 among stars. Planted bug: a model of the few at the top."""
    plays = [float(min(int(np.exp(z)), 999)) for z in np.random.default_rng(3).normal(2, 1.5, 5000)]
    stars = [1.0 + place % 5 for place in range(999)]
    for ratings in (plays, [*stars, 99.0]):
        with pytest.raises(DataError, match=r"--counts.*--like-from"):
            rating_scale_of(table_of(ratings))
        assert rating_scale_of(table_of(ratings), 4.0).like_from == 4
    assert rating_scale_of(table_of(stars)).like_from == 4


def test_counts_are_not_told_in_the_vectors_of_a_model_of_ratings() -> None:
    space = made_space()
    vectors = GivenVectors(("0", "1"), np.eye(2, dtype="f4"), space.scale, None, space.scales)
    with pytest.raises(ParameterError, match="counts"):
        vectors.fit(table_of([1.0, 9.0]).likes_of_counts(1.0), TrainingOptions(counts=1.0))
