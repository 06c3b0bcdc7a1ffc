"""Where catalog files come from, a server by gRPC or any static HTTPS host, and how to fetch one:
the head first, then the body, from where an earlier attempt ended.

The device counts the bytes itself. It refuses a body that is longer or shorter than its head says,
or that has another digest, and never uses it.
"""

from __future__ import annotations

import asyncio
import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from askew.catalog.catalog_file import HEAD_BYTES, FileHead, Part
from askew.errors import Malformed, NotFound

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

    async def piece(self, catalog_date: int, part: Part, start: int) -> bytes:
        """A piece of a file from byte `start` on, at most PIECE_BYTES: the head alone from 0,
        nothing at the end. Raises TransportError or WireError; NotFound or OtherKind
        where there is no such file.
        """


def date_of(catalog_date: int) -> datetime.date:
    """The Monday of a catalog date."""
    return _EPOCH + datetime.timedelta(days=catalog_date)


def name_of(catalog_date: int, part: Part) -> str:
    """What a file is called on a static host: "2026-11-23.whole"."""
    return f"{date_of(catalog_date).isoformat()}.{part}"


@dataclass(frozen=True)
class Draft:
    """As much of a body as came so far, in a file of its own."""

    path: Path

    @property
    def length(self) -> int:
        """Bytes, 0 where there is no file."""
        return self.path.stat().st_size if self.path.exists() else 0

    def append(self, piece: bytes) -> None:
        """Add what came next. Raises OSError."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(piece)

    def finish(self, head: FileHead, check: Callable[[bytes], object], path: Path) -> bytes:
        """The whole body, durably in its final place. Raises Malformed where it is another one than
        its head announced, and as `check` does.
        """
        body = self.path.read_bytes()
        head.check(body)
        check(body)
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        self.path.replace(path)
        return body

    def discard(self) -> None:
        """Remove it."""
        self.path.unlink(missing_ok=True)


async def look(source: CatalogSource, catalog_date: int, part: Part) -> FileHead:
    """The head of a file. Raises TransportError or WireError."""
    beginning = await source.piece(catalog_date, part, 0)
    if not beginning:
        raise NotFound("catalog file")
    if len(beginning) != HEAD_BYTES:
        raise Malformed("a file that devices hold begins with its head alone")
    return FileHead.of(beginning)


async def fetch(
    source: CatalogSource, catalog_date: int, part: Part, head: FileHead, draft: Draft
) -> int:
    """Complete a draft of the body that a head announces; returns how many bytes were fetched.

    After a TransportError the draft keeps what came, for the next attempt. Raises Malformed for a
    body of another length, OSError.
    """
    start = have = await asyncio.to_thread(lambda: draft.length)
    while have < head.length:
        piece = await source.piece(catalog_date, part, HEAD_BYTES + have)
        _check_piece(piece, head.length - have)
        await asyncio.to_thread(draft.append, piece)
        have += len(piece)
    return have - start


def _check_piece(piece: bytes, left: int) -> None:
    if not piece:
        raise Malformed("the file ends before its head says so")
    if len(piece) > left:
        raise Malformed("the file is longer than its head says")
