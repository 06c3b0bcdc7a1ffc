"""Where files come from that devices hold: a server by gRPC, or any static HTTPS host."""

from __future__ import annotations

import datetime
from types import TracebackType
from typing import Protocol, Self

from askew.catalog.held_file import Part

_EPOCH = datetime.date(1970, 1, 1)


class HeldSource(Protocol):
    """A way to the files of one server: entered, it is a connection, which is closed when it is
    left. It is told a date and a place in a file, and no more.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """A piece of a file from byte `start` on, at most PIECE_BYTES: the head alone from 0,
        nothing at the end. Raises TransportError or WireError; NotFound or OtherKind
        where there is no such file.
        """


def date_of(edition: int) -> datetime.date:
    """The Monday that names an edition."""
    return _EPOCH + datetime.timedelta(days=edition)


def name_of(edition: int, part: Part) -> str:
    """What a file is called on a static host: "2026-11-23.whole"."""
    return f"{date_of(edition).isoformat()}.{part}"
