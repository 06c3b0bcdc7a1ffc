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
    LedgerFrozen,
    NotFound,
    Refused,
)
from askew.mechanisms import LimitedDomain
from askew.noise.randomness import RandomBits
from askew_server.counting import ContributionBound, CountingTask, TopCounts
from askew_server.ledger import ChargeRequest, EventMark, Ledger
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import EventSource, digest_of, draw, parameters_of
from askew_server.release.selectors import MIN_KBAR


@dataclass(frozen=True)
class Offer:
    """A data set that analysts may ask about: where its events are, and the contribution bound.

    A catalog, if it has one, is not used: an analyst's answers are always of an unknown domain.
    """

    source: EventSource
    bound: ContributionBound

    @property
    def events(self) -> EventMark:
        """Where the events are. Not their state: an analyst would learn from the refusal of a key
        that they have changed.
        """
        return EventMark(bytes(32), self.source.place)


@dataclass(frozen=True)
class AnalystPlan:
    """k items at most, best first, at the terms' epsilon per outcome and delta per question.

    Privacy unit: one person's whole history, ADD_OR_REMOVE_ONE. Guarantee: `LimitedDomain` for one
    question, `PayWhatYouGet.total_loss` for everything that the terms allow.
    """

    question: TopKQuestion
    version: str
    terms: PayWhatYouGet
    offer: Offer

    @property
    def mechanism(self) -> LimitedDomain:
        """The mechanism."""
        bound = self.offer.bound.max_items_per_unit
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
        """What is counted."""
        unknown_domain = replace(self.offer.source, catalog=None)
        return unknown_domain.task(self.offer.bound, self.mechanism.kbar)

    def charge_request(self, principal: str) -> ChargeRequest:
        """The spend: k outcomes reserved, until the answer is stored."""
        return ChargeRequest(
            dataset=self.question.dataset,
            version=self.version,
            key=self.question.key,
            digest=digest_of(
                self.offer.source,
                k=self.question.k,
                max_items_per_unit=self.offer.bound.max_items_per_unit,
            ),
            loss=self.terms.answer(self.question.k),
            principal=principal,
            events=self.offer.events,
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Run the mechanism on private counts; what comes back is public.

        The loss that it names is that of the k outcomes reserved: a bound that does not depend on
        how many came back.
        """
        items, stopped = draw(self.mechanism, counts, bits)
        return Release(
            charge=charge,
            dataset=self.question.dataset,
            mechanism="limited-domain",
            k=self.question.k,
            items=items,
            ranked=True,
            stopped=stopped,
            loss=self.mechanism.privacy_loss(),
            max_items_per_unit=self.offer.bound.max_items_per_unit,
            parameters=parameters_of(self.mechanism),
        )


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
