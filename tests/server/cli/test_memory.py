"""What does not fit into memory is one line, whichever command asked for it: what was being done
and what to do. Nothing is half-written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from askew_server.ratings import reader
from askew_server.taste import people

Run = Callable[..., int]
END = (
    ": takes more memory than there is. Nothing is half-written. Give it more memory or less data: "
    "of ratings, those of fewer people"
)


def too_large(*_: object, **__: object) -> None:
    """An exabyte, so that the error is numpy's own."""
    np.empty(1 << 57)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    pairs = [(person, item) for person in range(60) for item in range(30)]
    stars = np.random.default_rng(1).integers(1, 6, len(pairs))  # as varied as a space needs
    rows = [f"{person},{item},{n}" for (person, item), n in zip(pairs, stars, strict=True)]
    path.write_text("\n".join(["user,item,rating", *rows]))
    return path


@pytest.fixture
def last_line(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """The last line of standard error, which has no traceback."""

    def last() -> str:
        lines = capsys.readouterr().err.splitlines()
        assert not any("Traceback" in line for line in lines)
        return lines[-1]

    return last


@pytest.mark.parametrize(
    ("where", "name", "doing"),
    [
        (reader, "_unified", "train, reading ratings"),
        (people, "csr_array", "train, training: item vectors"),
    ],
)
def test_training_says_at_which_step_and_leaves_no_model(
    where: object,
    name: str,
    doing: str,
    run: Run,
    ratings: Path,
    last_line: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bugs: the error of numpy with its traceback; a line that names no step."""
    monkeypatch.setattr(where, name, too_large)
    out = ratings.parent / "model"
    assert run("train", "--ratings", ratings, "--out", out) == 1
    assert last_line() == f"askew-server: {doing}{END}"
    assert [ratings] == list(ratings.parent.iterdir())
