"""Whether there is a second release, and all that is seen of one, does not depend on the log.

A sequence of commands is run over each of several logs, which stay or change between them: exit
codes, both outputs and every row of the ledger are the same, but for the items that were selected
and the random ids of acts. What decides is what the operator says.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server.release import typed
from server.release.typed import BUDGET, FAILED, Captured, Run, ledger_shown, release_in, spent

from askew_server.cli import release_run
from askew_server.counting import TopCounts

KNOWN = (*typed.KNOWN, "--epsilon", 4)
UNKNOWN = (*typed.UNKNOWN, "--epsilon", 4, "--json")
AS_OF = ("--as-of", "2026-11-29")
REPEAT = "stored on 2026-11-29, nothing counted or spent; --as-of or --again for another"
SEQUENCE: list[tuple[object, ...]] = [
    (*KNOWN, "--dry-run"),
    KNOWN,
    (*KNOWN, "--json"),
    (*KNOWN, "--dry-run"),
    (*KNOWN, *AS_OF),
    (*KNOWN, *AS_OF, "--json"),
    (*KNOWN, "--again", "--json"),
    (*KNOWN, "--expect", 100),
    UNKNOWN,
    UNKNOWN,
    (*UNKNOWN, *AS_OF, "--again"),
    (*KNOWN, "--epsilon", 40),  # beyond the budget
    ("ledger", "show", "--json"),
    ("releases", "list"),
]


@pytest.fixture(autouse=True)
def one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_run, "today", lambda: "2026-11-29")


Change = Callable[[bytes], bytes]
HEADER, HELD = b"unit,item\n", b"person 7,film 8\n"
LOGS: list[Change] = [
    lambda log: log + HELD,
    lambda log: log + b"person 7\nperson 7,film\xff\n,\nperson 7,fil",  # no rows
    lambda log: log + b"".join(b"new,film %d\n" % n for n in range(9)),  # a person more
    lambda log: re.sub(rb"person 0,[^\n]*\n", b"", log),  # a person less
    lambda log: log + b"person 7,her diary\n",
    lambda log: log + b'person 7,"film\r8"\nperson\r7,film 8\n',
    lambda log: log + b"".join(b"x%d,film 3\n" % n for n in range(30_000)),
    lambda _: HEADER,
]


def trace(folder: Path, run: Run, capsys: Captured, then: Change) -> list[Any]:
    """All that is seen of the sequence where the log becomes `then` after the first release."""
    log = folder / "log.csv"
    seen: list[Any] = []
    for number, command in enumerate(SEQUENCE):
        if number == 2:
            log.write_bytes(then(log.read_bytes()))
        code = run(*command)
        out, err = capsys.readouterr()
        seen.append((code, without_items(out), without_items(err)))
    with sqlite3.connect(folder / "askew-ledger.sqlite") as book:
        tables = book.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for [table] in tables:
            rows = [[*map(plain, row)] for row in book.execute(f"SELECT * FROM {table}")]
            seen.append((table, rows))
    return seen


def without_items(text: str) -> str:
    """A text without the items that were selected, whether there were fewer than k, and times."""
    text = re.sub(r'"items": ?\[.*?\]|"stopped": ?(true|false)', "", text)
    text = re.sub(r"(?m)^( *\d+)  film \d$", r"\1  film", text)
    text = re.sub(r"(?m)^( *\d+  films +limited-domain +)\d+ ", r"\1", text)  # how many are listed
    return re.sub(r"(?m)^ *\d+ s  ", "", text)


def plain(value: object) -> object:
    """A value of a row, without items and random ids."""
    if isinstance(value, bytes) and len(value) > 32 and value.startswith(b"{"):  # no digest
        return without_items(value.decode())
    return "an id" if isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) else value


@pytest.fixture
def traced(opened: Path, run: Run, capsys: Captured) -> Callable[[Change], list[Any]]:
    """What is seen where the log becomes this after the first release, in a folder as it was."""
    kept = {path.name: path.read_bytes() for path in opened.iterdir()}

    def traced(then: Change) -> list[Any]:
        for path in opened.iterdir():
            path.unlink()
        for name, content in kept.items():
            (opened / name).write_bytes(content)
        return trace(opened, run, capsys, then)

    return traced


@pytest.mark.parametrize(
    "changes", [LOGS[:2], pytest.param(LOGS[2:], marks=pytest.mark.slow)], ids=["usual", "odd"]
)
def test_what_is_seen_of_releases_is_the_same_whatever_the_log_holds(
    traced: Callable[[Change], list[Any]], changes: list[Change]
) -> None:
    """Planted bugs: a changed log is another request; how many lines were not counted; a log that
    is looked at before a budget refuses.
    """
    expected = traced(bytes)
    for change in changes:
        assert traced(change) == expected
    # Or equal traces would be no wonder.
    commands = expected[: len(SEQUENCE)]
    assert [code for code, *_ in commands] == [0] * 11 + [BUDGET, 0, 0]
    repeats = [number for number, (*_, out, err) in enumerate(commands) if REPEAT in out + err]
    assert repeats == [2, 3, 5, 7, 9]
    assert len(dict(expected[len(SEQUENCE) :])["charges"]) == 5


def test_a_repeat_is_the_stored_release_and_says_so_without_a_look_at_the_log(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """Also where there is no log any more, and no budget."""
    asked = (*KNOWN, "--epsilon", 40)
    assert run(*asked, "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["is_repeat"], first["stored_on"]) == (False, "2026-11-29")
    (opened / "log.csv").unlink()
    (opened / "films.csv").unlink()
    assert run(*asked, "--json") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == first | {"is_repeat": True}
    assert shown.err == f"\n{REPEAT}\n"
    assert run(*asked) == 0
    assert capsys.readouterr().out.endswith(f"\n\n{REPEAT}\n")
    assert spent(run, capsys) == "40"


def test_another_release_is_asked_for_by_a_date_or_by_again(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """And from then on the newest is what a repeat shows."""
    charges = []
    asked = ((), AS_OF, AS_OF, ("--again",), (), AS_OF)
    for words, total in zip(asked, (4, 8, 8, 12, 12, 12), strict=True):
        assert run(*KNOWN, *words, "--json") == 0
        charges.append(release_in(capsys.readouterr().out)["charge"])
        assert spent(run, capsys) == str(total)
    first, dated, same, another, newest, dated_still = charges
    assert first < dated == same == dated_still < another == newest


def test_another_encoding_is_another_request_and_an_unknown_one_is_none(
    opened: Path, run: Run, capsys: Captured
) -> None:
    for name in ("films.csv", "log.csv"):
        text = (opened / name).read_bytes().replace(b"film 0\n", b"film \xe9\n")
        (opened / name).write_bytes(text)
    asked = (*KNOWN, "--epsilon", 20, "-k", 1, "--json")
    assert run(*asked, "--encoding", "klingon") == FAILED
    assert run(*asked, "--encoding", "utf-16") == FAILED
    assert spent(run, capsys) == "0"
    assert run(*asked, "--encoding", "latin-1") == 0
    assert "film \xe9" in release_in(capsys.readouterr().out)["items"]
    assert run(*asked, "--encoding", "iso-8859-1") == 0  # the same by another name
    assert spent(run, capsys) == "20"
    assert run(*asked, "--encoding", "cp1252") == 0
    assert spent(run, capsys) == "40"


def test_a_file_is_one_by_whatever_name_and_a_link_by_its_own(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """A log that is rotated when it is long enough would decide."""
    for name in ("log.csv", "./log.csv", str(opened / "log.csv")):
        assert run(*KNOWN, "--events", name) == 0
        assert spent(run, capsys) == "4"
    (opened / "log.csv").rename(opened / "log-1.csv")
    (opened / "log.csv").symlink_to("log-1.csv")
    assert run(*KNOWN) == 0
    assert spent(run, capsys) == "4"


def test_a_charge_without_a_release_is_refused_until_again(
    opened: Path, run: Run, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: what crashed is drawn for again, or paid again, without a word."""

    def broken(*_: object) -> TopCounts:
        raise RuntimeError("the machine went out")

    with monkeypatch.context() as crashing:
        crashing.setattr(release_run, "count_events", broken)
        with pytest.raises(RuntimeError):
            run(*KNOWN)
    for words in ((), ("--dry-run",)):
        assert run(*KNOWN, *words) == FAILED
        assert "has no release" in (said := capsys.readouterr().err)
        assert "--again makes another, which is paid" in said
    assert run(*KNOWN, *AS_OF) == 0  # another request
    assert run(*KNOWN, "--again") == 0
    assert run(*KNOWN) == 0
    assert REPEAT in capsys.readouterr().out
    released = [row["released"] for row in ledger_shown(run, capsys)["charges"]]
    assert released == ["nothing", "list", "list"]
