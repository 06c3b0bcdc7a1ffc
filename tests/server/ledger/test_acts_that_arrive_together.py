"""Acts that arrive together share one transaction and two lines of the anchor, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Condition, Semaphore
from typing import Any

import pytest
from server.ledger.arrivals import PATIENCE, Seats, kept, together
from server.ledger.scenes import (
    CAP,
    UNIT,
    charged,
    epsilon_spent,
    files,
    new_ledger,
    pure,
    request,
)

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import BudgetExceeded, ChargePending, LedgerError
from askew_server.ledger import Charge, ChargeRequest, Ledger, acts
from askew_server.ledger.anchor import AnchorEntry, AnchorFile
from askew_server.ledger.chain import LedgerEntry


def test_they_share_the_lines_of_the_anchor_and_each_has_a_row(tmp_path: Path) -> None:
    """Planted bugs: the first of the group announced in place of the last; a link for all."""
    with new_ledger(tmp_path) as ledger:
        before = len(kept(tmp_path))
        with together(ledger, [request(f"key {n}") for n in range(8)]) as futures:
            made = [future.result(PATIENCE) for future in futures]
        assert len({charge.id for charge in made}) == 8
        assert len(kept(tmp_path)) == before + 1
        assert epsilon_spent(ledger) == 8
        ledger.verify()


def test_the_anchor_knows_the_totals_of_all_of_them(tmp_path: Path) -> None:
    """Planted bug: the totals of the last link alone, so that others' would be lost with them."""
    with new_ledger(tmp_path) as ledger:
        ledger.open_dataset("reads", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
        other = ChargeRequest(
            dataset="reads", version="1", key="x", digest=b"0" * 32, loss=pure(Fraction(3, 2))
        )
        with together(ledger, [other, request("a"), request("b")]) as futures:
            [future.result(PATIENCE) for future in futures]
        spent = kept(tmp_path)[-1].spent
    assert {name: each.epsilon for name, each in spent.items()} == {
        "reads": Fraction(3, 2),
        "plays": 2,
    }


def test_one_that_is_refused_takes_nothing_of_the_others_back(tmp_path: Path) -> None:
    """Planted bug: what a refused act wrote stays in the transaction."""
    wanted = [request("a", pure(6)), request("b", pure(6)), request("c", pure(4))]
    with new_ledger(tmp_path) as ledger:
        with together(ledger, wanted) as futures:
            outputs = [future.exception(PATIENCE) for future in futures]
        assert [type(each) for each in outputs] == [type(None), BudgetExceeded, type(None)]
        assert epsilon_spent(ledger) == 10
        ledger.verify()


def refused(_: LedgerEntry) -> None:
    raise LedgerError("too late")


def twice(entry: LedgerEntry) -> None:
    """One more row of a sequence that has one."""
    entry.insert("revocations", "plays", "ann")
    entry.insert("revocations", "plays", "ann")


def nameless(entry: LedgerEntry) -> None:
    entry.insert("revocations", "plays", "")


def unforeseen(entry: LedgerEntry) -> None:
    entry.insert("revocations", "plays", object())  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [refused, twice, nameless, unforeseen])
def test_an_act_that_fails_by_itself_leaves_no_row_and_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[LedgerEntry], None]
) -> None:
    """Planted bugs: no savepoint; all of a group fail where a row of one does not fit; a total
    that is believed though its act failed.
    """
    add_charge = acts.add_charge

    def stumbles(entry: LedgerEntry, wanted: ChargeRequest) -> Charge:
        made = add_charge(entry, wanted)
        if wanted.key == "b":
            end(entry)
        return made

    monkeypatch.setattr(acts, "add_charge", stumbles)
    with new_ledger(tmp_path) as ledger:
        with together(ledger, [request("a"), request("b"), request("c")]) as futures:
            outputs = [future.exception(PATIENCE) for future in futures]
        assert [each is None for each in outputs] == [True, False, True]
        assert isinstance(outputs[1], LedgerError)
        assert [charge.request.key for charge in ledger.charges()] == ["a", "c"]
        assert kept(tmp_path)[-1].spent["plays"].epsilon == epsilon_spent(ledger) == 2
        ledger.verify()


@pytest.mark.parametrize("step", ["find_release", "add_charge"])
@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database or disk is full"),
        sqlite3.DatabaseError("database disk image is malformed"),
        OSError(28, "No space left on device"),
    ],
)
def test_an_error_of_the_disk_fails_all_that_share_the_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    """Planted bug: whatever one of them meets is taken for its own."""
    does = getattr(acts, step)

    def fails(where: Any, wanted: ChargeRequest) -> object:
        if wanted.key == "b":
            raise error
        return does(where, wanted)

    with new_ledger(tmp_path) as ledger:
        monkeypatch.setattr(acts, step, fails)
        with together(ledger, [request("a"), request("b"), request("c")]) as futures:
            assert all(isinstance(each.exception(PATIENCE), LedgerError) for each in futures)
        monkeypatch.undo()
        assert epsilon_spent(ledger) == 0
        charged(ledger, request("a"))
        ledger.verify()


def test_one_key_asked_for_twice_is_one_charge(tmp_path: Path) -> None:
    """Planted bug: an act of the group does not look for what another has just made."""
    with new_ledger(tmp_path) as ledger:
        with together(ledger, [request("a"), request("a")]) as futures:
            outputs = [future.exception(PATIENCE) for future in futures]
        assert sorted(type(each).__name__ for each in outputs) == ["ChargePending", "NoneType"]
        assert epsilon_spent(ledger) == 1


