"""What an act reads before it spends: all that others may have changed, and nothing twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from server.ledger.scenes import TERMS, answer, charged, files, new_ledger, open_ledger, request

from askew.errors import LedgerFrozen
from askew_server.ledger.anchor import AnchorEntry, AnchorFile
from askew_server.ledger.chain import Link, check_links


@pytest.mark.parametrize("who", [None, "ann"])
def test_a_charge_takes_few_statements(tmp_path: Path, who: str | None) -> None:
    """They are much of its CPU. Planted bugs: the schema, or a total, read for each."""
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
        wanted = [answer(key, 1) if who else request(key) for key in ("a", "b")]
        charged(ledger, wanted[0])
        said: list[str] = []
        ledger._store._database.set_trace_callback(said.append)
        charged(ledger, wanted[1])
    assert len(said) <= 15
    assert not [sql for sql in said if "sqlite_schema" in sql]


def written_over(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def replaced(path: Path, content: bytes) -> None:
    fresh = path.with_name("fresh")
    fresh.write_bytes(content)
    fresh.replace(path)


@pytest.mark.parametrize("put_back", [written_over, replaced])
def test_an_old_anchor_put_back_under_an_open_ledger_is_noticed(
    tmp_path: Path, put_back: Callable[[Path, bytes], None]
) -> None:
    """Planted bug: an anchor that believes what it remembers of its file."""
    _, anchor = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request("a"))
        old = anchor.read_bytes()
        charged(ledger, request("b"))
        put_back(anchor, old)
        with pytest.raises(LedgerFrozen, match="the anchor is behind"):
            ledger.charge(request("c"))


def test_a_lost_anchor_is_missed_by_an_open_ledger(tmp_path: Path) -> None:
    _, anchor = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request("a"))
        anchor.unlink()
        with pytest.raises(LedgerFrozen, match="cannot be read"):
            ledger.charge(request("b"))


def link(number: int, kept: bool = True) -> AnchorEntry:
    return AnchorEntry(number, bytes([number]) * 32, {}, kept)


def test_two_that_write_one_anchor_go_on_where_the_other_ended(tmp_path: Path) -> None:
    """Planted bug: each goes on where its own last line ended."""
    anchor = files(tmp_path)[1]
    one, other = AnchorFile(anchor), AnchorFile(anchor)
    one.create()
    for number in range(1, 9):
        writer, reader = (one, other) if number % 3 else (other, one)
        writer.announce(link(number))
        assert reader.head()[1] == link(number, kept=False)
        reader.keep(link(number))
        assert writer.head() == reader.head() == (link(number), None)
    assert AnchorFile(anchor).lines() == ([link(number) for number in range(1, 9)], None)


@pytest.mark.parametrize("left", [b"{", b'{"announced": 3, "ha'])
def test_half_a_line_of_somebody_who_died_is_written_over(tmp_path: Path, left: bytes) -> None:
    """Planted bug: a line that goes on after it."""
    anchor = files(tmp_path)[1]
    one = AnchorFile(anchor)
    one.create()
    one.announce(link(1))
    one.keep(link(1))
    content = anchor.read_bytes()
    end = len(content.rstrip(b"\0"))
    anchor.write_bytes(content[:end] + left + content[end + len(left) :])
    one.keep(link(2))
    assert AnchorFile(anchor).lines() == ([link(1), link(2)], None)


def test_what_others_committed_is_checked_before_the_next_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: schema and links are checked once and then never again."""
    seen: list[tuple[int, int]] = []
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request("a"))

        def noted(database: sqlite3.Connection, since: Link) -> Link:
            seen.append((since[0], (end := check_links(database, since))[0]))
            return end

        monkeypatch.setattr("askew_server.ledger.chain.check_links", noted)
        charged(ledger, request("b"))
        assert seen == []
        with open_ledger(tmp_path) as other:
            seen.clear()
            last = charged(other, request("c")).id
        seen.clear()
        charged(ledger, request("d"))
        assert seen == [(last - 1, last)]


def test_an_anchor_made_anew_holds_nothing_of_one_that_a_crash_left_half_made(
    tmp_path: Path,
) -> None:
    """Planted bug: a shorter line written over a longer one."""
    anchor = AnchorFile(files(tmp_path)[1])
    files(tmp_path)[1].with_name("anchor.new").write_bytes(b"x" * 1000 + b"\n")
    anchor.renew(link(7))
    assert AnchorFile(anchor.path).lines() == ([link(7)], None)
