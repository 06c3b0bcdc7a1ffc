"""A call to a service, whatever carries it: bytes in; bytes out, or a job that makes them.

A service raises a WireError for a call that it refuses. What takes long is not done here but given
back as a job: whoever carries the call decides whether, when and in which thread it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from askew.errors import NotFound


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


class Service:
    """What can be served. name: in full, with its package. methods: by name, how each answers."""

    name: str
    methods: Mapping[str, Answer]

    def check(self) -> None:
        """Raise what makes the service unable to answer now, as when its file is gone; by default
        nothing. May read files.
        """

    def catalog_file(self, _date: int, _part: str, /) -> bytes:
        """Return a file that devices hold of a Monday, in days since 1970-01-01, by its part.
        Raises a WireError, by default NotFound.
        """
        raise NotFound("catalog file")
