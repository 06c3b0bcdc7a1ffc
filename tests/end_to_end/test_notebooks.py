"""The notebooks run, without Jupyter, and show what they showed when they were stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.notebooks import by_chance, cells_of, notebooks, played


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    """In a home of its own. Of what chance has a part in, only the kinds of outputs are compared;
    the assertions of the cells say what must hold.
    """
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.notebooks", str(path)],
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        cwd=path.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    cells = cells_of(path)
    for cell, shown in zip(cells, json.loads(run.stdout), strict=True):
        if by_chance(cell):
            kinds = [
                [each["output_type"] for each in outputs] for outputs in (cell["outputs"], shown)
            ]
            assert kinds[0] == kinds[1] != []
        else:
            assert cell["outputs"] == shown


def test_a_cell_shows_what_it_prints_and_its_last_line_and_fails_by_its_assertions() -> None:
    sources = ("import asyncio\nx = 1", "await asyncio.sleep(0)\nprint(x)\nx + 1", "assert 1 > 2")
    *cells, fails = [{"source": [source], "metadata": {}} for source in sources]
    nothing, both = played(cells)
    assert nothing == []
    assert [each.get("text") or each["data"]["text/plain"] for each in both] == [["1\n"], ["2"]]
    with pytest.raises(AssertionError):
        played([fails])
