"""A bounded queue of jobs with a deadline, before the threads of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from askew.errors import TooSlow, Unreachable
from askew_server.serving.admission import Admission
from askew_server.serving.call import Job
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import ServerConfig

PATIENCE = 20.0  # seconds; only ever waited for by a server that does not do what it should
MakeQueue = Callable[..., Admission]


class Gate:
    """A job that lasts until it is told to end."""

    def __init__(self) -> None:
        self.begun, self.ended = Event(), Event()

    def run(self) -> bytes:
        self.begun.set()
        assert self.ended.wait(PATIENCE)
        return b"made"


@pytest.fixture
def queue_of() -> Iterator[MakeQueue]:
    queues: list[Admission] = []

    def make(threads: int = 1, waiting: int = 64, **more: Any) -> Admission:
        config = ServerConfig(threads=threads, waiting=waiting)
        queues.append(Admission("answers", config, **{"observer": Observer(), **more}))
        return queues[-1]

    yield make
    for queue in queues:
        queue.stop()


async def settled(queue: Admission, taken: int) -> None:
    """A slot is given back by the job's thread, an instant after its reply is here."""
    async with asyncio.timeout(PATIENCE):
        while queue.taken != taken:  # noqa: ASYNC110  # no event says so, and none is needed
            await asyncio.sleep(0)


async def started(queue: Admission, gate: Gate, slots: int = 1) -> asyncio.Task[bytes | None]:
    """A caller who was admitted."""
    task = asyncio.create_task(queue.run(Job(gate.run, slots=slots), lambda: None))
    await asyncio.sleep(0)
    return task


async def test_a_caller_who_goes_away_makes_no_room(queue_of: MakeQueue) -> None:
    """Planted bug: the slot is given back when the caller's wait is over."""
    queue, gate = queue_of(waiting=0), Gate()
    caller = await started(queue, gate)
    assert await asyncio.to_thread(gate.begun.wait, PATIENCE)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await queue.run(Job(lambda: b""), lambda: PATIENCE) is None
    assert await queue.run(Job(lambda: b""), lambda: 0.0) is None  # full, whatever time is left
    gate.ended.set()
    await settled(queue, 0)
    assert await queue.run(Job(lambda: b"next"), lambda: PATIENCE) == b"next"


async def test_a_caller_who_goes_away_before_the_job_begins_leaves_no_work(
    queue_of: MakeQueue,
) -> None:
    queue, busy, waiting = queue_of(), Gate(), Gate()
    first, second = await started(queue, busy), await started(queue, waiting)
    second.cancel()
    await settled(queue, 1)
    busy.ended.set()
    await first
    await settled(queue, 0)
    assert not waiting.begun.is_set()


async def test_no_work_begins_after_its_deadline(queue_of: MakeQueue) -> None:
    """Planted bug: the thread does not look at the clock."""
    now = 1000.0
    queue, busy, late = queue_of(clock=lambda: now), Gate(), Gate()
    first = await started(queue, busy)
    late.ended.set()
    second = asyncio.create_task(queue.run(Job(late.run), lambda: 10.0))
    await settled(queue, 2)
    now += 10.0
    busy.ended.set()
    await first
    with pytest.raises(TooSlow, match="before the work began"):
        await second
    await settled(queue, 0)
    assert not late.begun.is_set()


async def test_slots_are_bounded_and_refusals_are_at_once_and_counted(queue_of: MakeQueue) -> None:
    """Planted bug: any number may wait."""
    observer = Observer()
    queue, gate = queue_of(threads=2, waiting=3, observer=observer), Gate()
    callers = [await started(queue, gate) for _ in range(5)]
    assert await queue.run(Job(lambda: b""), lambda: PATIENCE) is None
    numbers = ("askew_admission_slots_taken", "askew_admission_refused_total")
    counted = [observer.registry.get_sample_value(name, {"queue": "answers"}) for name in numbers]
    assert counted == [5, 1]
    gate.ended.set()
    await asyncio.gather(*callers)
    await settled(queue, 0)


async def test_a_dear_job_takes_its_cost_and_is_let_in_alone(queue_of: MakeQueue) -> None:
    queue, gate = queue_of(waiting=3), Gate()
    dear = await started(queue, gate, slots=3)
    assert await queue.run(Job(lambda: b"", slots=2), lambda: PATIENCE) is None
    gate.ended.set()
    await dear
    await settled(queue, 0)
    assert await queue.run(Job(lambda: b"made", slots=99), lambda: PATIENCE) == b"made"


async def test_a_queue_that_stops_ends_what_waits_and_takes_nothing(queue_of: MakeQueue) -> None:
    queue, busy, waiting = queue_of(), Gate(), Gate()
    first, second = await started(queue, busy), await started(queue, waiting)
    queue.stop()
    with pytest.raises(asyncio.CancelledError):
        await second
    # UNAVAILABLE: a device asks again, unlike at a full queue.
    with pytest.raises(Unreachable, match="the server is stopping"):
        await queue.run(Job(lambda: b""), lambda: PATIENCE)
    busy.ended.set()
    await first
    await settled(queue, 0)
