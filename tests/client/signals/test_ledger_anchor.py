"""The chain and its anchor: an older copy of the ledger gives no budget back."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from askew.dp.privacy import SignalCharge
from askew.errors import BudgetExceeded, LedgerError, LedgerFrozen
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.chain import Anchor, Anchored
from askew_client.signals.store import SignalStore

SPACE = "0123456789abcdef" * 2
CAP = Fraction(10)


def signal(value: int = 1) -> Signal:
    return Signal(SPACE, LatticeLaplace(11, 1024), (value, 0))


def never() -> Signal:
    pytest.fail("a signal was drawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two charges of 2, in October and November."""
    path = tmp_path / "data" / "signals.sqlite"
    ask(path, "2026-10")
    ask(path, "2026-11")
    return path


def store(path: Path, cap: Fraction = CAP) -> SignalStore:
    return SignalStore(path, Caps(cap))


def ask(path: Path, month: str, draw: Callable[[], Signal] = signal) -> Signal:
    return store(path).remember(SPACE, month, SignalCharge(Fraction(2)), draw)[0]


def anchor(path: Path) -> Path:
    return path.parent / "anchor" / "signals.json"


def backed_up(path: Path) -> Path:
    """A copy of the ledger alone, as a backup has it."""
    return Path(shutil.copy(path, path.parent.parent / "backup"))


def test_a_restored_backup_freezes_spending_and_says_why(path: Path) -> None:
    """Planted bug: no anchor, or one that lies in the file itself."""
    copy = backed_up(path)
    ask(path, "2026-12")
    shutil.copy(copy, path)
    with pytest.raises(LedgerFrozen, match="an older copy was put back"):
        ask(path, "2026-12", never)
    with pytest.raises(LedgerFrozen):
        ask(path, "2027-01", never)
    assert store(path).account().spent == 4


def test_a_frozen_ledger_still_sends_what_it_sent_before(path: Path) -> None:
    """The same signal once more costs nothing."""
    copy = backed_up(path)
    ask(path, "2026-12")
    shutil.copy(copy, path)
    assert ask(path, "2026-11", never) == signal()


def test_a_deleted_ledger_does_not_begin_again(path: Path) -> None:
    """Planted bug: an empty ledger is new, whatever the anchor says."""
    path.unlink()
    with pytest.raises(LedgerFrozen):
        ask(path, "2026-12", never)


def test_a_ledger_without_its_anchor_is_frozen(path: Path) -> None:
    anchor(path).unlink()
    with pytest.raises(LedgerFrozen, match="anchor is missing"):
        ask(path, "2026-12", never)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "[" * 100000, '{"links": []}'),
        '{"links": [], "spent": "1/0", "announced": null}',
        '{"links": [], "spent": "-4", "announced": null}',
        '{"links": [], "spent": "4e0", "announced": null}',
        '{"links": [], "spent": "8/2", "announced": null}',
        '{"links": [], "spent": 4, "announced": null}',
        '{"links": ["x"], "spent": "4", "announced": null}',
        '{"links": [4], "spent": "4", "announced": null}',
        '{"links": [], "spent": "4", "announced": "x"}',
        '{"links": [], "spent": "4", "announced": 4}',
        '{"links": [], "spent": "4"}',
    ],
)
def test_a_damaged_anchor_freezes_and_is_not_overwritten(path: Path, text: str) -> None:
    anchor(path).write_text(text)
    with pytest.raises(LedgerFrozen, match="cannot be read"):
        ask(path, "2026-12", never)
    assert anchor(path).read_text() == text


