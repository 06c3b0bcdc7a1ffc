"""What the ledger charges, gives back and refuses; files that are damaged or that others may write;
and several threads at once."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import Mock

import pytest
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
    releases_of,
    request,
)

from askew.dp.analyst import AnalystUsage
from askew.dp.composition import PrivacyFilter, RunningLoss
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    PureDP,
)
from askew.errors import (
    AskewError,
    BudgetExceeded,
    KeyReused,
    LedgerError,
    ParameterError,
)
from askew_server.ledger import ChargeRequest, Ledger, StoredRelease
from askew_server.ledger.store import _write_ahead, connect


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path) as ledger:
        yield ledger


def test_a_release_is_charged_once_and_comes_back_as_it_was(ledger: Ledger) -> None:
    """Planted bugs: a retry that draws, and pays, again; any number is taken for a charge."""
    charge = charged(ledger, request())
    for identity in (0, 1, 99, -1):  # 1 is the row of the data set
        with pytest.raises(LedgerError, match=f"no charge {identity}"):
            ledger.fulfill(identity, b"the list")
    with pytest.raises(ParameterError, match="outputs"):
        ledger.fulfill(charge.id, b"the list", 7)  # which answers to analysts have
    release = ledger.fulfill(charge.id, b"the list")
    assert release == StoredRelease(charge.id, request(), b"the list", None)
    assert ledger.charge(request()) == release
    assert releases_of(ledger) == ledger.charges() == (release,)
    assert epsilon_spent(ledger) == 1


@pytest.mark.parametrize("fulfilled", [True, False])
def test_a_key_stands_for_one_request_for_ever(ledger: Ledger, fulfilled: bool) -> None:
    charge = charged(ledger, request())
    if fulfilled:
        ledger.fulfill(charge.id, b"the list")
    for other in (
        request(what="top 21"),
        request(loss=pure(Fraction(1, 2))),
        request(loss=ApproximateDP(Fraction(1), Fraction(0), ADD_OR_REMOVE_ONE)),
        request(version="2"),
    ):
        with pytest.raises(KeyReused, match="monday"):
            ledger.charge(other)
    assert [stored.id for stored in ledger.charges()] == [charge.id]


def test_a_new_version_may_have_another_cap_and_keeps_the_order_of_conversion(
    ledger: Ledger,
) -> None:
    """And what was spent. A filter fixes the order of its conversion for ever: see `PrivacyFilter`.
    Planted bug: a sum by version.
    """
    ledger.fulfill(charged(ledger, request(loss=pure(6))).id, b"the list")
    again = ledger.open_dataset("plays", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
    assert ledger.datasets() == (again,)
    larger = PrivacyFilter(epsilon=Fraction(20), delta=CAP.delta, slack=CAP.slack)
    opened = ledger.open_dataset("plays", "2", larger, UNIT, ADD_OR_REMOVE_ONE)
    assert (opened.cap.epsilon, opened.cap.order) == (Fraction(20), CAP.order)
    assert larger.order != CAP.order
    assert (opened.version, opened.spent.epsilon) == ("2", Fraction(6))
    with pytest.raises(BudgetExceeded):
        ledger.charge(request("tuesday", pure(15), version="2"))
    charged(ledger, request("tuesday", pure(14), version="2"))
    with pytest.raises(LedgerError, match="is at version '2'"):
        ledger.charge(request("wednesday", pure(1)))
    stored = ledger.charge(request(loss=pure(6)))
    assert isinstance(stored, StoredRelease)
    with pytest.raises(LedgerError, match="no longer the newest"):
        ledger.open_dataset("plays", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)


def test_versions_cannot_be_summed_over_different_promises(ledger: Ledger) -> None:
    no_slack = PrivacyFilter(epsilon=CAP.epsilon, delta=CAP.delta)
    for cap, unit, neighbors in (
        (CAP, "one event", ADD_OR_REMOVE_ONE),
        (CAP, UNIT, REPLACE_ONE),
        (no_slack, UNIT, ADD_OR_REMOVE_ONE),
    ):
        with pytest.raises(LedgerError, match="keeps its unit"):
            ledger.open_dataset("plays", "2", cap, unit, neighbors)
        with pytest.raises(LedgerError, match="open a new version"):
            ledger.open_dataset("plays", "1", cap, unit, neighbors)


def test_data_sets_have_budgets_of_their_own(ledger: Ledger) -> None:
    ledger.open_dataset("books", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
    ledger.charge(request(loss=pure(10)))
    spent = {each.name: each.spent.epsilon for each in ledger.datasets()}
    assert spent == {"books": 0, "plays": 10}
    with pytest.raises(LedgerError, match="no data set 'films'"):
        ledger.dataset("films")
    with pytest.raises(LedgerError, match="REPLACE_ONE"):  # a loss for another relation
        ledger.charge(request("tuesday", PureDP(Fraction(1), REPLACE_ONE)))


def test_an_unfulfilled_reservation_stays_spent(ledger: Ledger) -> None:
    ledger.grant("plays", "ann", TERMS)
    ledger.charge(answer("q1", 15))
    with pytest.raises(BudgetExceeded, match="outputs"):
        ledger.charge(answer("q2", 6))
    ledger.charge(answer("q2", 5))
    with pytest.raises(BudgetExceeded, match="outputs"):
        ledger.charge(answer("q3", 1))


def test_an_answer_is_settled_to_what_was_reserved_at_most(ledger: Ledger) -> None:
    ledger.grant("plays", "ann", TERMS)
    charge = charged(ledger, answer("q1", 10))
    for outputs in (None, 0, 11, -1, True):
        with pytest.raises(ParameterError, match="outputs"):
            ledger.fulfill(charge.id, b"", outputs)
    assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=10, calls=1)


def test_analysts_do_not_share_keys_answers_or_budgets(ledger: Ledger) -> None:
    """Planted bug: a key of the data set alone."""
    ledger.grant("plays", "ann", TERMS)
    ledger.grant("plays", "bob", TERMS)
    for principal in ("ann", "bob"):
        charge = charged(ledger, answer("q1", 5, principal))
        ledger.fulfill(charge.id, principal.encode(), outputs=2)
    found = ledger.charge(answer("q1", 5, "bob"))
    assert isinstance(found, StoredRelease)
    assert found.payload == b"bob"
    assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=2, calls=1)
    assert ledger.dataset("plays").spent.epsilon == 2 * TERMS.total_loss().epsilon


def test_an_answer_has_the_terms_of_a_grant_that_keeps_its_own(ledger: Ledger) -> None:
    """And is charged once."""
    first = ledger.grant("plays", "ann", TERMS)
    assert ledger.grant("plays", "ann", TERMS) == first
    assert ledger.dataset("plays").spent == TERMS.total_loss()
    assert ledger.budgets() == (first,)
    with pytest.raises(LedgerError, match="other terms"):
        ledger.grant("plays", "ann", replace(TERMS, k_star=21))
    for loss in (
        pure(Fraction(1, 10)),
        BoundedRange(Fraction(1, 100), 5, TERMS.delta, ADD_OR_REMOVE_ONE),
        BoundedRange(TERMS.epsilon, 5, TERMS.delta / 2, ADD_OR_REMOVE_ONE),
    ):
        with pytest.raises(ParameterError, match="loss"):
            ledger.charge(request("q1", loss, principal="ann"))
    assert ledger.charges() == ()


def test_grants_without_a_slack_compose_with_all_else_of_the_data_set(ledger: Ledger) -> None:
    """Planted bugs: a grant that the data set adds up; a recount that does."""
    terms = replace(TERMS, slack=Fraction(0))
    releases = BoundedRange(Fraction(1, 10), 30, Fraction(0), ADD_OR_REMOVE_ONE)
    charged(ledger, request(loss=releases))
    for principal in ("ann", "bob"):
        ledger.grant("plays", principal, terms)
        charged(ledger, request("q1", terms.answer(3), principal=principal))
    together = RunningLoss().plus(releases).plus(terms.grant()).plus(terms.grant())
    assert ledger.dataset("plays").spent == CAP.loss(together)


def test_a_revoked_budget_is_closed_for_good_and_stays_charged(tmp_path: Path) -> None:
    """Planted bugs: the loss given back; a revocation that later grants inherit."""
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
        ledger.grant("plays", "bob", TERMS)
        ledger.fulfill(charged(ledger, answer("a", 4)).id, b"list", outputs=2)
        spent = ledger.dataset("plays").spent
        closed = ledger.revoke("plays", "ann")
        assert (closed.closed, closed.answered) == (True, AnalystUsage(2, 1))
        assert ledger.revoke("plays", "ann") == closed
        with pytest.raises(LedgerError, match="no budget"):
            ledger.charge(answer("b", 1))
        assert ledger.dataset("plays").spent == spent
        assert not budget_of(ledger, "bob").closed
    with open_ledger(tmp_path) as ledger:
        assert ledger.refused is None
        assert budget_of(ledger, "ann") == closed
        anew = ledger.grant("plays", "ann", TERMS)
        assert not anew.closed
        assert ledger.dataset("plays").spent.epsilon > spent.epsilon
        charged(ledger, answer("b", 1))


@pytest.mark.parametrize("field", ["key", "dataset", "version", "principal"])
@pytest.mark.parametrize("text", ["", "x" * 201, "two\nlines"], ids=["none", "long", "lines"])
def test_a_request_that_makes_no_sense_is_refused(field: str, text: str) -> None:
    with pytest.raises(ParameterError, match=field):
        ChargeRequest(**{**vars(request()), field: text})


def test_the_totals_stay_exact_over_awkward_denominators(tmp_path: Path) -> None:
    """Beyond the 4300 decimal digits that Python would print."""
    losses = [pure(Fraction(1, 2**255 - 1 - 2 * n)) for n in range(60)]
    expected = sum((loss.epsilon for loss in losses), Fraction(0))
    with new_ledger(tmp_path) as ledger:
        for n, loss in enumerate(losses):
            ledger.charge(request(str(n), loss))
        assert epsilon_spent(ledger) == expected
    with open_ledger(tmp_path) as ledger:
        assert ledger.refused is None
        assert epsilon_spent(ledger) == expected


def run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)


def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    new_ledger(tmp_path).close()
    newer, mark = files(tmp_path)
    foreign, text = tmp_path / "foreign", tmp_path / "text"
    run(newer, "PRAGMA user_version = 2")
    run(foreign, "CREATE TABLE theirs (number)")
    text.write_text("a text that is longer than the header of a database" * 100)
    words = {newer: "version 2", foreign: "is not a ledger", text: "no SQLite file"}
    for file, said in words.items():
        before = file.read_bytes()
        with pytest.raises(LedgerError, match=said):
            Ledger(file, mark)
        assert file.read_bytes() == before
    with pytest.raises(LedgerError, match="no regular file"):
        Ledger(tmp_path, mark)
    for paths in (
        (tmp_path / "none" / "ledger", mark),
        (tmp_path / "new", tmp_path / "none" / "m"),
    ):
        with pytest.raises(LedgerError, match="No such file or directory"):
            Ledger(*paths)


def test_no_row_is_replaced_by_a_program_of_ours(tmp_path: Path) -> None:
    """REPLACE is a deletion that fires no trigger by itself."""
    path, _ = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request())
    before = path.read_bytes()
    with (
        closing(connect(path, 1)) as database,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        database.execute("REPLACE INTO totals SELECT * FROM totals")
    assert path.read_bytes() == before


def test_a_journal_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Planted bug: a look at the ledger's own file only."""
    with new_ledger(tmp_path):
        for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
            (tmp_path / name).chmod(0o602)
            with pytest.raises(LedgerError, match=r"not yours alone.*\(chmod go-w\)"):
                open_ledger(tmp_path)
            (tmp_path / name).chmod(0o600)


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


@pytest.mark.parametrize("left", [0.02, 0.6, 0.95])
def test_a_truncated_file_is_not_believed(tmp_path: Path, left: float) -> None:
    """An analyst asked, so no page is empty, and its end no loss."""
    path, _ = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
        for key in ("monday", "tuesday"):
            ledger.fulfill(charged(ledger, request(key)).id, f"the list of {key}".encode())
        charged(ledger, answer("q1", 5))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(LedgerError), open_ledger(tmp_path) as ledger:
        ledger.charge(request("one more"))


def test_who_finds_the_journal_being_changed_waits_and_tries_again() -> None:
    """SQLite does not wait there, so of several who open a new ledger at once one might fail."""
    wal, heard = "PRAGMA journal_mode = WAL", []

    def execute(sql: str) -> Mock:
        heard.append(sql)
        if sql == wal and heard.count(wal) < 3:
            busy = sqlite3.OperationalError("database is locked")
            busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise busy
        return Mock(fetchone=lambda: ("delete",))

    _write_ahead(Mock(execute=execute))
    changes = [sql for sql in heard if sql != "PRAGMA journal_mode"]
    assert changes == [wal, *["BEGIN IMMEDIATE", "ROLLBACK", wal] * 2]
