"""Several processes that answer on one port, and the one that starts, replaces and stops them.

It answers nothing itself and imports nothing that answers, so it is small, and nothing that a model
or a call may do ends it. SIGHUP goes on to all. SIGUSR1 replaces one after the other, each only
when its successor answers. SIGTERM and SIGINT stop all.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from askew_server.serving.running.child import Child, DidNotStart

_LONG = 10.0  # seconds: what ended sooner is started again after a pause
_START = 900.0  # seconds until one that does not answer is killed, whatever its model
_MOST = 5  # starts that fail one after the other, when nothing answers any more


def pause_after(failures: int) -> float:
    """Seconds before one that ended is started again: none, then half one to half a minute."""
    return min(30.0, 0.25 * 2**failures) if failures else 0.0


@dataclass(eq=False)
class _Place:
    """Of one of the processes; whoever replaces it takes a turn."""

    number: int
    child: Child
    answers: bool = True
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Supervisor:
    """Keeps processes of one command, which is told the number of each.

    grace: seconds that one may take to stop. say: a line for the operator. pause: seconds before a
    start, by the number of failures before it.
    """

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        processes: int,
        grace: float,
        say: Callable[[str], None],
        pause: Callable[[int], float] = pause_after,
    ) -> None:
        self._command, self._count, self._grace = command, processes, grace
        self._say, self._pause = say, pause
        self._places: list[_Place] = []
        self._alive: set[Child] = set()
        self._roll = asyncio.Event()

    async def run(self, announce: Callable[[str], None], stop: asyncio.Event) -> int:
        """Until it is to stop; then the code to exit with. announce: called once, when all answer,
        with what the first said of itself.
        """
        self._listen(stop)
        work = asyncio.create_task(self._work(announce))
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        work.cancel()
        outcome = (await asyncio.gather(work, return_exceptions=True))[0]
        await asyncio.gather(*(child.stop(self._grace) for child in self._alive))
        return _code_of(outcome)

    def _listen(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        loop.add_signal_handler(signal.SIGUSR1, self._roll.set)

    async def _work(self, announce: Callable[[str], None]) -> None:
        await self._start(0)  # alone first: what is wrong with all of them is said once
        async with asyncio.TaskGroup() as group:
            for number in range(1, self._count):
                group.create_task(self._start(number))
        announce(self._places[0].child.line)
        async with asyncio.TaskGroup() as group:
            for place in self._places:
                group.create_task(self._keep(place))
            group.create_task(self._roll_on())

    async def _start(self, number: int) -> None:
        self._places.append(_Place(number, await self._begun(number)))

    async def _begun(self, number: int) -> Child:
        """Raises DidNotStart."""
        try:
            async with asyncio.timeout(_START):
                child = await Child.started(self._command(number))
        except TimeoutError:
            raise DidNotStart(-signal.SIGKILL) from None
        self._alive.add(child)
        return child

    async def _keep(self, place: _Place) -> None:
        """Starts it again whenever it ends, unless it was replaced."""
        failures = 0
        while True:
            child, began = place.child, monotonic()
            code = await child.ended()
            self._alive.discard(child)
            async with place.turn:
                if place.child is child:
                    how = "does not answer" if child.hung else f"ended with {code}"
                    self._say(f"process {place.number} {how} and is started again")
                    failures = failures + 1 if monotonic() - began < _LONG else 0
                    await self._restart(place, failures)

    async def _restart(self, place: _Place, failures: int) -> None:
        """Raises DidNotStart when nothing answers any more and one start after the other fails."""
        place.answers = False
        while not place.answers:
            await asyncio.sleep(self._pause(failures))
            try:
                place.child = await self._begun(place.number)
                place.answers = True
                self._say(f"process {place.number} answers again")
            except DidNotStart as error:
                failures += 1
                self._say(f"process {place.number} does not start: {error}")
                if failures >= _MOST and not any(each.answers for each in self._places):
                    raise

    async def _roll_on(self) -> None:
        while True:
            await self._roll.wait()
            self._roll.clear()
            try:
                for place in self._places:
                    await self._replace(place)
                self._say("every process was replaced")
            except DidNotStart as error:
                self._say(f"no more processes are replaced: {error}")

    async def _replace(self, place: _Place) -> None:
        """The old one stops when the new one answers. Raises DidNotStart, and the old one stays."""
        async with place.turn:
            new = await self._begun(place.number)
            old, place.child = place.child, new
            await old.stop(self._grace)

    def _reload(self) -> None:
        for place in self._places:
            if place.answers:  # one that starts reads what there is now
                place.child.reload()


def _code_of(outcome: BaseException | None) -> int:
    match outcome:
        case None | asyncio.CancelledError():
            return 0
        case DidNotStart():
            return outcome.code
        case BaseExceptionGroup():
            return _code_of(outcome.exceptions[0])
        case _:
            raise outcome
