"""An event loop whose clock moves only while it waits: hours of waiting take no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class VirtualSelector(selectors.SelectSelector):
    """Where nothing is ready, time passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves only while it waits."""

    def __init__(self, clock: VirtualSelector) -> None:
        self._virtual = clock
        super().__init__(clock)

    def time(self) -> float:
        return self._virtual.now


def in_virtual_time(
    play: Callable[[], Coroutine[Any, Any, object]], clock: VirtualSelector | None = None
) -> None:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock or VirtualSelector())) as runner:
        runner.run(play())
