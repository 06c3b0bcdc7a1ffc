"""What can become of a ledger and its anchor: each case, and what an operator must state."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from server.ledger.dying import Killed, dying_before_the_commit
from server.ledger.scenes import (
    CAP,
    TERMS,
    UNIT,
    answer,
    budget_of,
    charged,
    epsilon_spent,
    files,
    new_ledger,
    open_ledger,
    pure,
    request,
)

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger import Ledger
from askew_server.ledger.anchor import AnchorEntry, AnchorFile
from askew_server.ledger.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with a release of epsilon 1, closed."""
    with new_ledger(tmp_path) as ledger:
        ledger.fulfill(charged(ledger, request("monday")).id, b"the list of monday")
    return tmp_path


def spend(folder: Path, key: str, epsilon: int) -> int:
    """A release more; its id."""
    with open_ledger(folder) as ledger:
        return ledger.fulfill(charged(ledger, request(key, pure(epsilon))).id, key.encode()).id


def restored(folder: Path) -> None:
    """The ledger is the copy from before a charge of 2."""
    path, _ = files(folder)
    copy = path.read_bytes()
    spend(folder, "lost", 2)
    path.write_bytes(copy)


def deleted(folder: Path) -> None:
    for path in folder.glob("ledger.sqlite*"):
        path.unlink()


def behind(folder: Path) -> None:
    """The anchor is the copy from before a charge of 2."""
    _, anchor = files(folder)
    copy = anchor.read_bytes()
    spend(folder, "kept", 2)
    anchor.write_bytes(copy)


