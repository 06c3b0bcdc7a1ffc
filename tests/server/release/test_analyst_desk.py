"""Pay what you get: an answer costs its length, the stop included, and never more than is left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock
from time import sleep
from unittest.mock import Mock

import pytest
from server.ledger.scenes import releases_of
from server.release.conftest import COUNTS, OFFERED, TERMS

from askew.dp.analyst import TopKQuestion
from askew.dp.release import release_from_bytes
from askew.errors import DataError, NotFound, Refused
from askew.noise.randomness import SystemBits
from askew_server.counting import CountingTask, EventSource, TopCounts
from askew_server.counting.contract import place_of
from askew_server.ledger import Ledger
from askew_server.release.job import AnalystDesk, ReleaseJob, until_public_moment

PATIENCE = 120  # seconds; only a hang waits for it


class Counting:
    """An engine that says what it was asked, and breaks when told to."""

    def __init__(self) -> None:
        self.tasks: list[CountingTask] = []
        self.broken = False

    def __call__(self, task: CountingTask) -> TopCounts:
        self.tasks.append(task)
        if self.broken:
            raise OSError("the engine went away")
        return COUNTS


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def desk(ledger: Ledger, counting: Counting) -> AnalystDesk:
    """A desk at which ada has a budget."""
    ledger.grant("films", "ada", TERMS)
    return AnalystDesk(ledger, {"films": OFFERED}, ReleaseJob(ledger, counting, SystemBits()))


def ask(k: int, key: str, dataset: str = "films") -> TopKQuestion:
    return TopKQuestion(dataset, k, key)


def test_an_answer_costs_its_length_and_the_stop(
    ledger: Ledger, desk: AnalystDesk, counting: Counting
) -> None:
    """Planted bugs: the stop for free; public releases alone say what they are made from. Five
    asked, three came and the stop: four outputs.
    """
    document, budget = desk.top_k("ada", ask(5, "a"))
    release = release_from_bytes(document)
    assert (len(release.items), release.stopped) == (3, True)
    assert (budget.outputs, budget.calls) == (4, 1)
    # A bound decides which events count, so the same key under another one is refused.
    offered = {"films": replace(OFFERED, max_items_per_unit=9)}
    rebound = AnalystDesk(ledger, offered, ReleaseJob(ledger, counting, SystemBits()))
    with pytest.raises(Refused, match="another question"):
        rebound.top_k("ada", ask(5, "a"))
    # Of the log alone: a catalog of an offer would make its rare items listable.
    assert [(task.catalog, task.limit) for task in counting.tasks] == [(None, 1001)]
    # What they are made from is known to other budgets.
    here, elsewhere = (place_of(EventSource(events=name)) for name in ("log.csv", "other"))
    assert ledger.datasets_sharing("books", here) == ("films",)
    assert ledger.datasets_sharing("films", here) == ()
    assert ledger.datasets_sharing("books", elsewhere) == ()
    for principal, dataset in (("eve", "films"), ("ada", "books")):  # who have no grant
        with pytest.raises(NotFound):
            desk.top_k(principal, ask(1, "a", dataset))
    assert len(counting.tasks) == 1


def test_a_question_that_could_cost_more_than_is_left_is_refused_with_nothing_read(
    desk: AnalystDesk, counting: Counting
) -> None:
    desk.top_k("ada", ask(5, "a"))  # 4 of 12
    desk.top_k("ada", ask(5, "b"))  # 8 of 12
    with pytest.raises(Refused, match=r"of the analyst's grant of \d+ is spent, \d+ is left"):
        desk.top_k("ada", ask(5, "c"))  # would cost 4, could cost 5
    assert len(counting.tasks) == 2
    assert desk.top_k("ada", ask(4, "d"))[1].outputs == 12
    with pytest.raises(Refused):
        desk.top_k("ada", ask(1, "e"))


def test_the_newest_grant_is_the_one_that_counts(ledger: Ledger, desk: AnalystDesk) -> None:
    terms = replace(TERMS, k_star=7)
    ledger.revoke("films", "ada")
    assert desk.budget("ada", "films").closed
    ledger.grant("films", "ada", terms)
    budget = desk.budget("ada", "films")
    assert (budget.terms, budget.closed) == (terms, False)


def test_a_count_that_fails_keeps_the_whole_reservation(
    desk: AnalystDesk, counting: Counting
) -> None:
    """Planted bug: an expired reservation given back, so that failures can be asked for free."""
    counting.broken = True
    with pytest.raises(OSError, match="went away"):
        desk.top_k("ada", ask(5, "a"))
    counting.broken = False
    with pytest.raises(Refused, match="stays spent"):
        desk.top_k("ada", ask(5, "a"))
    assert desk.budget("ada", "films").outputs == 5


class Clock:
    """Time that passes where something takes or waits for it."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize(
    ("takes", "leaves"), [(0.0, 1), (0.97, 1), (1.05, 2), (7.9, 8), (300, 512)]
)
def test_an_answer_leaves_at_a_public_moment_and_so_does_a_failure(
    ledger: Ledger, takes: float, leaves: int, broken: bool
) -> None:
    """And nothing of it is to be seen before: neither by its asker nor by who asks for the budget.
    Nor does the next question begin before, whose moment would tell. Planted bugs: a beat around
    the storing too, so that the budget tells; failures at once; a wait without the lock.
    """
    clock, lock = Clock(), Lock()
    seen: list[tuple[int, int]] = []

    def count(_: CountingTask) -> TopCounts:
        clock.now += takes
        if broken:
            raise OSError("the engine went away")
        return COUNTS

    def wait(seconds: float) -> None:
        clock.wait(seconds)
        assert lock.locked()
        budget = answering.budget("ada", "films")
        seen.append((budget.outputs, len(releases_of(ledger, "ada"))))

    ledger.grant("films", "ada", TERMS)
    beat = partial(until_public_moment, clock, wait)
    job = ReleaseJob(ledger, count, SystemBits(), beat=beat, wait=clock.wait)
    answering = AnalystDesk(ledger, {"films": OFFERED}, job, lock)
    with pytest.raises(OSError, match="went away") if broken else nullcontext():
        answering.top_k("ada", ask(5, "a"))
    assert clock.now == pytest.approx(100 + leaves)
    assert seen == [(5, 0)]  # k reserved, nothing stored
    assert answering.budget("ada", "films").outputs == (5 if broken else 4)