def test_another_ledgers_anchor_freezes(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "signals.sqlite"
    ask(other, "2026-11", lambda: signal(9))
    shutil.copy(anchor(other), anchor(path))
    with pytest.raises(LedgerFrozen, match="two different stories"):
        ask(path, "2026-12", never)


def test_an_anchor_with_another_sum_freezes(path: Path) -> None:
    """The links alone would agree."""
    anchor(path).write_text(anchor(path).read_text().replace('"spent": "4"', '"spent": "1"'))
    with pytest.raises(LedgerFrozen, match="two different stories"):
        ask(path, "2026-12", never)


def test_an_anchor_two_entries_behind_is_no_crash(path: Path) -> None:
    """One entry behind is the crash window; planted bug: any prefix of the chain will do."""
    behind = anchor(path).read_bytes()
    ask(path, "2026-12")
    ask(path, "2027-01")
    anchor(path).write_bytes(behind)
    with pytest.raises(LedgerFrozen):
        ask(path, "2027-02", never)


def test_an_announced_entry_that_was_not_kept_is_brought_up_to_date(path: Path) -> None:
    """A crash between commit and anchor leaves it so."""
    behind = json.loads(anchor(path).read_text())
    ask(path, "2026-12")
    ahead = anchor(path).read_bytes()
    announced = {**behind, "announced": json.loads(ahead)["links"][-1]}
    anchor(path).write_text(json.dumps(announced))
    assert store(path).account().frozen is None
    assert store(path).find(SPACE, "2026-12") == ("2026-12", signal())
    assert ask(path, "2026-12", never) == signal()
    assert anchor(path).read_bytes() == ahead


class Crash(BaseException):
    """The end of the process."""


STEPS = ("announce", "commit", "keep", "return")  # what an act does not reach any more, or nothing


def acts(path: Path, month: str, until: str, patch: pytest.MonkeyPatch) -> bool:
    """Whether a signal is returned by an act that crashes before it does `until`."""
    write = Anchor.write

    def crashing(self: Anchor, state: Anchored) -> None:
        kind = "keep" if state.announced is None else "announce"
        if kind == until:
            raise Crash
        write(self, state)
        if kind == "announce" and until == "commit":
            raise Crash

    with patch.context() as patched:
        patched.setattr(Anchor, "write", crashing)
        with suppress(Crash):
            ask(path, month)
            return True
    return False


@pytest.mark.thin
@pytest.mark.parametrize("history", [*product(STEPS, repeat=3)], ids="-".join)
def test_every_history_with_crashes_and_changed_ledgers_is_judged_as_proved(
    path: Path, history: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/proofs/anchor.md: no crash freezes; what was returned is in every ledger that is
    believed, whichever is put back. Planted bugs: any ledger is believed while something is
    announced; a signal that is returned before it is kept; one entry fewer will do.
    """
    returned, ledgers = {"2026-10", "2026-11"}, {path.read_bytes()}
    for month, until in zip(("2026-12", "2027-01", "2027-02"), history, strict=True):
        if acts(path, month, until, monkeypatch):
            returned.add(month)
        ledgers.add(path.read_bytes())
        assert store(path).account().frozen is None
        assert returned <= {each.month for each in store(path).entries()}
    for older in ledgers:
        path.write_bytes(older)
        account = store(path).account()
        complete = returned <= {each.month for each in account.entries}
        assert complete or account.frozen is not None


def test_an_entry_that_was_not_announced_is_no_crash(path: Path) -> None:
    """Planted bug: an anchor one entry behind will do."""
    behind = anchor(path).read_bytes()
    ask(path, "2026-12")
    anchor(path).write_bytes(behind)
    with pytest.raises(LedgerFrozen, match="two different stories"):
        ask(path, "2027-01", never)
    assert anchor(path).read_bytes() == behind


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE charges SET epsilon = '1' WHERE id = 1",
        "UPDATE charges SET epsilon_per_distance = '1' WHERE id = 2",
        "UPDATE charges SET month = '2026-09' WHERE id = 1",
        "UPDATE charges SET space_version = 'x' WHERE id = 2",
        "UPDATE signals SET record = x'00' WHERE charge = 1",
        "UPDATE charges SET kind = 'unfreeze' WHERE id = 2",
        "UPDATE charges SET salt = 'x' WHERE id = 1",
        "UPDATE signals SET charge = 3 WHERE charge = 2",
        "DELETE FROM charges WHERE id = 1",
        "DELETE FROM signals WHERE charge = 2",
    ],
)
def test_an_altered_entry_breaks_the_chain(path: Path, change: str) -> None:
    """Planted bug: a link that leaves out a column."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(change)
    with pytest.raises(LedgerError, match=r"chain does not hold|is damaged"):
        ask(path, "2026-12", never)


def test_the_newest_entry_cannot_be_dropped_either(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM signals WHERE charge = 2")
        database.execute("DELETE FROM charges WHERE id = 2")
    with pytest.raises(LedgerFrozen):
        ask(path, "2026-12", never)


def test_accepting_a_restored_backup_books_what_it_had_lost(path: Path) -> None:
    """Planted bug: an unfreeze that gives the lost budget back."""
    copy = backed_up(path)
    ask(path, "2026-12")
    ask(path, "2027-01")
    shutil.copy(copy, path)
    assert store(path).unfreeze("2027-01") == 4
    assert store(path).account().frozen is None
    last = store(path).entries()[-1]
    assert (last.kind, last.month, last.epsilon) == ("unfreeze", "2027-01", Fraction(4))
    ask(path, "2027-02")
    assert store(path).account().spent == 10
    with pytest.raises(BudgetExceeded):
        ask(path, "2027-03", never)


def test_accepting_a_deleted_ledger_books_all_of_it(path: Path) -> None:
    path.unlink()
    assert store(path).unfreeze("2026-12") == 4
    assert store(path).account().spent == 4


def test_accepting_without_an_anchor_is_recorded_and_books_nothing(path: Path) -> None:
    anchor(path).unlink()
    assert store(path).unfreeze("2026-12") == 0
    assert [charge.kind for charge in store(path).entries()] == ["signal", "signal", "unfreeze"]
    ask(path, "2026-12")
    assert store(path).account().spent == 6


def test_lost_budget_is_booked_rounded_up(path: Path) -> None:
    """A sum of thirds has no short fraction; what is booked is never less than what was lost."""
    copy = backed_up(path)
    store(path).remember(SPACE, "2026-12", SignalCharge(Fraction(1, 3)), signal)
    shutil.copy(copy, path)
    assert Fraction(1, 3) <= store(path).unfreeze("2026-12") <= Fraction(1, 3) + Fraction(1, 2**20)


def test_a_clock_that_runs_back_draws_nothing(path: Path) -> None:
    """Planted bug: a fresh signal for every month that the clock is set back to."""
    for month in ("2026-09", "2020-01", "1999-12"):
        assert ask(path, month, never) == signal()
    assert store(path).account().spent == 4


def test_a_clock_that_jumps_far_ahead_is_not_believed(path: Path) -> None:
    """Planted bug: a device that spends its whole budget in the year 2099."""
    with pytest.raises(LedgerFrozen, match="the clock says 2027-12"):
        ask(path, "2027-12", never)
    ask(path, "2027-11")


def test_a_clock_that_the_person_accepts_is_believed(path: Path) -> None:
    assert store(path).unfreeze("2029-01") == 0
    ask(path, "2029-01")
    assert store(path).account().spent == 6


def test_a_wrong_clock_that_was_accepted_is_set_right_again(path: Path) -> None:
    store(path).unfreeze("2099-01")
    ask(path, "2099-01", lambda: signal(5))
    assert ask(path, "2026-12", never) == signal(5)
    store(path).unfreeze("2026-12")
    assert ask(path, "2026-12", lambda: signal(6)) == signal(6)


def test_the_anchor_tells_nothing_of_a_signal(path: Path) -> None:
    assert set(json.loads(anchor(path).read_text())) == {
        "links",
        "spent",
        "spent_per_km",
        "announced",
    }


def test_two_announcements_of_the_same_signal_have_nothing_in_common(path: Path) -> None:
    """A draw that a crash takes back was never charged: the link that was announced for it must not
    tell which signal it was to who tries them all. Planted bug: an entry without a salt.
    """
    copy, before = backed_up(path), anchor(path).read_bytes()
    ask(path, "2026-12")
    first = json.loads(anchor(path).read_text())["links"]
    shutil.copy(copy, path)
    anchor(path).write_bytes(before)
    ask(path, "2026-12")
    again = json.loads(anchor(path).read_text())["links"]
    assert first[:-1] == again[:-1]
    assert first[-1] != again[-1]


def no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_an_announcement_that_cannot_be_written_costs_and_sends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("askew_client.storage.private_files.os.fsync", no_space)
        with pytest.raises(LedgerError, match="No space left"):
            ask(path, "2026-12", lambda: signal(7))
    assert store(path).account().spent == 4
    assert ask(path, "2026-12", lambda: signal(8)) == signal(8)


def test_an_entry_that_cannot_be_kept_is_not_sent_and_heals(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is there, the signal was not returned; the next question returns the same."""
    write = Anchor.write

    def unless_kept(file: Anchor, state: Anchored) -> None:
        if state.announced is None:
            raise LedgerError("No space left")
        write(file, state)

    with monkeypatch.context() as patch:
        patch.setattr(Anchor, "write", unless_kept)
        with pytest.raises(LedgerError, match="No space left"):
            ask(path, "2026-12", lambda: signal(7))
    assert ask(path, "2026-12", never) == signal(7)
    assert store(path).account().spent == 6


def test_ledger_and_anchor_are_read_as_one_state(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: reading the anchor after the lock, when another process has gone on."""
    read, locked = Anchor.read, []

    def watched(file: Anchor) -> Anchored | None:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as rival:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                rival.execute("BEGIN IMMEDIATE")
            locked.append(file.path)
        return read(file)

    monkeypatch.setattr(Anchor, "read", watched)
    store(path).account()
    store(path).find(SPACE, "2026-11")
    store(path).unfreeze("2026-11")
    ask(path, "2026-12")
    assert len(locked) == 6
