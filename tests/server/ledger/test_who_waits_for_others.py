"""Whoever waits while others work for a group is told what is kept, and suffers for nobody else."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Condition, Semaphore

import pytest
from server.ledger.arrivals import PATIENCE, Seats, kept, together
from server.ledger.scenes import CAP, UNIT, charged, files, new_ledger, request

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import LedgerError
from askew_server.ledger import Charge, Ledger
from askew_server.ledger.anchor import AnchorEntry, AnchorFile
from askew_server.ledger.chain import LedgerEntry


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
