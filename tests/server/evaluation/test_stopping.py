"""A stopped study writes what it found, and says so."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from askew_server.cli import progress as command
from askew_server.cli.main import cli
from askew_server.demo.simulation import films, simulate

OPTIONS = ("--quick", "--epsilons", "1,8", "--min-ratings", "5")
ASKED = (*OPTIONS, "--rules", "none,posterior", "-k", "1,3")


@cache
def ratings() -> str:
    made = simulate(films(), n_people=300)
    columns = (made.person.tolist(), made.item.tolist(), made.rating.tolist())
    rows = [f"{person},{item},{rating}" for person, item, rating in zip(*columns, strict=True)]
    return "\n".join(["user,item,rating", *rows])


class Evaluation:
    """The command on one file of ratings; `played` has the parts that it was busy with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = folder / "out"
        self.played: list[str] = []
        self.at: dict[str, Callable[[], object]] = {}
        self._file = folder / "ratings.csv"
        self._file.write_text(ratings())
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
                self.played.append(doing.partition(", ")[2])
                self.at.pop(self.played[-1], lambda: None)()

        yield told

    def files(self, out: str = "out") -> dict[str, bytes]:
        folder = self.out.with_name(out)
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluation:
    return Evaluation(tmp_path, monkeypatch)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_study_leaves_the_cells_that_it_has(
    evaluation: Evaluation, number: signal.Signals, code: int
) -> None:
    """Planted bug: figures of a study that was not played to its end, said to be whole."""
    evaluation.at["epsilon 8"] = lambda: os.kill(os.getpid(), number)
    stopped = evaluation.run()
    assert stopped.exit_code == code, stopped.output
    assert stopped.output.splitlines()[-1].startswith("stopped: 6 cells are in ")
    assert set(evaluation.files()) == {"cells.csv", "study.json"}
    assert json.loads(evaluation.files()["study.json"])["whole"] is False
    assert evaluation.files()["cells.csv"].count(b"\n") == 1 + 6


def test_a_sample_of_people_says_so(evaluation: Evaluation) -> None:
    """Planted bug: a sample that leaves the figures those of everybody."""
    assert evaluation.run("--people", "150").exit_code == 0
    study = json.loads(evaluation.files()["study.json"])
    assert study["n_people"] == 150
    assert study["whole"] is True
    assert study["source"] == "ratings.csv, a sample of 150 of 300 people"
