"""How fast refusals for want of a place follow each other.

A refusal takes a quarter of a millisecond of the thread that answers, most of it with the
interpreter held, while jobs fill every place. gRPC turns away what is too much of its own line for
a fifth of that, without the interpreter. So beyond a rate the thread rests, and the line fills.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SOON = 0.05
"""Seconds in which all that may wait in gRPC can be refused: so long does a refusal take at most,
by the slowest rate that there is.
"""


class Refusals:
    """As many a second as empty a line of `pending` calls soon, and no more. For one thread.

    clock: seconds, never going back. rest: waits for so many of them, and holds up the thread.
    """

    def __init__(
        self,
        pending: int,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self._apart, self._clock, self._rest = SOON / pending, clock, rest
        self._due = clock()

    def wait(self) -> None:
        """Until the next refusal is due."""
        now = self._clock()
        if now < self._due:
            self._rest(self._due - now)
        self._due = max(now, self._due) + self._apart
