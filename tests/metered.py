"""An entropy meter: counts what is read of the kernel's source, by whatever door of Python."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Draw = Callable[[], Any]
Read = list[bytes]


@contextmanager
def source(give: Callable[[int], bytes]) -> Iterator[None]:
    """Puts another source behind every door of Python to the kernel's. `secrets`, `uuid` and
    numpy's generators without a seed go by the second.
    """
    doors = [(os, "urandom"), (random, "_urandom")]
    if hasattr(os, "getrandom"):
        doors.append((os, "getrandom"))
    kept = [getattr(*door) for door in doors]
    for where, name in doors:
        setattr(where, name, lambda count, _flags=0: give(count))
    try:
        yield
    finally:
        for (where, name), door in zip(doors, kept, strict=True):
            setattr(where, name, door)


def metered(draw: Draw) -> tuple[Any, Read]:
    """What a draw made, and what it read, call by call."""
    kernel, read = os.urandom, list[bytes]()

    def give(count: int) -> bytes:
        read.append(kernel(count))
        return read[-1]

    with source(give):
        return draw(), read


def played(draw: Draw, read: Read) -> Any:
    """What the same bytes make, each asked for as before, and all of them."""
    left = iter(read)

    def give(count: int) -> bytes:
        data = next(left)
        assert len(data) == count
        return data

    with source(give):
        made = draw()
    assert list(left) == []
    return made


class Failing:
    """The kernel's source, which fails at one read, and at all after it."""

    def __init__(self, at: int) -> None:
        self.left, self.kernel = at, os.urandom

    def __call__(self, count: int) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise OSError("no random bytes")
        return self.kernel(count)
