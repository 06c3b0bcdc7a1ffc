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
from askew.dp.composition import PrivacyFilter, RunningLoss, concentrated_epsilon
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
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
    """Planted bug: a retry that draws, and pays, again."""
    charge = charged(ledger, request())
    release = ledger.fulfill(charge.id, b"the list")
    assert release == StoredRelease(charge.id, request(), b"the list", None)
    assert ledger.charge(request()) == release
    assert releases_of(ledger) == ledger.charges() == (release,)
    assert epsilon_spent(ledger) == 1


def test_what_was_stored_outlives_the_process(tmp_path: Path) -> None:
    loss = BoundedRange(Fraction(1, 3), 20, Fraction(1, 10**9), ADD_OR_REMOVE_ONE)
    kept = [
        request("a", pure(Fraction(10**9, 10**9 + 7))),
        request("b", ApproximateDP(Fraction(1, 3), Fraction(1, 10**8), ADD_OR_REMOVE_ONE)),
        request("c", loss),
    ]
    with new_ledger(tmp_path) as ledger:
        for wanted in kept:
            ledger.fulfill(charged(ledger, wanted).id, wanted.key.encode())
        spent = ledger.dataset("plays").spent
    with open_ledger(tmp_path) as ledger:
        assert [release.request for release in releases_of(ledger)] == kept
        assert [release.payload for release in releases_of(ledger)] == [b"a", b"b", b"c"]
        assert ledger.dataset("plays").spent == spent


@pytest.mark.parametrize(
    "other",
    [
        request(what="top 21"),
        request(loss=pure(Fraction(1, 2))),
        request(loss=ApproximateDP(Fraction(1), Fraction(0), ADD_OR_REMOVE_ONE)),
        request(version="2"),
    ],
    ids=["digest", "loss", "measure", "version"],
)
@pytest.mark.parametrize("fulfilled", [True, False])
def test_a_key_stands_for_one_request_for_ever(
    ledger: Ledger, other: ChargeRequest, fulfilled: bool
) -> None:
    """Planted bug: a key that is not bound to its request."""
    charge = charged(ledger, request())
    if fulfilled:
        ledger.fulfill(charge.id, b"the list")
    with pytest.raises(KeyReused, match="monday"):
        ledger.charge(other)
    assert [each.id for each in ledger.charges()] == [charge.id]


def test_there_is_no_release_without_a_charge(ledger: Ledger) -> None:
    """Planted bug: any number is taken."""
    charge = charged(ledger, request())
    for identity in (0, 1, 99, -1):  # 1 is the row of the data set
        with pytest.raises(LedgerError, match=f"no charge {identity}"):
            ledger.fulfill(identity, b"the list")
    ledger.fulfill(charge.id, b"the list")


def test_a_new_version_inherits_what_was_spent(ledger: Ledger) -> None:
    """Planted bug: a sum by version."""
    charge = charged(ledger, request(loss=pure(6)))
    ledger.fulfill(charge.id, b"the list")
    second = ledger.open_dataset("plays", "2", CAP, UNIT, ADD_OR_REMOVE_ONE)
    assert (second.version, second.spent.epsilon) == ("2", Fraction(6))
    with pytest.raises(BudgetExceeded):
        ledger.charge(request("tuesday", pure(5), version="2"))
    assert charged(ledger, request("tuesday", pure(4), version="2"))
    with pytest.raises(LedgerError, match="is at version '2'"):
        ledger.charge(request("wednesday", pure(1)))
    found = ledger.charge(request(loss=pure(6)))
    assert isinstance(found, StoredRelease)
    assert found.payload == b"the list"


def test_a_new_version_may_have_another_cap_and_keeps_the_order_of_conversion(
    ledger: Ledger,
) -> None:
    """A filter fixes the order of its conversion for ever: see `PrivacyFilter`."""
    larger = PrivacyFilter(epsilon=Fraction(20), delta=CAP.delta, slack=CAP.slack)
    opened = ledger.open_dataset("plays", "2", larger, UNIT, ADD_OR_REMOVE_ONE)
    assert (opened.cap.epsilon, opened.cap.order) == (Fraction(20), CAP.order)
    assert larger.order != CAP.order


