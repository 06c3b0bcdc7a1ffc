"""The release job, without I/O of its own: charge, count, select, store.

    plan                     public parameters; what it will spend is printed before this
    look(plan.task)          what is wrong with a log that is a file, where nobody looked before
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

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from askew.dp.release import Release
from askew.errors import Refused
from askew.noise.randomness import RandomBits
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import ChargeRequest, Ledger, StoredRelease

Count = Callable[[CountingTask], TopCounts]
Report = Callable[[str], None]


FIRST_MOMENT = 1.0
"""Seconds after which the quickest answers are stored."""


@dataclass(frozen=True)
class Beat:
    """Public moments: 1, 2, 4, 8 ... seconds after something began, however long it takes.

    How long a count takes depends on the log. What is told at the first of these moments after it
    tells which of them it was, and no more. clock: seconds. wait: until that many have passed, or
    the program stops.
    """

    clock: Callable[[], float]
    wait: Callable[[float], object]

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Run the body of a `with` statement, and wait until the next public moment after it, 1, 2,
        4, 8 ... seconds after its beginning, also where it raises.
        """
        began = self.clock()
        try:
            yield
        finally:
            moment, passed = FIRST_MOMENT, self.clock() - began
            while moment < passed:
                moment *= 2
            self.wait(moment - passed)


class JobPlan(Protocol):
    """What is counted and how it is selected, in public parameters."""

    @property
    def task(self) -> CountingTask:
        """Return the task: which events are counted, and how many items come back."""

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Return the release that the mechanism draws from private counts; it is public."""


@dataclass(frozen=True)
class ReleaseJob:
    """Where a release is paid, counted and drawn.

    report is told each step as it begins. beat is around what takes as long as the log has it: only
    after it is anything stored that others can look at. wait: `Ledger.turn`'s. look: raises what
    can be known to be wrong with a log before it is paid for.
    """

    ledger: Ledger
    count: Count
    bits: RandomBits
    report: Report = lambda _: None
    beat: Callable[[], AbstractContextManager[None]] = nullcontext
    wait: Callable[[float], object] = time.sleep
    look: Callable[[CountingTask], object] | None = None

    def publish(self, plan: JobPlan, request: ChargeRequest) -> StoredRelease:
        """Return the stored release of this request: paid and made now, or found from earlier.

        Raises what the ledger and the engine raise. Whoever asks for the same at the same time, in
        whatever program, waits and gets the same bytes.
        """
        with self.ledger.turn(request, self.wait):
            return self._published(plan, request)

    def _published(self, plan: JobPlan, request: ChargeRequest) -> StoredRelease:
        if self.look is not None:
            stored = self.ledger.foresee(request)
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
