"""On a terminal a release asks before it spends; a dry run says whether the budget would refuse."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from askew_server.published.reader import ReleaseReader

BUDGET, FAILED, PATIENCE = 3, 1, 120
Run = Callable[..., int]
Captured = pytest.CaptureFixture[str]
KNOWN = ("release", "--events", "log.csv", "--catalog", "films.csv", "--epsilon", 20, "-k", 3)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def released(folder: Path) -> int:
    return len(ReleaseReader(folder / "askew-ledger.sqlite").page("", 0, 9).summaries)


def at_a_terminal(answer: str, *arguments: object) -> tuple[int, str]:
    """The exit code, and what the terminal shows; the answer is typed beforehand."""
    mine, theirs = pty.openpty()
    os.write(mine, answer.encode())
    command = [sys.executable, "-m", "askew_server", *map(str, arguments), "--format", "json"]
    done = subprocess.run(
        command,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(mine, 1 << 16):
            shown += part
    except OSError:  # the other end is closed, and all is read
        pass
    os.close(mine)
    return done.returncode, shown.decode()


# -- asking ---------------------------------------------------------------------------------------


def test_a_terminal_is_asked_and_a_no_spends_nothing(opened: Path) -> None:
    """After the plan and its accuracy. Planted bugs: charged all the same; asked before."""
    before = contents(opened)
    code, shown = at_a_terminal("n\n", *KNOWN)
    assert code == FAILED
    assert shown.index("accuracy") < shown.index("Spend it? [y/N]")
    assert contents(opened) == before


def test_a_yes_spends_and_the_same_request_is_not_asked_again(opened: Path) -> None:
    """The second costs nothing, so there is nothing to ask."""
    code, shown = at_a_terminal("y\n", *KNOWN)
    assert (code, "Spend it?" in shown, released(opened)) == (0, True, 1)
    code, shown = at_a_terminal("n\n", *KNOWN)
    assert (code, "Spend it?" in shown, released(opened)) == (0, False, 1)


@pytest.mark.parametrize(
    ("extra", "code", "made"),
    [(("--yes",), 0, 1), (("--dry-run",), 0, 0), (("--epsilon", 41), BUDGET, 0)],
    ids=["yes", "dry run", "refused"],
)
def test_nothing_is_asked_where_nothing_depends_on_the_answer(
    opened: Path, extra: tuple[object, ...], code: int, made: int
) -> None:
    found, shown = at_a_terminal("n\n", *KNOWN, *extra)
    assert (found, "Spend it?" in shown, released(opened)) == (code, False, made)


def test_a_script_is_not_asked(opened: Path) -> None:
    """Standard input is no terminal: planted bug, a question that waits for ever or aborts."""
    command = [sys.executable, "-m", "askew_server", *map(str, KNOWN)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, b"Spend it?" in done.stderr, released(opened)) == (0, False, 1)


# -- a dry run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_dry_run_that_the_budget_would_refuse_is_exit_code_3(
    opened: Path, run: Run, capsys: Captured, form: str
) -> None:
    """In the words of the refusal, after the plan, and with nothing changed."""
    before = contents(opened)
    assert run(*KNOWN, "--epsilon", 41, "--dry-run", "--format", form) == BUDGET
    shown = capsys.readouterr()
    assert "will spend  epsilon 41" in shown.out + shown.err
    assert "this would cost 41 epsilon; 0 of the data set's budget of 40 is spent" in shown.err
    assert "the budget allows it" not in shown.out + shown.err
    assert contents(opened) == before
    if form == "json":
        assert json.loads(shown.out)["epsilon"] == "41"


def test_a_dry_run_counts_what_is_spent_already(opened: Path, run: Run, capsys: Captured) -> None:
    assert run(*KNOWN, "--epsilon", 25) == 0
    assert run(*KNOWN, "--epsilon", 15, "--dry-run") == 0
    assert "A dry run: the budget allows it;" in capsys.readouterr().out
    assert run(*KNOWN, "--epsilon", 16, "--dry-run") == BUDGET


def test_a_dry_run_of_what_was_released_says_that_it_costs_nothing(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """Also when the budget is used up."""
    assert run(*KNOWN, "--epsilon", 40) == 0
    assert run(*KNOWN, "--epsilon", 40, "--dry-run") == 0
    assert "A dry run: it was released before and costs nothing;" in capsys.readouterr().out


def test_a_dry_run_refuses_a_key_that_stands_for_another_request(
    opened: Path, run: Run, capsys: Captured
) -> None:
    assert run(*KNOWN, "--key", "monday") == 0
    assert run(*KNOWN, "--key", "monday", "-k", 4, "--dry-run") == FAILED
    assert "the key 'monday' stands for another request" in capsys.readouterr().err


def test_a_dry_run_on_a_frozen_ledger_says_that_it_is_frozen(
    opened: Path, run: Run, capsys: Captured
) -> None:
    backup = (opened / "askew-ledger.sqlite").read_bytes()
    assert run(*KNOWN) == 0
    (opened / "askew-ledger.sqlite").write_bytes(backup)
    assert run(*KNOWN, "--dry-run") == FAILED
    assert "the budget allows it" not in capsys.readouterr().out
