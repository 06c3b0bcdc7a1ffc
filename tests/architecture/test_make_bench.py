"""`make bench` runs to its end whatever one part says, and then says which were beyond a goal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from benchmarks import __main__ as bench
from benchmarks import count, results

ROOT = Path(__file__).parents[2]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Three parts in a folder of their own, the second of which fails."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name, code in (("one", 0), ("two", 1), ("three", 0)):
        (folder / f"{name}.py").write_text(
            f"import sys; print('{name}', *sys.argv[1:]); sys.exit({code})"
        )
    parts = {name: bench.Part(name, "", usual=name != "three") for name in ("one", "two", "three")}
    monkeypatch.setattr(bench, "PARTS", parts)
    monkeypatch.setattr(results, "HERE", tmp_path)
    monkeypatch.chdir(tmp_path)
    return list(parts)


def test_every_part_runs_and_a_failure_is_told_at_the_end(
    played: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Planted bugs: the first failure stops the rest; a loop that forgets the failures."""
    assert bench.main([]) == 1
    said = capfd.readouterr()
    assert said.out.splitlines()[:2] == ["one", "two"]
    assert said.err.strip() == "beyond a goal, or broken: two"
    assert Path("build/bench/two.txt").read_text() == "two\n"
    report = Path("results.md").read_text("utf-8")
    assert "`two` ended with status 1" in report.partition("## Missed")[2].partition("\n## ")[0]
    assert "- `three`" in report.partition("## Left out of this run")[2]
    assert [part.name for part in results.read()] == ["one", "two"]


def test_one_part_runs_with_its_arguments(
    played: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["three", "1e7"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "three 1e7"
    assert not Path("results.md").exists()
    assert bench.main(["four"]) == 2


def test_every_part_is_a_module_and_make_hands_names_on() -> None:
    """Planted bug: a name of the table whose module was renamed."""
    for part in bench.PARTS.values():
        assert (ROOT / "benchmarks" / f"{part.module.replace('.', '/')}.py").is_file(), part
    told = subprocess.run(
        ["make", "-n", "bench", "NAME=near", "ARGS=1e7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-m benchmarks near 1e7" in told.stdout


@pytest.mark.parametrize("ran", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_count_says_how_large_everything_is(
    ran: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ran: also what questions to servers enter, which takes longer than all else."""
    if not ran:
        monkeypatch.setattr(count, "entered_by_questions", lambda: (60, 61))
    assert count.main() == 0
    said = capsys.readouterr().out
    assert "lines of shared, client and server" in said
    assert len(said.splitlines()) > 12
    if ran:
        near, ask = (
            int(found) for found in re.findall(r"^files entered .* (\d+) +\d+$", said, re.MULTILINE)
        )
        assert 20 < near < 200
        assert 20 < ask < 200
