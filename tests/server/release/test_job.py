"""Charge, count, select, store: in this order, once, and whatever fails costs budget only."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from server.ledger.scenes import releases_of
from server.release.small_log import COUNTS

from askew.dp.release import release_from_bytes
from askew.errors import BudgetExceeded, ChargePending, DataError, KeyReused, LedgerError
from askew.noise.randomness import SystemBits
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import Ledger, StoredRelease
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import ReleasePlan

MakePlan = Callable[..., ReleasePlan]


class Watched:
    """A ledger, an engine and a source of bits that write down in which order they are used."""

    def __init__(self, ledger: Ledger, patches: pytest.MonkeyPatch) -> None:
        self.order: list[str] = []
        self._ledger = ledger
        for name in ("charge", "fulfill"):
            patches.setattr(ledger, name, self._noted(name, getattr(type(ledger), name)))

    def _noted(self, name: str, act: Callable[..., object]) -> Callable[..., object]:
        def noted(*arguments: object) -> object:
            self.order.append(name)
            return act(self._ledger, *arguments)

        return noted

    def count(self, _: CountingTask) -> TopCounts:
        self.order.append("count")
        return COUNTS

    def job(self) -> ReleaseJob:
        watched = self

        class Bits(SystemBits):
            def read(self, count: int) -> bytes:
                if watched.order[-1] != "draw":
                    watched.order.append("draw")
                return super().read(count)

        return ReleaseJob(self._ledger, self.count, Bits())


@pytest.fixture
def watched(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(ledger, monkeypatch)


def spent(ledger: Ledger) -> Fraction:
    return ledger.dataset("films").spent.epsilon


def test_the_charge_comes_before_the_data_and_the_data_before_the_coin(
    watched: Watched, plan_of: MakePlan
) -> None:
    """Planted bugs: charge after select; charge after count; shown before it is stored."""
    watched.job().publish(plan_of(), plan_of().charge_request())
    assert watched.order == ["charge", "count", "draw", "fulfill"]


def test_a_release_names_the_charge_that_paid_for_it(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    stored = watched.job().publish(plan_of(), plan_of().charge_request())
    release = release_from_bytes(stored.payload)
    assert [release.charge] == [charge.id for charge in ledger.charges()]
    assert spent(ledger) == release.loss.epsilon == 2


def test_the_same_request_gets_the_stored_bytes_and_touches_nothing(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    first = watched.job().publish(plan_of(), plan_of().charge_request())
    watched.order.clear()
    assert watched.job().publish(plan_of(), plan_of().charge_request()) == first
    assert watched.order == ["charge"]
    assert spent(ledger) == 2


def test_another_request_under_the_same_key_is_refused(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    job = watched.job()
    job.publish(plan_of(), plan_of().charge_request("monday"))
    with pytest.raises(KeyReused):
        job.publish(plan_of(k=2), plan_of(k=2).charge_request("monday"))
    assert spent(ledger) == 2


def test_a_budget_that_does_not_suffice_stops_before_the_data(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    plan = plan_of(epsilon=Fraction(101))
    with pytest.raises(BudgetExceeded):
        watched.job().publish(plan, plan.charge_request())
    assert watched.order == ["charge"]
    assert spent(ledger) == 0


def test_a_job_that_fails_after_its_charge_has_lost_it_and_is_not_drawn_again(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    """Planted bug: the charge taken back, so that failures that depend on data are free."""

    def broken(_: CountingTask) -> TopCounts:
        raise DataError("the engine went away")

    plan, request = plan_of(), plan_of().charge_request()
    with pytest.raises(DataError):
        ReleaseJob(ledger, broken, SystemBits()).publish(plan, request)
    assert spent(ledger) == 2
    with pytest.raises(ChargePending):
        watched.job().publish(plan, request)
    assert releases_of(ledger) == ()


def test_a_release_that_cannot_be_stored_is_not_shown(
    ledger: Ledger, watched: Watched, plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> StoredRelease:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(ledger, "fulfill", full)
    with pytest.raises(LedgerError):
        watched.job().publish(plan_of(), plan_of().charge_request())
    assert len(releases_of(ledger)) == 0
    assert spent(ledger) == 2
