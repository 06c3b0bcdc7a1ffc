"""A call to a service, whatever carries it: bytes in; bytes out, or a job that makes them.

A service raises a WireError for a call that it refuses. What takes long is not done here but given
back as a job: whoever carries the call decides whether, when and in which thread it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class QueueName(StrEnum):
    """Jobs of different queues do not wait for each other."""

    ANSWERS = "answers"
    ANALYSTS = "analysts"


@dataclass(frozen=True)
class Job:
    """Work that makes a reply. slots: how many of its queue it takes."""

    run: Callable[[], bytes] = field(repr=False)
    queue: QueueName = QueueName.ANSWERS
    slots: int = 1


Caller = Callable[[], Sequence[str]]
"""What a call brings beside its message: the values of its authorization headers."""

Answer = Callable[[bytes, Caller], bytes | Job]


class Service(Protocol):
    """What can be served: a full name, and a way to answer each method."""

    @property
    def name(self) -> str:
        """Return the service's full name, with its package."""

    @property
    def methods(self) -> Mapping[str, Answer]:
        """Return the ways to answer, by the name of the method."""
