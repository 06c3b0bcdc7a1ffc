"""Any order of acts, restarts and restored backups, beside a model that fits on a page."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from server.ledger.scenes import (
    CAP,
    TERMS,
    UNIT,
    answer,
    budget_of,
    files,
    new_ledger,
    open_ledger,
    pure,
    releases_of,
    request,
)

from askew.dp.analyst import AnalystUsage
from askew.dp.composition import Loss, RunningLoss
from askew.dp.privacy import ADD_OR_REMOVE_ONE, BoundedRange
from askew.errors import BudgetExceeded, ChargePending, KeyReused, LedgerError, LedgerRefused
from askew_server.ledger import Charge, ChargeRequest, StoredRelease

keys = st.sampled_from("abcdefgh")
losses: st.SearchStrategy[Loss] = st.one_of(
    st.fractions(Fraction(1, 10), 3, max_denominator=10).map(pure),
    st.integers(1, 40).map(
        lambda k: BoundedRange(Fraction(1, 10), k, Fraction(1, 10**9), ADD_OR_REMOVE_ONE)
    ),
)


@dataclass
class Book:
    """The model: what a careful clerk would know."""

    paid: dict[tuple[str, str], tuple[ChargeRequest, int, bytes | None]] = field(
        default_factory=dict
    )
    losses: list[Loss] = field(default_factory=list)
    version: int = 1
    answered: AnalystUsage | None = None


class Clerk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = new_ledger(self.folder)
        self.book = Book()
        self.rolled_back = False

    def teardown(self) -> None:
        self.ledger.close()
        shutil.rmtree(self.folder)

    def ask(self, wanted: ChargeRequest, fits: bool) -> None:
        """`fits`: whether a new charge may be made."""
        place = (wanted.principal or "", wanted.key)
        known, identity, payload = self.book.paid.get(place, (None, 0, None))
        if known is not None and known != wanted:
            with pytest.raises(KeyReused):
                self.ledger.charge(wanted)
        elif known is not None and payload is None:
            with pytest.raises(ChargePending):
                self.ledger.charge(wanted)
        elif known is not None:
            found = self.ledger.charge(wanted)
            assert isinstance(found, StoredRelease)
            assert (found.id, found.payload) == (identity, payload)
        elif not fits:
            with pytest.raises(BudgetExceeded):
                self.ledger.charge(wanted)
        else:
            made = self.ledger.charge(wanted)
            assert isinstance(made, Charge)
            self.book.paid[place] = (wanted, made.id, None)

    @rule(key=keys, loss=losses)
    def spend(self, key: str, loss: Loss) -> None:
        wanted = request(key, loss, version=str(self.book.version))
        before = len(self.book.paid)
        total = CAP.loss(_sum([*self.book.losses, loss]))
        self.ask(wanted, total.epsilon <= CAP.epsilon and total.delta <= CAP.delta)
        if len(self.book.paid) > before:
            self.book.losses.append(loss)

    @rule(key=keys, k=st.integers(1, 8))
    def query(self, key: str, k: int) -> None:
        had = self.book.answered
        wanted = replace(answer(key, k), version=str(self.book.version))
        if had is None:
            if ("ann", key) not in self.book.paid:
                with pytest.raises(LedgerError, match="no budget"):
                    self.ledger.charge(wanted)
            return
        before = len(self.book.paid)
        self.ask(wanted, had.outputs + k <= TERMS.k_star and had.calls < TERMS.l_star)
        if len(self.book.paid) > before:
            self.book.answered = AnalystUsage(had.outputs + k, had.calls + 1)

    @precondition(lambda self: self.book.answered is None)
    @rule()
    def grant(self) -> None:
        loss = TERMS.total_loss()
        total = CAP.loss(_sum([*self.book.losses, loss]))
        if total.epsilon > CAP.epsilon:
            with pytest.raises(BudgetExceeded):
                self.ledger.grant("plays", "ann", TERMS)
            return
        self.ledger.grant("plays", "ann", TERMS)
        self.book.losses.append(loss)
        self.book.answered = AnalystUsage()

    @rule(payload=st.binary(max_size=20), length=st.integers(1, 8), data=st.data())
    def fulfill(self, payload: bytes, length: int, data: st.DataObject) -> None:
        open_ones = [place for place, (_, _, got) in self.book.paid.items() if got is None]
        if not open_ones:
            return
        place = data.draw(st.sampled_from(sorted(open_ones)))
        wanted, identity, _ = self.book.paid[place]
        outputs = None
        if wanted.principal is not None and isinstance(wanted.loss, BoundedRange):
            outputs = min(length, wanted.loss.rounds)
            if self.book.answered is not None:
                back = wanted.loss.rounds - outputs
                had = self.book.answered
                self.book.answered = AnalystUsage(had.outputs - back, had.calls)
        self.ledger.fulfill(identity, payload, outputs)
        self.book.paid[place] = (wanted, identity, payload)

    @rule(data=st.data())
    def fulfill_twice(self, data: st.DataObject) -> None:
        done = [identity for _, identity, got in self.book.paid.values() if got is not None]
        if done:
            with pytest.raises(LedgerError, match="already"):
                self.ledger.fulfill(data.draw(st.sampled_from(done)), b"again")

    @rule()
    def next_version(self) -> None:
        self.book.version += 1
        self.ledger.open_dataset("plays", str(self.book.version), CAP, UNIT, ADD_OR_REMOVE_ONE)

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.ledger = open_ledger(self.folder)

    @precondition(lambda self: not self.rolled_back and self.book.answered is None)
    @rule(key=keys)
    def lose_a_charge_to_a_restored_backup(self, key: str) -> None:
        """The row is gone; what it spent is not, once an operator has accepted the ledger."""
        wanted = request(key, pure(Fraction(1, 3)), version=str(self.book.version))
        total = CAP.loss(_sum([*self.book.losses, wanted.loss]))
        if ("", key) in self.book.paid or total.epsilon > CAP.epsilon:
            return
        self.ledger.close()
        path, _ = files(self.folder)
        backup = path.read_bytes()
        with open_ledger(self.folder) as ledger:
            ledger.charge(wanted)
        path.write_bytes(backup)
        self.ledger = open_ledger(self.folder)
        with pytest.raises(LedgerRefused):
            self.ledger.charge(wanted)
        self.ledger.accept()
        self.book.losses.append(wanted.loss)
        self.rolled_back = True

    @invariant()
    def the_books_agree(self) -> None:
        expected = CAP.loss(_sum(self.book.losses))
        assert self.ledger.dataset("plays").spent == expected
        actual = {
            (each.request.principal or "", each.request.key): (each.request, each.id)
            for each in self.ledger.charges()
        }
        assert actual == {at: (wanted, n) for at, (wanted, n, _) in self.book.paid.items()}
        payloads = {each.id: each.payload for each in releases_of(self.ledger)}
        public = [(n, got) for (who, _), (_, n, got) in self.book.paid.items() if not who]
        assert payloads == {n: got for n, got in public if got is not None}
        if self.book.answered is not None:
            assert budget_of(self.ledger, "ann").answered == self.book.answered


def _sum(losses: list[Loss]) -> RunningLoss:
    spent = RunningLoss()
    for loss in losses:
        spent = spent.plus(loss)
    return spent


def play(examples: int, steps: int) -> None:
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Clerk, settings=how)


def test_the_ledger_agrees_with_a_simple_book() -> None:
    play(examples=12, steps=20)


@pytest.mark.parametrize(
    "walks",
    [pytest.param(60, marks=pytest.mark.audit), pytest.param(200, marks=pytest.mark.nightly)],
)
def test_the_ledger_agrees_with_a_simple_book_for_long(walks: int) -> None:
    play(examples=walks, steps=40)