@dataclass
class SlowBits(SystemBits):
    """Each byte takes ten microseconds by a clock."""

    clock: Clock

    def read(self, count: int) -> bytes:
        self.clock.now += 1e-5 * count
        return super().read(count)


ITEMS = tuple(f"film {n:04}" for n in range(1001))
EXTREMES = {  # by falling count, as an engine gives them
    "nothing": TopCounts((), ()),
    "alike": TopCounts(ITEMS, (10**9,) * 1001),
    "distinct": TopCounts(ITEMS, tuple(range(10**6, 10**6 - 1001, -1))),
    "one-ahead": TopCounts(ITEMS, (10**9, *[1] * 1000)),
}


def test_selections_over_extreme_counts_leave_at_one_moment(ledger: Ledger) -> None:
    """They draw more for some than for others."""
    drawn, left = set(), set()
    ledger.grant("films", "ada", replace(TERMS, k_star=60, l_star=5))
    for key, counts in EXTREMES.items():
        clock = Clock()

        def wait(seconds: float, clock: Clock = clock) -> None:
            drawn.add(round(clock.now, 6))
            clock.wait(seconds)

        bits, beat = SlowBits(clock), partial(until_public_moment, clock, wait)
        count = Mock(return_value=counts)
        job = ReleaseJob(ledger, count, bits, beat=beat, wait=clock.wait)
        AnalystDesk(ledger, {"films": OFFERED}, job).top_k("ada", ask(12, key))
        left.add(round(clock.now, 6))
    assert len(drawn) > 1
    assert left == {101}


