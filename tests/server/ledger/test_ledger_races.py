"""Several processes and threads at once: one lock decides what the caps still allow, and acts that
arrive while another is under way share its syncs and nothing else."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Condition, Event, Semaphore
from typing import Any, cast

import pytest
from server.ledger.scenes import (
    CAP,
    ENVIRONMENT,
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

from askew.dp.analyst import AnalystUsage
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import AskewError, BudgetExceeded, ChargePending, LedgerError, LedgerFrozen
from askew_server.ledger import Charge, ChargeRequest, Ledger, acts
from askew_server.ledger.anchor import AnchorEntry, AnchorFile
from askew_server.ledger.chain import LedgerEntry, Link, check_links
from askew_server.ledger.storage import write_ahead

# Waits until it is told to go, so that all of them go at once. "unsafe" plants the bug: the cap is
# checked in a transaction of its own, and every rival waits for the others before it inserts.
RIVAL = """
import json, sys
from fractions import Fraction
from pathlib import Path
from askew.errors import AskewError
from askew.dp.composition import PrivacyFilter
from askew_server.ledger import Charge
from server.ledger.scenes import CAP, answer, open_ledger, pure, request
from askew.dp.privacy import ADD_OR_REMOVE_ONE

folder, number, kind, count = sys.argv[1:]
ledger = open_ledger(Path(folder))

def wait(word):
    print(word, flush=True)
    sys.stdin.readline()

def ask(n):
    if kind == "answers":
        return answer(f"{number} {n}", 4)
    return request("one key" if kind == "one key" else f"{number} {n}", pure(1))

def spend(n):
    try:
        if kind == "unsafe":
            spent = ledger.dataset("plays").spent.epsilon
            fits = spent + 1 <= CAP.epsilon
            wait("checked")
            if not fits:
                return "BudgetExceeded"
            PrivacyFilter.after = lambda self, spent, loss: spent.plus(loss)
        return type(ledger.charge(ask(n))).__name__
    except AskewError as error:
        return type(error).__name__

wait("ready")
print(json.dumps([spend(n) for n in range(int(count))]), flush=True)
"""


def race(folder: Path, kind: str, rivals: int = 8, count: int = 3) -> Counter[str]:
    """What the charges of all rivals came to."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(folder), str(number), kind, str(count)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(rivals)
    ]
    words = ["ready"] + (["checked"] * count if kind == "unsafe" else [])
    for word in words:
        assert {rival.stdout.readline() for rival in running if rival.stdout} == {f"{word}\n"}
        for rival in running:
            if rival.stdin:
                rival.stdin.write("go\n")
                rival.stdin.flush()
    answers = [json.loads(rival.communicate(timeout=100)[0]) for rival in running]
    return Counter(word for words in answers for word in words)


def test_eight_processes_at_once_never_pass_the_cap(tmp_path: Path) -> None:
    """24 charges of 1 under a cap of 10. Planted bug: see the next test."""
    new_ledger(tmp_path).close()
    assert race(tmp_path, "charges") == {"Charge": 10, "BudgetExceeded": 14}
    with open_ledger(tmp_path) as ledger:
        ledger.verify()
        assert epsilon_spent(ledger) == 10
        assert len(ledger.charges()) == 10


def test_a_check_outside_the_transaction_would_pass_the_cap(tmp_path: Path) -> None:
    """The race above has power: 8 rivals that looked first make 16 charges under a cap of 10."""
    new_ledger(tmp_path).close()
    assert race(tmp_path, "unsafe", count=2)["Charge"] == 16


def test_eight_processes_with_one_request_share_one_charge(tmp_path: Path) -> None:
    """Planted bug: a key that is looked up before the lock is held."""
    new_ledger(tmp_path).close()
    assert race(tmp_path, "one key") == {"Charge": 1, "ChargePending": 23}


def test_eight_processes_never_pass_the_terms_of_an_analyst(tmp_path: Path) -> None:
    """20 symbols, 4 a call."""
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
    assert race(tmp_path, "answers") == {"Charge": 5, "BudgetExceeded": 19}
    with open_ledger(tmp_path) as ledger:
        assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=20, calls=5)