def test_who_asks_for_what_is_stored_gets_it_though_the_others_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: all of a group fail together."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with new_ledger(tmp_path) as ledger:
        stored = ledger.fulfill(charged(ledger, request("a")).id, b"public")
        monkeypatch.setattr(AnchorFile, "announce", full)
        with together(ledger, [request("a"), request("b")]) as futures:
            assert futures[0].result(PATIENCE) == stored
            assert isinstance(futures[1].exception(PATIENCE), LedgerError)


def test_nobody_is_refused_for_what_was_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cap that others had reached, a key that was theirs. Planted bug: the refusal is told though
    their charges failed.
    """

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with new_ledger(tmp_path) as ledger:
        monkeypatch.setattr(AnchorFile, "announce", full)
        wanted = [request("a", pure(6)), request("b", pure(6)), request("a", pure(6))]
        with together(ledger, wanted) as futures:
            outputs = [future.exception(PATIENCE) for future in futures]
        assert [type(each) for each in outputs] == [LedgerError] * 3
        assert epsilon_spent(ledger) == 0


def test_an_error_of_the_file_is_told_as_one_wherever_it_comes(tmp_path: Path) -> None:
    """Planted bug: SQLite's own error, of what is looked for first."""

    def damaged(_: sqlite3.Connection) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    with (
        new_ledger(tmp_path) as ledger,
        pytest.raises(LedgerError, match=r"the ledger .* cannot be used"),
    ):
        ledger._store.append(damaged, lambda *_: "")


@pytest.mark.parametrize("step", ["announce", "keep"])
def test_nobody_of_a_group_hears_of_a_charge_that_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Planted bug: an output that is told before the anchor keeps it."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with new_ledger(tmp_path) as ledger:
        monkeypatch.setattr(AnchorFile, step, full)
        with together(ledger, [request("a"), request("b")]) as futures:
            outputs = [future.exception(PATIENCE) for future in futures]
        assert [type(each) for each in outputs] == [LedgerError] * 2
        monkeypatch.undo()
        assert epsilon_spent(ledger) == (0 if step == "announce" else 2)
        if step == "keep":  # spent for good, and nobody may draw
            with pytest.raises(ChargePending):
                ledger.charge(request("a"))
        ledger.verify()


class Bell(Condition):
    """A condition whose wakes are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        heard = super().wait(timeout)
        self.woken.release()
        return heard


@pytest.mark.parametrize("step", ["announce", "keep"])
def test_who_wakes_while_others_work_for_him_waits_until_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As one who was told that his turn may be, and looks only when another has taken it. Planted
    bug: an act is settled when it is written.
    """
    with new_ledger(tmp_path) as ledger, ThreadPoolExecutor(1) as pool:
        store, bell, seats = ledger._store, Bell(), Seats()
        store._arrivals, store._waiting, store._busy = bell, seats, True
        waits = pool.submit(ledger.charge, request("b"))
        assert seats.arrived.acquire(timeout=PATIENCE)
        with bell:  # free only once he waits
            store._busy = False

        def full(*_: object) -> None:
            with bell:
                bell.notify_all()
            assert bell.woken.acquire(timeout=PATIENCE)
            with bell:  # he has looked, and went or waits again
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(AnchorFile, step, full)
        with pytest.raises(LedgerError):
            ledger.charge(request("a"))
        assert isinstance(waits.exception(PATIENCE), LedgerError)


def test_room_for_what_the_anchor_has_to_say_of_all_of_them_is_taken_before_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a full disk stops them before they are made. Planted bug: room for one of them."""
    names = [chr(0x1F600 + n) * 200 for n in range(24)]
    grown: list[int] = []
    anchor, keep = files(tmp_path)[1], AnchorFile.keep

    def measured(self: AnchorFile, mark: AnchorEntry) -> None:
        before = anchor.stat().st_size
        keep(self, mark)
        grown.append(anchor.stat().st_size - before)

    monkeypatch.setattr(AnchorFile, "keep", measured)
    with new_ledger(tmp_path) as ledger:
        for name in names:
            ledger.open_dataset(name, "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
        with together(ledger, [replace(request("a"), dataset=name) for name in names]) as futures:
            [future.result(PATIENCE) for future in futures]
        assert len(kept(tmp_path)[-1].spent) == len(names)
        assert set(grown) == {0}
        old = anchor.read_bytes()
        charged(ledger, request("b"))
        anchor.write_bytes(old[: len(old.rstrip(b"\0"))])
        ledger.unfreeze("an old copy of the anchor", nothing_lost=True)
    assert set(grown) == {0}


def astonishes(_: LedgerEntry) -> str:
    raise TypeError("what nobody thought of")


FAULTS: list[tuple[Callable[[Ledger], object], type[Exception]]] = [
    (lambda ledger: ledger.fulfill(1 << 63, b"public"), LedgerError),
    (lambda ledger: ledger.fulfill("one", b"public"), LedgerError),  # type: ignore[arg-type]
    (lambda ledger: ledger._store.append(lambda _: None, astonishes), TypeError),
]


@pytest.mark.parametrize(("act", "error"), FAULTS, ids=["no file holds it", "no number", "other"])
def test_a_fault_of_one_fails_nobody_else(
    tmp_path: Path, act: Callable[[Ledger], object], error: type[Exception]
) -> None:
    """Planted bugs: an id is left to SQLite, whose error is everybody's; what nobody thought of
    is.
    """
    with new_ledger(tmp_path) as ledger, ThreadPoolExecutor(1) as pool:
        store, seats = ledger._store, Seats()
        store._waiting, store._busy = seats, True
        waits = pool.submit(ledger.charge, request("a"))
        assert seats.arrived.acquire(timeout=PATIENCE)
        with store._arrivals:  # free only once it waits
            store._busy = False
        with pytest.raises(error):
            act(ledger)
        assert isinstance(waits.result(PATIENCE), Charge)
