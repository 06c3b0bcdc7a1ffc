"""How a release is paid and made, without I/O of its own: charge, count, select, store.

    plan                     public parameters; what it will spend is printed before this
    look(plan.task)          what is wrong with a log that is a file, where nobody looked before
    ledger.charge(plan)      durable; BudgetExceeded ends it here, with no data read
    count(plan.task)         contribution bounding and counting, on the operator's engine
    plan.select(counts)      the mechanism, with the kernel's randomness
    ledger.fulfill(...)      the release, stored; only now may anybody see it

The charge comes before the data are read, and not only before the coin: a job that counted first
could fail, or be stopped by somebody who watches it, depending on what it read, and would then have
told something for nothing. So a job that fails after its charge has lost that budget, and what can
be checked without the data is checked before. A charge without a release is never drawn for again:
that would be a second answer to one payment. Raw counts die with the job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock

from askew.dp.analyst import BudgetStatus, TopKQuestion
from askew.errors import (
    AskewError,
    BudgetExceeded,
    ChargePending,
    KeyReused,
    LedgerRefused,
    NotFound,
    Refused,
)
from askew.noise.randomness import RandomBits
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import ChargeRequest, Ledger, StoredRelease
from askew_server.release.plan import AnalystPlan, ReleasePlan

Count = Callable[[CountingTask], TopCounts]
Report = Callable[[str], None]
Plan = ReleasePlan | AnalystPlan

FIRST_MOMENT = 1.0
"""Seconds after which the quickest answers are stored."""


@contextmanager
def until_public_moment(
    clock: Callable[[], float], wait: Callable[[float], object]
) -> Iterator[None]:
    """Run the body of a `with`, and wait until 1, 2, 4, 8 ... seconds after its beginning, the next
    of these that comes, also where it raises.

    How long a count takes depends on the log. What is shown at such a moment tells which of them it
    was, and no more. clock: seconds. wait: for so many, or until the program stops.
    """
    began = clock()
    try:
        yield
    finally:
        moment, passed = FIRST_MOMENT, clock() - began
        while moment < passed:
            moment *= 2
        wait(moment - passed)


@dataclass(frozen=True)
class ReleaseJob:
    """Where a release is paid, counted and drawn.

    report: called with the name of a step as it begins. beat: around what takes as long as the log
    has it; only after it is anything stored that others can look at. wait: `Ledger.lock`'s. look:
    raises what can be known to be wrong with a log before it is paid for.
    """

    ledger: Ledger
    count: Count
    bits: RandomBits
    report: Report = lambda _: None
    beat: Callable[[], AbstractContextManager[None]] = nullcontext
    wait: Callable[[float], object] = time.sleep
    look: Callable[[CountingTask], object] | None = None

    def publish(self, plan: Plan, request: ChargeRequest) -> StoredRelease:
        """Return the stored release of this request, paid and made now, or earlier.

        Whoever asks for the same at the same time, in whatever program, waits and gets the same
        bytes. Raises what the ledger and the engine raise, and Refused where the server is
        stopping.
        """
        with self.ledger.lock(request, self.wait):
            return self._published(plan, request)

    def _published(self, plan: Plan, request: ChargeRequest) -> StoredRelease:
        if self.look is not None:
            stored = self.ledger.preview(request)
            if stored is not None:
                return stored
            with self.beat():  # its own, as others may look at the charge
                self.look(plan.task)
            if self.wait(0):
                raise Refused("the server is stopping")
        self.report("charging")
        charge = self.ledger.charge(request)
        if isinstance(charge, StoredRelease):
            return charge
        with self.beat():
            self.report("counting")
            counts = self.count(plan.task)
            self.report("selecting")
            release = plan.select(counts, charge=charge.id, bits=self.bits)
        self.report("storing")
        outputs = len(release.items) + release.stopped  # the stop was drawn like an item
        paid = None if request.principal is None else outputs
        return self.ledger.fulfill(charge.id, release.to_bytes(), paid)


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
        """Take what is counted by data set, and a job, with a beat where the time of an answer is
        seen. one_at_a_time: held until the moment of an answer: were the next question begun when a
        count ends, its own moment would tell when that was.
        """
        self._ledger, self._offered, self._job = ledger, dict(offered), job
        # An engine is one connection, and a count is heavy.
        self._one_at_a_time = one_at_a_time or Lock()

    def check(self) -> None:
        """Raise LedgerError where a data set that is offered is not in the ledger, or cannot be
        read.
        """
        for dataset in self._offered:
            self._ledger.dataset(dataset)

    def budget(self, principal: str, dataset: str) -> BudgetStatus:
        """Return the BudgetStatus of an analyst's newest grant for a data set: `terms`, `outputs`
        and `calls` spent, `closed`. Raises NotFound where nothing was granted, or the data set is
        not offered.
        """
        granted = self._ledger.budgets(dataset) if dataset in self._offered else ()
        own = [grant for grant in granted if grant.principal == principal]
        if not own:
            raise NotFound("budget")
        newest = own[-1]
        spent = newest.answered
        return BudgetStatus(newest.terms, spent.outputs, spent.calls, newest.closed)

    def top_k(self, principal: str, question: TopKQuestion) -> tuple[bytes, BudgetStatus]:
        """Return the stored answer to a question, the bytes of a release, and the analyst's budget
        after it. Raises NotFound where nothing was granted, Refused where it is not answered (a
        closed or spent budget, a key of another question, an answer under way or lost, a ledger
        that refuses to spend, a stop), LedgerError, and what the engine raises.
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
