"""Answers to analysts, without a network: reserve, count, select, store, settle.

An answer costs its length, the stop included; k is reserved before the data are touched, so a
question that could cost more than is left is refused with nothing read. What is returned was stored
before, and the same key and question get the same bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from askew.dp.analyst import BudgetStatus, TopKQuestion
from askew.errors import (
    AskewError,
    BudgetExceeded,
    ChargePending,
    KeyReused,
    LedgerFrozen,
    NotFound,
    Refused,
)
from askew_server.ledger import Ledger
from askew_server.release.analyst_plan import AnalystPlan, Offer
from askew_server.release.job import ReleaseJob

_REASONS: dict[type[AskewError], str] = {
    KeyReused: "the key stands for another question",
    ChargePending: "this question is being answered, or its answer was lost; it stays spent",
    LedgerFrozen: "nothing can be spent until the operator acts",
}


class AnalystDesk:
    """What analysts may ask of the data sets on offer. Safe for several threads."""

    def __init__(
        self,
        ledger: Ledger,
        offers: Mapping[str, Offer],
        job: ReleaseJob,
        one_at_a_time: Lock | None = None,
    ) -> None:
        """job: with a `Beat`, where the time of an answer is seen. one_at_a_time: held while a
        question is answered, and waits for its moment: were the next one begun when a count ends,
        its own moment would tell when that was.
        """
        self._ledger = ledger
        self._offers = dict(offers)
        self._job = job
        self._one_at_a_time = (
            one_at_a_time or Lock()
        )  # an engine is one connection, and a count is heavy

    def check(self) -> None:
        """Raises LedgerError where the budgets on offer cannot be read."""
        for dataset in self._offers:
            self._ledger.dataset(dataset)

    def budget(self, principal: str, dataset: str) -> BudgetStatus:
        """What is left. Raises NotFound where nothing was granted: denied by default."""
        granted = self._ledger.budgets(dataset) if dataset in self._offers else ()
        own = [each for each in granted if each.principal == principal]
        if not own:
            raise NotFound("budget")
        newest = own[-1]
        spent = newest.answered
        return BudgetStatus(newest.terms, spent.outcomes, spent.calls, newest.closed)

    def top_k(self, principal: str, question: TopKQuestion) -> tuple[bytes, BudgetStatus]:
        """The stored answer, and the budget after it. Raises NotFound and Refused."""
        budget = self.budget(principal, question.dataset)
        if budget.closed:
            raise Refused("the operator closed this budget")
        version = self._ledger.dataset(question.dataset).version
        plan = AnalystPlan(question, version, budget.terms, self._offers[question.dataset])
        try:
            with self._one_at_a_time:
                if self._job.wait(0):
                    raise Refused("the server is stopping")
                stored = self._job.publish(plan, plan.charge_request(principal))
                return stored.payload, self.budget(principal, question.dataset)
        except BudgetExceeded as error:  # of the analyst's own grant, which GetBudget shows too
            raise Refused(str(error)) from None
        except tuple(_REASONS) as error:
            raise Refused(_REASONS[type(error)]) from None
