"""Where catalog files come from: a server's own door, or any static HTTPS host."""

from __future__ import annotations

import datetime
from types import TracebackType
from typing import Protocol, Self

from askew.catalog.catalog_file import Part

_EPOCH = datetime.date(1970, 1, 1)


class CatalogSource(Protocol):
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

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from byte `start` on, fewer at its end, never more.

        Raises TransportError or WireError; NotFound or OtherKind where there is no such file.
        """


def date_of(catalog_date: int) -> datetime.date:
    """Return the date of a catalog date, which counts days since 1970-01-01: 0 is 1970-01-01."""
    return _EPOCH + datetime.timedelta(days=catalog_date)


def name_of(catalog_date: int, part: Part) -> str:
    """Return the name of a file on a static host: "2026-11-23.whole"."""
    return f"{date_of(catalog_date).isoformat()}.{part}"
