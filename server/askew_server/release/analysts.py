"""Answers to analysts, without a network: reserve, count, select, store, settle.

A question is about an unknown domain, and its answer costs its length, the stop included. k is
reserved before the data are touched, so a question that could cost more than is left is refused
with nothing read. What is returned was stored before, and the same key and question get the same
bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock

from askew.dp.analyst import BudgetStatus, PayWhatYouGet, TopKQuestion
from askew.dp.release import Release
from askew.errors import (
    AskewError,
    BudgetExceeded,
    ChargePending,
    KeyReused,
    LedgerRefused,
    NotFound,
    Refused,
)
from askew.mechanisms import LimitedDomain
from askew.noise.randomness import RandomBits
from askew_server.counting import CountingTask, TopCounts
from askew_server.counting.identity import digest_of, place_of
from askew_server.ledger import ChargeRequest, Ledger
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import draw, parameters_of
from askew_server.release.selectors import MIN_KBAR, USUAL_BOUND


@dataclass(frozen=True)
class AnalystPlan:
    """k items at most, best first, at the terms' epsilon per output and delta per question.

    offered: which events are counted, with which contribution bound; of an unknown domain, as deep
    as a mechanism looks at least. Privacy unit: one person's whole history, ADD_OR_REMOVE_ONE.
    Guarantee: `LimitedDomain` for one question, `PayWhatYouGet.total_loss` for everything that the
    terms allow.
    """

    question: TopKQuestion
    version: str
    terms: PayWhatYouGet
    offered: CountingTask

    @property
    def mechanism(self) -> LimitedDomain:
        """Return the limited-domain mechanism of k items at the terms' epsilon and delta; its kbar
        is the largest of k, the contribution bound (100 where none is offered) and MIN_KBAR.
        """
        bound = self.offered.max_items_per_unit or USUAL_BOUND
        return LimitedDomain(
            k=self.question.k,
            kbar=max(self.question.k, bound, MIN_KBAR),
            epsilon=self.terms.epsilon,
            delta=self.terms.delta,
            neighbors=self.terms.neighbors,
            max_items_per_unit=bound,
        )

    @property
    def task(self) -> CountingTask:
        """Return what is counted: the top kbar + 1 items, at most `max_items_per_unit` of one
        person.
        """
        bound, kbar = self.mechanism.max_items_per_unit, self.mechanism.kbar
        return replace(self.offered, max_items_per_unit=bound, limit=kbar + 1)

    def charge_request(self, principal: str) -> ChargeRequest:
        """Return the spend of an analyst, by the key of the question: k outputs reserved, until the
        answer is stored.
        """
        return ChargeRequest(
            dataset=self.question.dataset,
            version=self.version,
            key=self.question.key,
            digest=digest_of(k=self.question.k, **vars(self.offered)),
            loss=self.terms.answer(self.question.k),
            principal=principal,
            place=place_of(self.offered),
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Return the release of the items that the mechanism draws from private counts; it is
        public.

        The loss that it names is that of the k outputs reserved: a bound that does not depend on
        how many came back.
        """
        items, stopped, _ = draw(self.mechanism, counts, bits)
        return Release(
            charge=charge,
            dataset=self.question.dataset,
            mechanism="limited-domain",
            k=self.question.k,
            items=items,
            ranked=True,
            stopped=stopped,
            loss=self.mechanism.privacy_loss(),
            max_items_per_unit=self.mechanism.max_items_per_unit,
            parameters=parameters_of(self.mechanism),
        )


_REASONS: dict[type[AskewError], str] = {
    KeyReused: "the key stands for another question",
    ChargePending: "this question is being answered, or its answer was lost; it stays spent",
    LedgerRefused: "nothing can be spent until the operator acts",
}


class AnalystDesk:
    """What analysts may ask of the data sets that are offered. Safe for several threads."""

    def __init__(
        self,
        ledger: Ledger,
        offered: Mapping[str, CountingTask],
        job: ReleaseJob,
        one_at_a_time: Lock | None = None,
    ) -> None:
        """Keep what questions are answered with.

        offered: by data set. job: with a `Beat`, where the time of an answer is seen.
        one_at_a_time: held while a question is answered, and waits for its moment: were the next
        one begun when a count ends, its own moment would tell when that was.
        """
        self._ledger, self._offered, self._job = ledger, dict(offered), job
        # An engine is one connection, and a count is heavy.
        self._one_at_a_time = one_at_a_time or Lock()

    def check(self) -> None:
        """Raise LedgerError where the budgets that are offered cannot be read."""
        for dataset in self._offered:
            self._ledger.dataset(dataset)

    def budget(self, principal: str, dataset: str) -> BudgetStatus:
        """Return the terms of an analyst's newest grant for a data set, what was spent of it, and
        whether it is closed. Raises NotFound where nothing was granted: denied by default.
        """
        granted = self._ledger.budgets(dataset) if dataset in self._offered else ()
        own = [grant for grant in granted if grant.principal == principal]
        if not own:
            raise NotFound("budget")
        newest = own[-1]
        spent = newest.answered
        return BudgetStatus(newest.terms, spent.outputs, spent.calls, newest.closed)

    def top_k(self, principal: str, question: TopKQuestion) -> tuple[bytes, BudgetStatus]:
        """Return the stored answer to a question, as bytes, and the analyst's budget after it.
        Raises NotFound where nothing was granted, and Refused where it is not answered.
        """
        budget = self.budget(principal, question.dataset)
        if budget.closed:
            raise Refused("the operator closed this budget")
        version = self._ledger.dataset(question.dataset).version
        plan = AnalystPlan(question, version, budget.terms, self._offered[question.dataset])
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
