"""A stopped study keeps what it found, says so, and goes on from there to the same figures."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from askew_server.cli import evaluate_ratings as command
from askew_server.cli.main import cli
from askew_server.demo.simulation import films, simulate
from askew_server.evaluation import study as studies

OPTIONS = ("--quick", "--truths", "next", "--epsilons", "1,8", "--min-ratings", "5", "--principal")
ASKED = (*OPTIONS, "--rules", "none,posterior", "-k", "1,3")
PARTS = ("no signal", "epsilon 1", "epsilon 8", "as published", "signal dimensions")


@cache
def ratings() -> dict[str, np.ndarray]:
    made = simulate(films(), n_people=300)
    return {"user": made.person, "item": made.item, "rating": made.rating}


class Evaluation:
    """The command on one file of ratings; `played` has the parts that it was busy with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = folder / "out"
        self.played: list[str] = []
        self.at: dict[str, Callable[[], object]] = {}
        self._file = folder / "ratings.npz"
        np.savez(self._file, **ratings())  # type: ignore[arg-type]  # no array is allow_pickle
        monkeypatch.setattr(command, "shown_share", self._told)

    def run(self, *options: str, out: str = "out") -> Result:
        self.played = []
        where = str(self.out.with_name(out))
        arguments = ["evaluate", "--ratings", str(self._file), "--out", where, *ASKED, *options]
        return CliRunner().invoke(cli, arguments, env={"COLUMNS": "120"})

    @contextmanager
    def _told(self) -> Iterator[Callable[[str, float], None]]:
        def told(doing: str, _: float) -> None:
            if doing != "done":
                self.played.append(doing.partition(", ")[2].removeprefix("next").lstrip(",: "))
                self.at.pop(self.played[-1], lambda: None)()

        yield told

    def files(self, out: str = "out") -> dict[str, bytes]:
        folder = self.out.with_name(out)
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluation:
    return Evaluation(tmp_path, monkeypatch)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_study_goes_on_to_the_same_bytes(
    evaluation: Evaluation, number: signal.Signals, code: int
) -> None:
    """Planted bugs: parts played again; a part's findings that depend on what was played before it
    in the same process; figures of arrays that were mixed up on disk.
    """
    evaluation.at["epsilon 8"] = lambda: os.kill(os.getpid(), number)
    stopped = evaluation.run()
    assert stopped.exit_code == code, stopped.output
    assert stopped.output.splitlines()[-1].startswith("stopped: 6 cells are in ")
    assert set(evaluation.files()) == {"cells.csv", "study.json"}
    assert json.loads(evaluation.files()["study.json"])["whole"] is False
    assert evaluation.files()["cells.csv"].count(b"\n") == 1 + 6

    assert evaluation.run().exit_code == 0
    assert tuple(evaluation.played) == PARTS[2:]
    assert not (evaluation.out / "unfinished").exists()
    assert evaluation.run(out="at once").exit_code == 0
    assert tuple(evaluation.played) == PARTS
    assert evaluation.files() == evaluation.files("at once")
    assert json.loads(evaluation.files()["study.json"])["whole"] is True


def test_findings_of_other_options_are_not_taken_and_not_lost(evaluation: Evaluation) -> None:
    evaluation.at["epsilon 8"] = lambda: os.kill(os.getpid(), signal.SIGTERM)
    evaluation.run()
    kept = sorted((evaluation.out / "unfinished").iterdir())
    other = evaluation.run("--seeds", "1")
    assert "has what was found with other ratings or options" in str(other.exception)
    assert evaluation.played == []
    assert sorted((evaluation.out / "unfinished").iterdir()) == kept


def test_findings_of_other_people_are_not_taken(evaluation: Evaluation) -> None:
    """Planted bug: a sample that leaves the figures those of everybody."""
    assert evaluation.run("--people", "150").exit_code == 0
    study = json.loads(evaluation.files()["study.json"])
    assert study["n_people"] == 150
    assert study["source"] == "ratings.npz, a sample of 150 of 300 people"
    evaluation.at["epsilon 8"] = lambda: os.kill(os.getpid(), signal.SIGTERM)
    assert evaluation.run("--people", "150").exit_code == 143
    other = evaluation.run("--people", "140")
    assert "has what was found with other ratings or options" in str(other.exception)


def test_a_part_that_was_cut_short_is_played_again(evaluation: Evaluation) -> None:
    """As a full disk or a lost power leaves it."""
    evaluation.at["signal dimensions"] = lambda: os.kill(os.getpid(), signal.SIGTERM)
    evaluation.run()
    part = evaluation.out / "unfinished" / "0-next-1.0.safetensors"
    part.write_bytes(part.read_bytes()[:-100])
    assert evaluation.run().exit_code == 0
    assert evaluation.played == ["epsilon 1", "signal dimensions"]


def test_a_stop_in_the_middle_of_a_part_leaves_the_parts_before(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(studies, "leak", killed)
        assert evaluation.run().exit_code == 143
    assert evaluation.files()["cells.csv"].count(b"\n") == 1 + 4
    assert evaluation.run().exit_code == 0
    assert tuple(evaluation.played) == PARTS[1:]