def test_eight_threads_of_one_ledger_never_pass_the_cap(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:

        def spend(number: int) -> str:
            try:
                return type(ledger.charge(request(str(number)))).__name__
            except AskewError as error:
                return type(error).__name__

        with ThreadPoolExecutor(8) as pool:
            answers = Counter(pool.map(spend, range(24)))
        assert answers == {"Charge": 10, "BudgetExceeded": 14}
        ledger.verify()


def test_eight_processes_may_make_the_ledger_together(tmp_path: Path) -> None:
    """The first start, raced: nobody may see half of the tables."""
    answers = race(tmp_path, "charges", count=1)
    assert answers == {"LedgerError": 8}  # there is no data set yet
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request())
        ledger.verify()


def test_a_second_writer_is_told_that_the_first_one_holds_the_ledger(tmp_path: Path) -> None:
    new_ledger(tmp_path).close()
    with (
        Ledger(*files(tmp_path), patience=0.05) as ledger,
        closing(sqlite3.connect(files(tmp_path)[0], isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another process kept it locked"):
            ledger.charge(request())
        other.execute("ROLLBACK")
        assert ledger.charges() == ()
        ledger.charge(request(loss=pure(Fraction(1, 2))))
        assert epsilon_spent(ledger) == Fraction(1, 2)


def test_two_open_ledgers_see_each_other(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as one, open_ledger(tmp_path) as other:
        release = one.fulfill(charged(one, request()).id, b"the list")
        assert other.charge(request()) == release
        charged(other, request("tuesday"))
        assert epsilon_spent(one) == 2
        one.verify()


class Hurried:
    """A file whose journal another process is changing, the first so many times."""

    def __init__(self, times: int) -> None:
        self.heard: list[str] = []
        self._times = times

    def execute(self, sql: str) -> Hurried:
        self.heard.append(sql)
        if sql == WAL and self.heard.count(sql) <= self._times:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return self

    def fetchone(self) -> tuple[str]:
        return ("delete",)


WAL = "PRAGMA journal_mode = WAL"


def test_who_finds_the_journal_being_changed_waits_and_tries_again() -> None:
    """SQLite does not wait there, so of several who open a new ledger at once one might fail."""
    database = Hurried(2)
    write_ahead(cast("sqlite3.Connection", database))
    changes = [sql for sql in database.heard if sql != "PRAGMA journal_mode"]
    assert changes == [WAL, *["BEGIN IMMEDIATE", "ROLLBACK", WAL] * 2]


def test_a_journal_that_never_is_free_is_an_error() -> None:
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_ahead(cast("sqlite3.Connection", Hurried(10**9)))


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


PATIENCE = 30  # seconds; only ever waited for by what does not do what it should


class Seats(list[Any]):
    """Whoever arrives is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = Semaphore(0)

    def append(self, act: Any) -> None:
        super().append(act)
        self.arrived.release()


@contextmanager
def together(ledger: Ledger, wanted: list[ChargeRequest]) -> Iterator[list[Future[Any]]]:
    """The futures of these charges, which all arrive while an act before them is under way."""
    begun, go, store = Event(), Event(), ledger._store

    def slow(_: sqlite3.Connection) -> str:
        begun.set()
        assert go.wait(PATIENCE)
        return "nothing to do"

    with ThreadPoolExecutor(len(wanted) + 1) as pool:
        first = pool.submit(store.append, slow, lambda *_: "")
        assert begun.wait(PATIENCE)
        seats = store._waiting = Seats()
        futures = []
        for each in wanted:
            futures.append(pool.submit(ledger.charge, each))
            assert seats.arrived.acquire(timeout=PATIENCE)
        go.set()
        first.result(PATIENCE)
        yield futures


def kept(folder: Path) -> list[AnchorEntry]:
    marks, fault = AnchorFile(files(folder)[1]).lines()
    assert fault is None
    return marks


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
