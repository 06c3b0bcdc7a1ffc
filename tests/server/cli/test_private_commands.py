"""`train --epsilon` and `update --epsilon`: said, charged, made, and refused."""

from __future__ import annotations

import shutil
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from server.release.typed import Captured, Run

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT
from askew.mechanisms.covariance import NoisyCovariance
from askew_server.ledger import Ledger
from askew_server.taste import artifact
from askew_server.taste.paid_matrix import NOISY, read_matrix

PEOPLE, ITEMS = 400, 30
ITEMS_FILE = ("--items", "items.csv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ratings of two crowds, one for each half of the items; a ledger."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = [
        (person, item, 5 if item % 2 == person % 2 else 1)
        for person in range(PEOPLE)
        for item in rng.choice(ITEMS, 16, replace=False).tolist()
    ]
    lines = "".join(f"{u},{i},{r}\n" for u, i, r in rows)
    Path("ratings.csv").write_text(f"user,item,rating\n{lines}")
    titles = "".join(f"{item},Film {item} (1990)\n" for item in range(ITEMS))
    Path("items.csv").write_text(f"item,title\n{titles}")
    with Ledger(Path("l.sqlite"), Path("l.sqlite.mark")) as ledger:
        cap = PrivacyFilter(epsilon=Fraction(20), delta=Fraction(1, 10))
        ledger.open_dataset("films", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
    return tmp_path


def asked(run: Run, command: str, *more: str, ratings: str = "ratings.csv") -> int:
    numbers = ("--epsilon", "8", "--delta", "1e-6", "--ledger", "l.sqlite")
    return run(command, *numbers, "--ratings", ratings, *ITEMS_FILE, *more)


def spent() -> float:
    with Ledger(Path("l.sqlite"), Path("l.sqlite.mark")) as ledger:
        return float(ledger.dataset("films").spent.epsilon)


def test_a_model_is_paid_once_and_an_update_is_paid_again(
    folder: Path, run: Run, capsys: Captured
) -> None:
    assert asked(run, "train", "--out", "m") == 0
    out = capsys.readouterr().out
    assert "2 such matrices, with this one" in out
    assert "epsilon 8, delta 1e-06 for all that one person likes" in out
    assert "by the noisy matrix: with " in out
    assert spent() == 8
    fields, _, _ = read_matrix(folder / "m" / NOISY)
    assert (fields.items, fields.epsilon) == (ITEMS, "8")
    assert artifact.load(folder / "m").card.simulated
    assert not (folder / "m.noisy").exists()

    plain = ("--model", "m", "--ratings", "ratings.csv", "--items", "items.csv", "--out", "m2")
    assert run("update", *plain) == 2
    (folder / "m" / NOISY).unlink()
    assert run("update", *plain) == 2  # the manifest says it, too

    with Path("ratings.csv").open("a") as log:
        log.write("new,1,5\n")
    assert asked(run, "update", "--model", "m", "--out", "m2") == 1
    assert "--as-of or --again makes another, which is paid" in capsys.readouterr().err
    assert asked(run, "update", "--model", "m", "--out", "m2", "--as-of", "monday") == 0
    assert spent() == 16
    assert "adds up with what each matrix before it told" in capsys.readouterr().out
    assert "epsilon 8, delta 1e-06 more," in artifact.load(folder / "m2").card.source
    assert asked(run, "update", "--model", "m", "--out", "m3", "--again") == 3
    assert spent() == 16


@pytest.mark.parametrize("ratings", ["ratings.csv", "ratings.dat", "folder"])
def test_a_repeat_needs_no_ratings_and_charges_nothing(
    folder: Path, run: Run, capsys: Captured, ratings: str
) -> None:
    Path("folder").mkdir()
    shutil.copy("ratings.csv", "folder/1.csv")
    rows = Path("ratings.csv").read_text().partition("\n")[2]
    Path("ratings.dat").write_text(rows.replace(",", "::").replace("\n", "::0\n"))
    again = partial(asked, run, "train", "--out", ratings=ratings)
    assert again("m") == 0
    (folder / "m" / NOISY).rename("kept")
    for path in ("folder/1.csv", "ratings.csv", "ratings.dat"):
        Path(path).unlink()
    Path("folder").rmdir()
    capsys.readouterr()

    assert again("m2") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"copy {NOISY} of the model that has it to m2.noisy, and ask again" in shown.err
    assert "charging" not in shown.err
    assert again("m2", "--dry-run") == 0
    assert "nothing was charged" in capsys.readouterr().out
    (folder / "kept").rename("m2.noisy")
    assert again("m2") == 0
    shown = capsys.readouterr()
    assert "nothing counted or spent" in shown.out
    assert "charging" not in shown.err
    assert spent() == 8


def test_a_matrix_of_another_encoding_is_paid_again(folder: Path, run: Run) -> None:
    small = ("train", "--out")
    assert asked(run, *small, "m", "--encoding", "klingon") == 1
    assert spent() == 0
    assert asked(run, *small, "m", "--encoding", "latin-1") == 0
    assert asked(run, *small, "m2", "--encoding", "cp1252") == 0
    assert spent() == 16


HEAD = "user,item,rating\n"
REFUSED = {
    "ratings.zip": ("PK", "private training counts parquet, csv,"),
    "really.csv": ('{"user":1,"item":2,"rating":5}\n', "JSON is not counted"),
    "torn.tsv": ('user\titem\trating\n1\t"2"x\t5\n', "a quote is not closed, or text follows"),
    "hidden/.part.csv": (HEAD, "is hidden"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_counted_is_refused_before_the_charge(
    folder: Path, run: Run, name: str, capsys: Captured
) -> None:
    """In a sentence that quotes nothing of a line, nor its number. Planted bug: charged first."""
    content, reason = REFUSED[name]
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    ratings = name if path.parent == Path() else str(path.parent)
    assert asked(run, "train", "--out", "m", ratings=ratings) != 0
    said = capsys.readouterr().err
    assert reason in said
    assert "line " not in said
    assert spent() == 0
    assert not Path("m").exists()


@pytest.mark.slow
def test_after_a_crash_a_request_is_refused_until_it_is_asked_again(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Planted bug: no way on, since the request is for ever the charge that made nothing."""

    def dies(*_: object, **__: object) -> None:
        raise MemoryError

    small = ("--out", "m")
    with monkeypatch.context() as broken:
        broken.setattr(NoisyCovariance, "perturb", dies)
        assert asked(run, "train", *small) != 0
    assert spent() == 8
    assert asked(run, "train", *small) != 0
    assert "--again makes another, which is paid" in capsys.readouterr().err
    assert spent() == 8
    for words in (("--again",), ()):  # and then it is stored
        capsys.readouterr()
        assert asked(run, "train", *small, *words) == 0
        assert ("nothing counted or spent" in capsys.readouterr().out) == (not words)
        assert spent() == 16
        (folder / "m" / NOISY).rename(folder / "m.noisy")
        shutil.rmtree(folder / "m")


def test_a_model_that_is_worth_nothing_is_said_to_be(
    folder: Path, run: Run, capsys: Captured
) -> None:
    """And nobody's rating decides between a model and an error. Planted bugs: a model of noise
    alone, whose figures are as good as any; a rating beyond every scale, which ends a training that
    is paid for.
    """
    with Path("ratings.csv").open("a") as log:
        log.write("loud,1,5000\n")
    assert asked(run, "train", "--out", "m") == 0
    capsys.readouterr()
    Path("ratings.csv").write_text("user,item,rating\n1,1,5\n")
    asked(run, "train", "--again", "--out", "m2")
    assert "people, no better than a list of what is popular" in capsys.readouterr().out


def test_what_promises_nothing_is_not_worth_it_or_only_tried_spends_nothing(
    folder: Path, run: Run, capsys: Captured
) -> None:
    for more, code in (("--expect", "20"), 1), (("--dry-run",), 0):
        assert asked(run, "train", *more, "--out", "m") == code
    numbers = ("--epsilon", "8", "--ledger", "l.sqlite")
    for options in (
        *((*numbers, "--delta", delta) for delta in ("0", "1")),
        ("--max-items-per-unit", "5"),  # a privacy of training is not taken for that of devices
        ("--epsilon", "1"),
    ):
        assert run("train", *options, "--ratings", "ratings.csv", *ITEMS_FILE, "--out", "m") == 2
        assert options[-2] in capsys.readouterr().err
    assert spent() == 0
    assert not (folder / "m").exists()
