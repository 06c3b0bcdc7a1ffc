"""The table of planted bugs fits the code, and what is planted is seen. `make mutants` runs all."""

from __future__ import annotations

import tomllib
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from queue import SimpleQueue

import pytest
from benchmarks import mutants
from benchmarks.claims import claims
from benchmarks.mutants import ROOT, TABLE, Bug, bugs, copies, main, seen_by
from guarantees.audit import report

BUGS = bugs()
SOME = ("who was shown one server asks another", "private work overlaps a connection")


def test_the_text_of_every_bug_is_in_the_code_once_and_its_tests_are_there() -> None:
    assert len({bug.says for bug in BUGS}) == len(BUGS) >= 150
    wrong = []
    for bug in BUGS:
        try:
            compile(bug.planted(), bug.file, "exec")  # a bug that is no Python, anything would see
        except (ValueError, SyntaxError) as error:
            wrong.append(f"{bug.says}: {error}")
        for test in bug.tests:
            file, *_, name = test.partition("[")[0].split("::")
            is_there = (ROOT / file).is_file() and f"def {name}(" in words_of((ROOT / file).parent)
            wrong += [] if is_there else [f"{bug.says}: {test}"]
    assert wrong == []


@cache
def words_of(folder: Path) -> str:
    """The files of a room, and contracts of several rooms."""
    return "".join(map(Path.read_text, [*folder.glob("*.py"), *(ROOT / "tests").glob("*.py")]))


NAMED = {test.partition("[")[0] for bug in BUGS for test in bug.tests}
OTHERS = {each["test"]: each["why"] for each in tomllib.loads(TABLE.read_text("utf-8"))["other"]}


def files_of(test: str) -> list[str]:
    inside = sorted((ROOT / test).glob("**/test_*.py"))
    return [str(each.relative_to(ROOT)) for each in inside] or [test]


PROMISES = sorted(
    {each for claim in claims() for test in claim.tests for each in files_of(test)}
    | set(files_of("tests/guarantees"))
)


def sees_a_bug(test: str) -> bool:
    """Whether a row names it: one of a file's tests, or a test alone."""
    file, _, name = test.partition("::")
    if name:
        return bool(NAMED & {test, file})
    return any(each.partition("::")[0] == file for each in NAMED)


def test_every_test_of_a_promise_sees_a_bug_or_says_why_it_sees_none() -> None:
    """Planted bugs: a test of a promise that no bug of the table makes fail; a reason that stayed
    when its test got a bug.
    """
    assert [test for test in PROMISES if sees_a_bug(test) == (test in OTHERS)] == []
    assert OTHERS.keys() <= set(PROMISES)
    assert len(OTHERS) <= 7
    assert all(len(why) > 40 for why in OTHERS.values())


@pytest.mark.slow
def test_bugs_are_seen_and_code_without_a_bug_is_not(tmp_path: Path) -> None:
    """Planted bug: a runner that calls everything caught."""
    chosen = [each for each in BUGS if each.says in SOME]
    assert len(chosen) == len(SOME)
    with copies(1) as free:
        assert all(seen_by(each, free) for each in chosen)
        harmless = Bug("nothing", chosen[0].file, '"""', '""" ', chosen[0].tests)
        text = (ROOT / harmless.file).read_text(encoding="utf-8")
        first = text.partition("\n")[0]
        same = Bug("nothing", harmless.file, first, first + " ", harmless.tests)
        assert seen_by(same, free) is None


def test_words_that_no_bug_has_plant_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Planted bug: no test is named then, so the run of all tests begins."""
    assert main(["words that no bug has"]) == 1
    assert capsys.readouterr().out.startswith("no bug of the table has these words")


def test_a_report_quotes_the_last_run_of_all_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a report that looks for another file than the run writes."""
    last = tmp_path / "build/mutants.txt"
    for module in (mutants, report):
        monkeypatch.setattr(module, "LAST", last)
    monkeypatch.setattr(mutants, "bugs", lambda: BUGS[:2])
    monkeypatch.setattr(mutants, "copies", lambda _: nullcontext(SimpleQueue()))
    monkeypatch.setattr(mutants, "without_a_bug", lambda *_: (0, None))
    monkeypatch.setattr(mutants, "seen_by", lambda bug, _: bug.tests[0] if bug is BUGS[0] else None)
    assert main([BUGS[0].says]) == 0
    assert report.report_of([], [])["mutants"] == "not run here"
    assert main([]) == 1
    assert ": caught 1 of 2 in 0 s" in report.report_of([], [])["mutants"]