@pytest.mark.parametrize(
    ("cap", "unit", "neighbors"),
    [
        (CAP, "one event", ADD_OR_REMOVE_ONE),
        (CAP, UNIT, REPLACE_ONE),
        (PrivacyFilter(epsilon=CAP.epsilon, delta=CAP.delta), UNIT, ADD_OR_REMOVE_ONE),
    ],
    ids=["unit", "neighbors", "slack"],
)
def test_versions_cannot_be_summed_over_different_promises(
    ledger: Ledger, cap: PrivacyFilter, unit: str, neighbors: NeighboringRelation
) -> None:
    with pytest.raises(LedgerError, match="keeps its unit"):
        ledger.open_dataset("plays", "2", cap, unit, neighbors)
    with pytest.raises(LedgerError, match="open a new version"):
        ledger.open_dataset("plays", "1", cap, unit, neighbors)


def test_opening_the_same_data_set_again_changes_nothing(ledger: Ledger) -> None:
    ledger.charge(request())
    again = ledger.open_dataset("plays", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
    assert ledger.datasets() == (again,)
    assert again.spent.epsilon == 1
    ledger.open_dataset("plays", "2", CAP, UNIT, ADD_OR_REMOVE_ONE)
    with pytest.raises(LedgerError, match="no longer the newest"):
        ledger.open_dataset("plays", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)


def test_data_sets_have_budgets_of_their_own(ledger: Ledger) -> None:
    ledger.open_dataset("books", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
    ledger.charge(request(loss=pure(10)))
    spent = {each.name: each.spent.epsilon for each in ledger.datasets()}
    assert spent == {"books": 0, "plays": 10}
    with pytest.raises(LedgerError, match="no data set 'films'"):
        ledger.dataset("films")


def test_selections_compose_by_zcdp_and_the_rest_by_its_sum(ledger: Ledger) -> None:
    """100 rounds of 0.1: rho = 1/8, converted at the cap's order; and a plain charge of 2."""
    loss = BoundedRange(Fraction(1, 10), 100, Fraction(0), ADD_OR_REMOVE_ONE)
    charged(ledger, request("a", loss))
    charged(ledger, request("b", pure(2)))
    spent = ledger.dataset("plays").spent
    assert spent.epsilon == 2 + concentrated_epsilon(Fraction(1, 8), CAP.slack, CAP.order)
    assert spent.epsilon < 2 + 10
    assert spent.delta == CAP.slack


def test_a_loss_for_another_relation_is_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="REPLACE_ONE"):
        ledger.charge(request(loss=PureDP(Fraction(1), REPLACE_ONE)))


def test_an_unfulfilled_reservation_stays_spent(ledger: Ledger) -> None:
    ledger.grant("plays", "ann", TERMS)
    ledger.charge(answer("q1", 15))
    with pytest.raises(BudgetExceeded, match="outputs"):
        ledger.charge(answer("q2", 6))
    ledger.charge(answer("q2", 5))
    with pytest.raises(BudgetExceeded, match="outputs"):
        ledger.charge(answer("q3", 1))


@pytest.mark.parametrize("outputs", [None, 0, 11, -1, True])
def test_an_answer_is_settled_to_what_was_reserved_at_most(
    ledger: Ledger, outputs: int | None
) -> None:
    ledger.grant("plays", "ann", TERMS)
    charge = charged(ledger, answer("q1", 10))
    with pytest.raises(ParameterError, match="outputs"):
        ledger.fulfill(charge.id, b"", outputs)
    assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=10, calls=1)


def test_a_public_release_has_no_number_of_outputs(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="outputs"):
        ledger.fulfill(charged(ledger, request()).id, b"", 7)


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


@pytest.mark.parametrize(
    "loss",
    [
        pure(Fraction(1, 10)),
        BoundedRange(Fraction(1, 100), 5, TERMS.delta, ADD_OR_REMOVE_ONE),
        BoundedRange(TERMS.epsilon, 5, TERMS.delta / 2, ADD_OR_REMOVE_ONE),
    ],
    ids=["measure", "epsilon", "delta"],
)
def test_an_answer_has_the_terms_of_the_analyst(
    ledger: Ledger, loss: PureDP | BoundedRange
) -> None:
    ledger.grant("plays", "ann", TERMS)
    with pytest.raises(ParameterError, match="loss"):
        ledger.charge(request("q1", loss, principal="ann"))
    assert ledger.charges() == ()


