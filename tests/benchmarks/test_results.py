"""What the report of `make bench` says of its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import results
from benchmarks.results import Part, Result
from benchmarks.rows import Goal, Row, run

ROW = Result("sums", "a sum", ours=3.0, peers={"paper": 6.0}, floor=("argsort", 2.0))


def spin() -> object:
    return sum(range(20_000))


def page(*parts: Part) -> str:
    return results.markdown(parts, {"commit": "abc"}, [])


def test_a_row_stands_beside_its_peer_and_its_floor() -> None:
    assert results.table([ROW]).splitlines()[2] == (
        "| a sum | 3 ms | paper 6 | argsort 2 | 1.50 |  |  |"
    )


def test_a_missed_goal_is_printed_as_missed_at_the_top_and_in_its_row() -> None:
    """Planted bug: a page that lists goals and not whether they were met."""
    late = Result("sums", "late", ours=9.0, floor=("argsort", 2.0), goal="2 argsorts", met=False)
    text = page(Part("selection", "mechanisms", [ROW, late]))
    assert "- sums: late: 4.50 argsort, 9 ms, goal 2 argsorts" in text
    assert "| late | 9 ms |  | argsort 2 | 4.50 | 2 argsorts | **MISSED** |" in text


def test_a_part_that_ended_early_has_a_row_that_says_so() -> None:
    text = page(Part("near", "a question near a place", [], "ended with status -9"))
    assert "- a question near a place: `near` ended with status -9" in text


def test_a_part_measured_on_a_busy_machine_says_so() -> None:
    busy, quiet = (Part("near", "near", [ROW], foreign=each) for each in (1.2, 0.1))
    assert "others took 1.2 cores meanwhile" in page(busy)
    assert "others took" not in page(quiet)


def test_rows_are_gathered_as_they_were_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of `rows` in a process of its own, with their peers and goals, through the file."""
    path = tmp_path / "rows.jsonl"
    monkeypatch.setenv(results.RECORD, str(path))
    goal = Goal(times=1000, floor="one pass")
    made = {"one pass": spin, "paper": spin, "ours": spin}
    run("sums", [Row("a sum", lambda: made, goal, curve="items", x=10)])
    run("sums", [Row("broken", lambda: {"ours": lambda: 1 // 0})])
    good, broken = results.recorded(path)
    assert (good.work, good.met, good.curve, good.x) == ("a sum", True, "items", 10)
    assert list(good.peers) == ["paper"]
    assert good.floor is not None
    assert good.floor[0] == "one pass"
    assert broken.met is False
    assert broken.ours is None


def test_a_report_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    parts = [Part("selection", "mechanisms", [ROW], seconds=2.0)]
    results.write(parts, {"commit": "abc"}, ["`near`: a question"])
    assert results.read() == parts
    assert "`near`: a question" in (tmp_path / "results.md").read_text("utf-8")
