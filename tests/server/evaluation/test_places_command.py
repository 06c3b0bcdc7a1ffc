"""`askew-server evaluate --places`: its files, its refusals, and what a stop leaves behind."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from askew_server.cli.main import cli
from askew_server.evaluation.places import study
from askew_server.evaluation.places.cells import PlaceCell

SMALL = ("--items", "200,300", "--levels", "town", "-k", "5,20", "--people", "6", "--draws", "2")
RULES = ("--rules", "nearest,codebook,area,served")


def run(out: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["evaluate", "--places", "--out", str(out), *options])


def test_the_command_writes_cells_with_errors_and_says_what_they_are(tmp_path: Path) -> None:
    result = run(tmp_path, *SMALL, *RULES)
    assert result.exit_code == 0, result.output
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["items"] for row in rows} == {"200", "300"}
    assert {row["rule"] for row in rows} == {"nearest", "codebook", "area", "served"}
    assert all(float(row["extra_error"]) >= 0 and row["n_people"] == "6" for row in rows)
    assert {"ratio_error", "over_nearest", "filter_0.05_none"} < rows[0].keys()
    told = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert told["whole"]
    assert told["protocol"]["seed"] == 0
    assert len(told["goals"]) == 1, "goals of cells that were not played are not claimed"
    assert (tmp_path / "places-town.svg").is_file()
    assert "SIMULATED" in result.output
    assert "rural, map, 200 items, town, k = 20:" in result.output
    for rule in ("nearest", "served"):  # behind a filter that few pass the nearest can be better
        assert f"200 items, town, {rule}, k = 20: 50% pass:" in result.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilons", "1"), "--epsilons does not go with --places"),
        (("--seeds", "0,1"), "one seed"),
        (("--levels", "city"), "county, town, district"),
        (("--rules", "buckets"), "codebook, items, posterior"),
        (("--items", "5"), "items"),
        (("--workers", "0"), "workers"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, options: tuple[str, str], words: str
) -> None:
    result = run(tmp_path / "out", *options)
    assert result.exit_code != 0
    assert words in result.output
    assert not (tmp_path / "out").exists()


def test_without_places_their_options_are_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["evaluate", "--draws", "10", "--out", str(tmp_path / "o")])
    assert result.exit_code == 2
    assert "--draws goes only with --places" in result.output
    wrong = CliRunner().invoke(cli, ["evaluate", "--rules", "best", "--out", str(tmp_path / "o")])
    assert wrong.exit_code == 2
    assert "'best'" in wrong.output


def test_a_stop_leaves_the_cells_that_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = study.cells_of
    played: list[Any] = []

    def stopped(*given: Any) -> tuple[PlaceCell, ...]:
        played.append(given)
        if len(played) == 2:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(study, "cells_of", stopped)
    result = run(tmp_path, *SMALL, *RULES)
    assert result.exit_code == 130
    assert "stopped:" in result.output
    told = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert not told["whole"]
    assert {cell["label"]["items"] for cell in told["cells"]} == {200}