def test_a_grant_is_charged_once_and_keeps_its_terms(ledger: Ledger) -> None:
    first = ledger.grant("plays", "ann", TERMS)
    assert ledger.grant("plays", "ann", TERMS) == first
    assert ledger.dataset("plays").spent == TERMS.total_loss()
    assert ledger.budgets() == (first,)
    other = type(TERMS)(**{**vars(TERMS), "k_star": 21})
    with pytest.raises(LedgerError, match="other terms"):
        ledger.grant("plays", "ann", other)


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


@pytest.mark.parametrize(
    "arguments",
    [
        {"key": ""},
        {"key": "x" * 201},
        {"key": "two\nlines"},
        {"dataset": ""},
        {"version": ""},
        {"principal": ""},
    ],
    ids=str,
)
def test_a_request_that_makes_no_sense_is_refused(arguments: dict[str, object]) -> None:
    fields: dict[str, object] = {**vars(request()), **arguments}
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        ChargeRequest(**fields)  # type: ignore[arg-type]


def test_the_totals_stay_exact_over_awkward_denominators(tmp_path: Path) -> None:
    """Beyond the 4300 decimal digits that Python would print."""
    with new_ledger(tmp_path) as ledger:
        for n in range(60):
            loss = pure(Fraction(1, 2**255 - 1 - 2 * n))
            ledger.charge(request(str(n), loss))
        expected = sum((Fraction(1, 2**255 - 1 - 2 * n) for n in range(60)), Fraction(0))
        assert epsilon_spent(ledger) == expected
    with open_ledger(tmp_path) as ledger:
        assert ledger.refused is None
        assert epsilon_spent(ledger) == expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with two releases and a pending charge, closed."""
    with new_ledger(tmp_path) as ledger:
        for key in ("monday", "tuesday"):
            ledger.fulfill(charged(ledger, request(key)).id, f"the list of {key}".encode())
        charged(ledger, request("wednesday"))
    return tmp_path


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def test_a_missing_directory_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "none" / "ledger.sqlite", tmp_path / "mark")
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "ledger.sqlite", tmp_path / "none" / "mark")
    with pytest.raises(LedgerError, match="no regular file"):
        Ledger(tmp_path, tmp_path / "mark")


def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(folder: Path) -> None:
    path, mark = files(folder)
    newer, foreign, text = path, folder / "foreign", folder / "text"
    run(newer, "PRAGMA user_version = 2")
    run(foreign, "CREATE TABLE theirs (number)")
    text.write_text("a text that is longer than the header of a database" * 100)
    words = {newer: "version 2", foreign: "is not a ledger", text: "no SQLite file"}
    for file, said in words.items():
        before = file.read_bytes()
        with pytest.raises(LedgerError, match=said):
            Ledger(file, mark)
        assert file.read_bytes() == before


@pytest.mark.parametrize("left", [0.02, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_not_believed(folder: Path, left: float) -> None:
    """An analyst asked, so no page is empty, and its end no loss."""
    path, mark = files(folder)
    with open_ledger(folder) as ledger:
        ledger.grant("plays", "ann", TERMS)
        charged(ledger, answer("q1", 5))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(LedgerError), Ledger(path, mark) as ledger:
        ledger.charge(request("one more"))


def test_no_row_is_replaced_by_a_program_of_ours(folder: Path) -> None:
    """REPLACE is a deletion that fires no trigger by itself. Planted bug: no recursive_triggers."""
    path, _ = files(folder)
    before = path.read_bytes()
    with (
        closing(connect(path, 1)) as database,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        database.execute("REPLACE INTO totals SELECT * FROM totals")
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["ledger.sqlite-wal", "ledger.sqlite-shm"])
def test_a_journal_that_others_may_write_is_refused(tmp_path: Path, name: str) -> None:
    """Planted bug: a look at the ledger's own file only."""
    with new_ledger(tmp_path):
        (tmp_path / name).chmod(0o602)
        with pytest.raises(LedgerError, match=r"not yours alone.*\(chmod go-w\)"):
            open_ledger(tmp_path)


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