def forked(folder: Path) -> None:
    """The ledger spent 2 elsewhere, beside an anchor that saw 3."""
    path, _ = files(folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for each in files(folder):
        shutil.copy(each, elsewhere)
    spend(elsewhere, "theirs", 2)
    spend(folder, "ours", 3)
    shutil.copy(files(elsewhere)[0], path)


def foreign(folder: Path) -> None:
    """The anchor is that of another ledger, which spent 4."""
    other = folder / "other"
    other.mkdir()
    new_ledger(other, PrivacyFilter(epsilon=Fraction(30))).close()
    spend(other, "theirs", 4)
    shutil.copy(files(other)[1], files(folder)[1])


def lost(folder: Path) -> None:
    files(folder)[1].unlink()


def empty(folder: Path) -> None:
    files(folder)[1].write_bytes(b"")


def garbled(folder: Path) -> None:
    """A line in the middle is no line, and the ledger is from before the last ones."""
    restored(folder)
    _, anchor = files(folder)
    lines = anchor.read_bytes().split(b"\n")
    anchor.write_bytes(b"\n".join([lines[0], b"no line of ours", *lines[2:]]))


# What happened, in words; whether the operator has to vouch; what is spent afterwards, of which the
# anchor alone knows what the ledger lost.
CASES: list[tuple[Callable[[Path], None], str, bool, int]] = [
    (restored, "an old copy of the ledger was restored, or its file was deleted", False, 1 + 2),
    (deleted, "an old copy of the ledger was restored, or its file was deleted", False, 1),
    (behind, "the anchor is behind: an old copy of it was restored", True, 1 + 2),
    (forked, "the ledger is a copy that went its own way", True, 1 + 2 + 3),
    (foreign, "the anchor is of another ledger", True, 1 + 4),
    (lost, "cannot be read: No such file", True, 1),
    (empty, "", True, 1),
    (garbled, "", True, 1 + 2),
]
NAMES = [case[0].__name__ for case in CASES]


@pytest.mark.parametrize(("happen", "words", "vouch", "spent"), CASES, ids=NAMES)
def test_each_case_is_said_in_words_and_freezes(
    folder: Path, happen: Callable[[Path], None], words: str, vouch: bool, spent: int
) -> None:
    happen(folder)
    with open_ledger(folder) as ledger:
        assert words in str(ledger.frozen)
        with pytest.raises(LedgerFrozen):
            ledger.charge(request("one more"))


@pytest.mark.parametrize(("happen", "words", "vouch", "spent"), CASES, ids=NAMES)
def test_what_nobody_can_know_has_to_be_vouched_for(
    folder: Path, happen: Callable[[Path], None], words: str, vouch: bool, spent: int
) -> None:
    """Planted bugs: an unfreeze of an old anchor, or of a fork, without a statement; one that
    believes the restored total.
    """
    happen(folder)
    with open_ledger(folder) as ledger:
        if vouch:
            with pytest.raises(LedgerError, match=r"state nothing_lost \(--nothing-lost\)") as said:
                ledger.unfreeze("I did not look")
            assert words in str(said.value)
            assert ledger.frozen is not None
        ledger.unfreeze("I looked", nothing_lost=vouch)
        if happen is deleted:
            new_ledger(folder).close()
        assert ledger.frozen is None
        assert epsilon_spent(ledger) == spent
        charged(ledger, request("one more"))
        ledger.verify()
    restored(folder)
    with open_ledger(folder) as ledger:  # the anchor works as before
        ledger.unfreeze("restored again")
        assert epsilon_spent(ledger) == spent + 1 + 2
        ledger.verify()


@pytest.mark.parametrize("happen", [restored, forked, garbled])
def test_where_rows_were_lost_analysts_start_again(
    folder: Path, happen: Callable[[Path], None]
) -> None:
    with open_ledger(folder) as ledger:
        ledger.grant("plays", "ann", TERMS)
    happen(folder)
    with open_ledger(folder) as ledger:
        ledger.unfreeze("I looked", nothing_lost=True)
        assert budget_of(ledger, "ann").closed
        with pytest.raises(LedgerError, match="no budget"):
            ledger.charge(answer("q1", 1))
        spent = epsilon_spent(ledger)
        ledger.grant("plays", "ann", TERMS)
        assert epsilon_spent(ledger) == spent + TERMS.total_loss().epsilon
        charged(ledger, answer("q2", 1))
        ledger.verify()


def test_what_the_anchor_forgot_is_not_given_back(tmp_path: Path) -> None:
    """The anchor lost a charge of one data set, has a later line of another, and not the last act:
    it knows less than the ledger. Planted bug: losses without `max(..., 0)`, some below zero."""
    with new_ledger(tmp_path) as ledger:
        ledger.open_dataset("films", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
        charged(ledger, request("monday"))
    anchor = files(tmp_path)[1]
    before = anchor_lines(anchor)
    spend(tmp_path, "forgotten", 2)
    until = len(anchor_lines(anchor))
    with open_ledger(tmp_path) as ledger:
        charged(ledger, replace(request("elsewhere"), dataset="films"))
    known = [*before, *anchor_lines(anchor)[until:], b""]
    spend(tmp_path, "last", 1)
    anchor.write_bytes(b"\n".join(known))
    with open_ledger(tmp_path) as ledger:
        ledger.unfreeze("lines of the anchor are gone", nothing_lost=True)
        assert epsilon_spent(ledger) == 1 + 2 + 1
        ledger.verify()


@pytest.mark.parametrize("happen", [restored, deleted, behind, forked, foreign, garbled])
def test_the_id_of_a_lost_charge_is_never_given_again(
    folder: Path, happen: Callable[[Path], None]
) -> None:
    """Planted bug: a repair that takes the next row of the restored copy, so that the charge after
    it has the id by which a lost release is known to its readers."""
    happen(folder)
    path, anchor = files(folder)
    seen = {mark.sequence for mark in AnchorFile(anchor).lines()[0]}
    with open_ledger(folder) as ledger:
        seen |= {each.id for each in ledger.charges()}
        ledger.unfreeze("I looked", nothing_lost=True)
        if happen is deleted:
            new_ledger(folder).close()
        made = charged(ledger, request("one more")).id
    assert made > max(seen)
    with Ledger(path, anchor) as ledger:
        ledger.verify()


def anchor_lines(anchor: Path) -> list[bytes]:
    return [line for line in anchor.read_bytes().split(b"\n") if line.startswith(b"{")]


def test_ids_are_not_given_again_after_a_second_restored_copy(folder: Path) -> None:
    """A backup of before the gap, and one of after it."""
    path, _ = files(folder)
    before = path.read_bytes()
    published = {spend(folder, key, 1) for key in ("a", "b")}
    for _ in range(2):
        path.write_bytes(before)
        with open_ledger(folder) as ledger:
            ledger.unfreeze("restored the copy of Monday")
        after = path.read_bytes()
        published |= {spend(folder, f"c{len(published)}", 1)}
    path.write_bytes(after)
    with open_ledger(folder) as ledger:
        ledger.unfreeze("restored the copy of Tuesday")
        assert epsilon_spent(ledger) == 1 + 4
    last = spend(folder, "d", 1)
    assert len(published) == 4
    assert last > max(published)


def test_a_gap_is_only_believed_of_a_repair(folder: Path) -> None:
    """Planted bug: rows whose numbers may jump anywhere; then rows may be taken out unseen."""
    import sqlite3
    from contextlib import closing

    from server.ledger.forging import seal

    from askew_server.ledger.chain import last_link

    path, anchor = files(folder)
    with closing(sqlite3.connect(path)) as database:
        seal(database, last_link(database)[0] + 5)
        database.commit()
    with Ledger(path, anchor) as ledger:
        assert "missing or was rewritten" in str(ledger.frozen)


@pytest.mark.parametrize("happen", [restored, forked, garbled, lost])
@pytest.mark.parametrize("step", ["announce", "commit", "keep", "renew"])
def test_a_crash_in_an_unfreeze_loses_nothing_that_was_spent(
    folder: Path, happen: Callable[[Path], None], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its commit the ledger stays frozen, after it the losses are carried over once; where
    the anchor cannot be read, the operator acts again, and what it knows may count twice.

    Planted bugs: an anchor that starts anew before the commit; a repair that is not announced.
    """
    happen(folder)
    [spent] = [spent for name, _, _, spent in CASES if name is happen]
    unreadable = happen in {garbled, lost}
    passed = {"commit", "renew"} if unreadable else {"announce", "commit", "keep"}
    if step == "commit":
        monkeypatch.setattr(Store, "transaction", dying_before_the_commit(Store.transaction))
    else:
        monkeypatch.setattr(AnchorFile, step, dying)
    with open_ledger(folder) as ledger, pytest.raises(Killed) if step in passed else nullcontext():
        ledger.unfreeze("I looked", nothing_lost=True)
    monkeypatch.undo()
    with open_ledger(folder) as ledger:
        over = step not in passed or step == "keep"
        assert (ledger.frozen is None) == over
        if not over:
            ledger.unfreeze("I looked again", nothing_lost=True)
        charged(ledger, request("friday", pure(Fraction(1, 2))))
        had = epsilon_spent(ledger) - Fraction(1, 2)
        assert had >= spent if step == "renew" else had == spent
        ledger.verify()


def dying(anchor: AnchorFile, mark: AnchorEntry, *_: object) -> None:
    raise Killed


@pytest.mark.parametrize("sequence", ["7", "-1", "0", "1.5", "true", f"{1 << 62}"])
def test_an_anchor_cannot_send_the_numbers_anywhere(folder: Path, sequence: str) -> None:
    """A line whose number is none is a damaged line."""
    _, anchor = files(folder)
    shown = sequence if sequence != "7" else '"7"'
    line = f'{{"sequence": {shown}, "hash": "{"00" * 32}", "spent": {{}}}}\n'
    anchor.write_bytes(b"\n".join([*anchor_lines(anchor), line.encode()]))
    with open_ledger(folder) as ledger:
        assert "is damaged" in str(ledger.frozen)


@pytest.mark.parametrize("sequence", [(1 << 61) - 1, 1 << 61, (1 << 62) - 1])
def test_an_anchor_cannot_use_the_numbers_up(folder: Path, sequence: int) -> None:
    """Planted bug: a repair after any line that can be read. Its own line then cannot be, no
    unfreeze helps, and nothing is ever spent again."""
    _, anchor = files(folder)
    line = f'{{"sequence": {sequence}, "hash": "{"00" * 32}", "spent": {{}}}}\n'.encode()
    for key in ("a", "b", "c"):
        anchor.write_bytes(b"\n".join([*anchor_lines(anchor), line]))
        with open_ledger(folder) as ledger:
            assert ledger.frozen is not None
            ledger.unfreeze("somebody wrote into the anchor", nothing_lost=True)
        spend(folder, key, 1)
    with open_ledger(folder) as ledger:
        ledger.verify()
