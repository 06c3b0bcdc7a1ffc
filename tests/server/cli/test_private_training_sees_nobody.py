"""`train --epsilon` and `update --epsilon`: with the noisy matrix fixed, nobody's ratings change a
byte of a model.

All that is published is to be a function of the noisy matrix and of public things. So the noise is
replaced by one fixed matrix, whatever was counted, and two logs of other people train: what differs
then came past the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from server.release.typed import Captured, Run
from server.taste.noisy_log import ITEMS, KEYS, likes, noisy

from askew.mechanisms.covariance import Matrix, NoisyCovariance

Rows = Iterator[tuple[object, str, float]]
Published = Callable[[Rows], dict[str, bytes]]
BUDGET = ("--epsilon", 1, "--delta", "1e-6", "--dataset", "films")
PLACES = ("--ledger", "ledger.sqlite", "--ratings", "ratings.csv", "--items", "items.csv")


def fans(of: range) -> Rows:
    """People of the log, who rate what they like."""
    rows = likes()
    for person in of:
        for item in rows.indices[rows.indptr[person] : rows.indptr[person + 1]].tolist():
            yield person, KEYS[item], 5


def critics() -> Rows:
    """Others, more of them, who have seen most and like little of it: the rarest items above all;
    one is off the scale, and one knows an item that the catalog does not.
    """
    rarest = set(np.asarray(likes().sum(axis=0)).argsort()[:20].tolist())
    rng = np.random.default_rng(8)
    for person in range(400):
        for item in rng.permutation(ITEMS)[: rng.integers(40, ITEMS)].tolist():
            yield f"c{person}", KEYS[item], 5 if item in rarest else int(rng.integers(1, 5))
    yield "loud", KEYS[3], 900
    yield "elsewhere", "an item of another catalog", 5


@pytest.fixture
def published(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Published:
    """The files of a model and of its update, by name, of these ratings, with a new ledger each."""
    always = noisy()

    def fixed(_: NoisyCovariance, matrix: Matrix, *, bits: object) -> Matrix:
        assert matrix.shape == (ITEMS, ITEMS)
        return always

    monkeypatch.setattr(NoisyCovariance, "perturb", fixed)
    count = 0

    def trained(ratings: Rows) -> dict[str, bytes]:
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        monkeypatch.chdir(folder)
        rows = [f"{user},{item},{rating:g}" for user, item, rating in ratings]
        Path("ratings.csv").write_text("\n".join(["user,item,rating", *rows]) + "\n")
        titles = [f"{key},Film {key} (1990)" for key in KEYS]
        Path("items.csv").write_text("\n".join(["item,title", *titles]) + "\n")
        opened = ("ledger", "open", "--dataset", "films", "--epsilon", 5, "--delta", "1e-5")
        assert run(*opened, "--ledger", "ledger.sqlite") == 0
        assert run("train", *BUDGET, *PLACES, "--out", "model") == 0
        again = ("--again", "--model", "model", "--out", "updated")
        assert run("update", *BUDGET, *PLACES, *again) == 0
        files = {
            f"{model}/{path.name}": path.read_bytes()
            for model in ("model", "updated")
            for path in Path(model).iterdir()
        }
        assert len(files) > 4
        return files

    return trained


@pytest.mark.slow
def test_the_model_is_the_same_whoever_was_counted(published: Published, capsys: Captured) -> None:
    """Likes, dislikes, how many there are of each, ratings off the scale, items that nobody knows.

    Planted bugs: an item kept by its true count; a card's figure, count or source of real people;
    seen items in a prior; a scale or a law of lengths of these ratings; a digest of their file; an
    update of the ratings themselves.
    """
    seen = []
    for people in (fans(range(300)), critics()):
        files = published(people)
        lines = capsys.readouterr().out.splitlines()
        [popular] = [line for line in lines if line.startswith("popular ")]
        seen.append((files, popular))
    assert seen[0] == seen[1]
