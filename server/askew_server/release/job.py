"""The release job, without I/O of its own: charge, count, select, store.

    plan                     public parameters; what it will spend is printed before this
    ledger.charge(plan)      durable; BudgetExceeded ends it here, with no data read
    count(plan.task)         contribution bounding and counting, on the operator's engine
    plan.select(counts)      the mechanism, with the kernel's randomness
    ledger.fulfill(...)      the release, stored; only now may anybody see it

The charge comes before the data are read, and not only before the coin. A job that counted first
could fail, or be stopped by somebody who watches it, depending on what it read, and would then have
told something for nothing. The price is that a job that fails after its charge has lost that
budget; what can be known without the data (files and columns, the mechanism, the budget) is
therefore checked before. A charge without a release is never drawn for again: a second draw would
be a second answer to one payment. Raw counts die with the job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from askew.randomness import RandomBits
from askew.release import Release
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import Charge, ChargeRequest, StoredRelease

Count = Callable[[CountingTask], TopCounts]
Report = Callable[[str], None]


class Spending(Protocol):
    """What the job needs of a ledger."""

    def charge(self, request: ChargeRequest) -> Charge | StoredRelease:
        """Spend durably, or give back what was released for the same request."""

    def fulfill(self, charge_id: int, payload: bytes, outcomes: int | None = None) -> StoredRelease:
        """Store the release of a charge, once."""


class Plan(Protocol):
    """What is counted and how it is selected, in public parameters."""

    @property
    def task(self) -> CountingTask:
        """What is counted."""

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Run the mechanism on private counts; what comes back is public."""


@dataclass(frozen=True)
class ReleaseJob:
    """Where a release is paid, counted and drawn. report is told each step as it begins."""

    ledger: Spending
    count: Count
    bits: RandomBits
    report: Report = lambda _: None

    def publish(self, plan: Plan, request: ChargeRequest) -> StoredRelease:
        """The stored release of this request: made and paid for now, or found from earlier.

        Raises what the ledger and the engine raise.
        """
        self.report("charging")
        charge = self.ledger.charge(request)
        if isinstance(charge, StoredRelease):
            return charge
        self.report("counting")
        counts = self.count(plan.task)
        self.report("selecting")
        release = plan.select(counts, charge=charge.id, bits=self.bits)
        self.report("storing")
        outcomes = len(release.items) + release.stopped  # the stop was drawn like an item
        paid = None if request.principal is None else outcomes
        return self.ledger.fulfill(charge.id, release.to_bytes(), paid)