@pytest.mark.parametrize(("takes", "begins"), [(0.0, 1), (0.97, 1), (1.05, 2), (300, 512)])
def test_what_is_wrong_with_a_log_is_found_before_the_charge(
    ledger: Ledger, counting: Counting, takes: float, begins: int
) -> None:
    """And how long the look took is not seen, neither by its failure nor by the charge. Nothing is
    looked at where the answer is stored or refused. Planted bugs: a look after the charge, which it
    was, so that questions were paid and failed; a look without a beat.
    """
    clock, looked, seen = Clock(), [], []

    def look(task: CountingTask) -> None:
        looked.append(task.events)
        clock.now += takes
        if broken:
            raise DataError("log.csv, line 6: a quote is not closed")

    def wait(seconds: float) -> None:
        clock.wait(seconds)
        seen.append((round(clock.now - began, 6), desk.budget("ada", "films").calls))

    ledger.grant("films", "ada", TERMS)
    beat = partial(until_public_moment, clock, wait)
    job = ReleaseJob(ledger, counting, SystemBits(), beat=beat, wait=clock.wait, look=look)
    desk = AnalystDesk(ledger, {"films": OFFERED}, job)
    broken, began = True, clock.now
    with pytest.raises(DataError, match="line 6"):
        desk.top_k("ada", ask(5, "a"))
    assert (seen, counting.tasks) == ([(begins, 0)], [])
    broken, began = False, clock.now
    first = desk.top_k("ada", ask(5, "a"))
    assert seen[1:] == [(begins, 0), (begins + 1, 1)]
    assert desk.top_k("ada", ask(5, "a")) == first
    with pytest.raises(Refused):
        desk.top_k("ada", ask(9, "b"))
    assert looked == ["log.csv"] * 2


def test_two_servers_with_one_key_give_the_same_bytes(
    ledger: Ledger, paths: tuple[Path, Path]
) -> None:
    """The second waits for the first."""
    counting, waiting = Event(), Event()

    def count(_: CountingTask) -> TopCounts:
        counting.set()
        assert waiting.wait(PATIENCE)
        return COUNTS

    def wait(seconds: float) -> None:
        if seconds:
            waiting.set()
        sleep(seconds)

    ledger.grant("films", "ada", TERMS)
    with Ledger(*paths) as other:
        first = AnalystDesk(ledger, {"films": OFFERED}, ReleaseJob(ledger, count, SystemBits()))
        never = Counting()
        never.broken = True
        job = ReleaseJob(other, never, SystemBits(), wait=wait)
        second = AnalystDesk(other, {"films": OFFERED}, job)
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(first.top_k, "ada", ask(5, "a"))
            assert counting.wait(PATIENCE)
            two = pool.submit(second.top_k, "ada", ask(5, "a"))
            two.add_done_callback(lambda _: waiting.set())  # one that does not wait has failed
            assert one.result(PATIENCE) == two.result(PATIENCE)
    assert never.tasks == []
    assert not list(paths[0].parent.glob("*.asked-*"))


@pytest.mark.parametrize("is_looking", [False, True])
def test_a_server_that_stops_charges_and_answers_nobody(
    ledger: Ledger, counting: Counting, is_looking: bool
) -> None:
    """Also while it looks at the log. Its engine is closed: the count would fail. Planted bug:
    charged all the same.
    """
    stopping = Event()
    ledger.grant("films", "ada", TERMS)
    if not is_looking:
        stopping.set()
    job = ReleaseJob(
        ledger, counting, SystemBits(), wait=stopping.wait, look=lambda _: stopping.set()
    )
    desk = AnalystDesk(ledger, {"films": OFFERED}, job)
    with pytest.raises(Refused, match="stopping"):
        desk.top_k("ada", ask(5, "a"))
    assert desk.budget("ada", "films").calls == 0
