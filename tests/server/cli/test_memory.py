"""What does not fit into memory is one line, whichever command asked for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from askew_server.training import factors


def test_too_much_for_the_memory_is_one_line_without_a_traceback(
    run: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: the error of numpy, with its traceback."""

    def too_large(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(factors, "csr_array", too_large)
    ratings = tmp_path / "ratings.csv"
    pairs = [(person, item) for person in range(60) for item in range(30)]
    rows = [f"{person},{item},{1 + (person * item) % 5}" for person, item in pairs]
    ratings.write_text("\n".join(["user,item,rating", *rows]))
    assert run("train", "--ratings", ratings, "--out", tmp_path / "model") == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "askew-server: this takes more memory than there is; nothing was kept"
    assert not any("Traceback" in line for line in said)
    assert not (tmp_path / "model").exists()
