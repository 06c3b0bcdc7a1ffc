"""A stopped study writes what it found, and says so."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from askew_server.cli.main import cli
from askew_server.cli.progress import Steps
from askew_server.demo.simulation import films, simulate

OPTIONS = ("--seeds", "0", "--epsilons", "1,8", "--min-ratings", "5", "-k", "1,3")


class Evaluation:
    """The command on one file of ratings. at: what happens when a part of the work begins."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out, self._file = folder / "out.csv", folder / "ratings.csv"
        self.at: dict[str, Callable[[], object]] = {}
        made = simulate(films(), n_people=300)
        rows = zip(made.person.tolist(), made.item.tolist(), made.rating.tolist(), strict=True)
        lines = [f"{person},{item},{rating}" for person, item, rating in rows]
        self._file.write_text("\n".join(["user,item,rating", *lines]), encoding="utf-8")
        monkeypatch.setattr(Steps, "step_of_all", self._told)

    def run(self, *options: str) -> Result:
        arguments = ["evaluate", "--ratings", str(self._file), "--out", str(self.out), *OPTIONS]
        return CliRunner().invoke(cli, [*arguments, *options], env={"COLUMNS": "120"})

    def _told(self, doing: str, _: float) -> None:
        self.at.get(doing.partition(", ")[2], lambda: None)()


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluation:
    return Evaluation(tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_study_leaves_the_cells_that_it_has(
    evaluation: Evaluation, number: signal.Signals, code: int
) -> None:
    """Planted bug: figures of a study that was not played to its end, said to be whole. At k = 1
    and 3 there are no signal and five rules at epsilon 1, and nine rows that send nothing.
    """
    evaluation.at["epsilon 8"] = lambda: os.kill(os.getpid(), number)
    stopped = evaluation.run()
    assert stopped.exit_code == code, stopped.output
    assert stopped.output.splitlines()[-1].startswith("stopped: 21 cells are in ")
    assert evaluation.out.read_text(encoding="utf-8").count("\n") == 1 + 21


@pytest.mark.slow
def test_a_sample_of_people_says_so(evaluation: Evaluation) -> None:
    """Planted bug: a sample that leaves the figures those of everybody."""
    done = evaluation.run("--people", "150", "--epsilons", "1")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "ratings.csv, a sample of 150 of 300 people: 150 people" in said
