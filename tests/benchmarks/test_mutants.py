"""The table of planted bugs fits the code, and what is planted is seen. `make mutants` runs all."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.mutants import ROOT, Bug, bugs, copies, seen_by

BUGS = bugs()
SOME = ("a quote may be used twice", "private work overlaps a connection")


def test_there_are_as_many_as_were_promised_and_each_has_words_of_its_own() -> None:
    assert len({each.says for each in BUGS}) == len(BUGS) >= 150


@pytest.mark.parametrize("bug", BUGS, ids=lambda each: each.says)
def test_the_text_of_every_bug_is_in_the_code_once_and_its_tests_are_there(bug: Bug) -> None:
    compile(bug.planted(), bug.file, "exec")  # a bug that is no Python would be seen by anything
    assert bug.tests
    for test in bug.tests:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), test
        beside = (each.read_text(encoding="utf-8") for each in (ROOT / file).parent.glob("*.py"))
        function = name.rpartition("::")[2].partition("[")[0]
        assert any(f"def {function}(" in each for each in beside), test


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
