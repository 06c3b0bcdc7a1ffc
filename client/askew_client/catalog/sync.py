"""What a device holds of a server's catalog, kept by the calendar.

    cached    what a question works with: what lies in the cache while that is not too old
    refresh   looks for this week's file, if it is time

Neither is told anything of a person. A look is a head of 48 bytes; the body is fetched where its
digest is another than that of what is held. So a server that gives every device a file of its own
learns from a look whether its guess of the device was right. Hence one look a week, whatever comes
of it: where the body breaks off or is refused, the device stays with what it holds until the next
Monday. Where it holds nothing that it may use, it forgets what it held before it fetches: then
there is nothing to guess, and the next question fetches all of the file again.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from askew.catalog.catalog_file import HEAD_BYTES, PERIOD, FileHead, Part, catalog_date_of
from askew.errors import NotFound, OtherKind, ParameterError
from askew.noise.randomness import RandomBits
from askew_client.catalog.cache import (
    DAY,
    CatalogCache,
    CatalogSource,
    Record,
    Version,
    date_of,
    draw_look,
    usable,
)
from askew_client.views.answers import Refreshed

_PATIENCE = 60.0


@dataclass(frozen=True)
class CachedFile:
    """A file that was checked. fetched: bytes, just now."""

    version: Version
    body: bytes = field(repr=False)
    fetched: int = 0


class CatalogSync:
    """Keeps one server's files. byte_budget: what one of them may have, with its head. check:
    raises Malformed for a body that is of no use. patience: seconds to wait for another program
    that fetches. Days count from 1970-01-01.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        cache: CatalogCache,
        source: CatalogSource,
        byte_budget: int,
        bits: RandomBits,
        *,
        check: Callable[[bytes], object],
        patience: float = _PATIENCE,
    ) -> None:
        self._cache, self._source, self._budget = cache, source, byte_budget
        self._bits, self._check, self._patience = bits, check, patience

    async def cached(self, day: int) -> CachedFile:
        """Return the file that is held, fetched first where nothing usable is. Raises
        AskewError.
        """
        file = await asyncio.to_thread(self.usable, day)
        if file is not None:
            return file
        async with self._cache.locked(self._patience):
            # Another program may have fetched it while this one waited.
            return await asyncio.to_thread(self.usable, day) or await self._renewed(day)

    async def refresh(self, now: int) -> Refreshed:
        """Look for this week's file if it is time, at once where nothing usable is held, and return
        what is held after that.

        now: in seconds since 1970-01-01 UTC. Raises AskewError, in which case what is held stays.
        """
        day = now // DAY
        async with self._cache.locked(self._patience):
            file = await asyncio.to_thread(self.usable, day)
            if file is None or await asyncio.to_thread(self._next_look, day) <= now:
                file = await self._renewed(day)
            next_look = await asyncio.to_thread(self._next_look, day)
        version, when = file.version, datetime.datetime.fromtimestamp(next_look, datetime.UTC)
        monday, size = date_of(version.catalog_date), version.head.size
        return Refreshed(monday, str(version.part), size, file.fetched, when)

    async def forget(self, catalog_date: int) -> None:
        """Drop the file of this Monday if it is the one that is held: the server answers about
        other items. Neither a record nor a body of it stays, so that the next look is a first one
        and tells nothing of what was held.
        """
        async with self._cache.locked(self._patience):
            held = await asyncio.to_thread(lambda: self._cache.record().held)
            # Another date means that another program has fetched a new file.
            if held is None or held.catalog_date == catalog_date:
                await asyncio.to_thread(self._settle, Record())

    def usable(self, day: int) -> CachedFile | None:
        """Return the file in the cache, checked; None where there is none, it is too old on this
        day, or damaged.
        """
        version = self._cache.record().held
        if version is None or not usable(version.catalog_date, day):
            return None
        body = self._cache.body(version)
        return None if body is None else CachedFile(version, body)

    def _next_look(self, day: int) -> int:
        # Drawn once a week, and kept before it is used.
        record = self._cache.record()
        monday = max(catalog_date_of(day), record.looked + PERIOD)
        if catalog_date_of(record.next_look // DAY) != monday:
            record = replace(record, next_look=draw_look(monday, self._bits))
            self._cache.remember(record)
        return record.next_look

    async def _renewed(self, day: int) -> CachedFile:
        """Return this week's file: look for it now, and fetch its body where that is not in the
        cache.
        """
        catalog_date = catalog_date_of(day)
        async with self._source:
            version, fetched = await self._look(catalog_date)
            body = await asyncio.to_thread(self._cache.body, version)
            if body is None:
                held = await asyncio.to_thread(lambda: self._cache.record().held)
                if held is not None and not usable(held.catalog_date, day):
                    held = None
                # Before it comes: broken off or refused, it is not looked for again in this week.
                await asyncio.to_thread(self._settle, Record(held, catalog_date))
                place = (version.catalog_date, version.part, HEAD_BYTES)
                received = await self._source.read(*place, version.head.length)
        if body is None:  # what came is read when the connection is closed
            body, fetched = received, fetched + len(received)
            await asyncio.to_thread(self._keep, version, body)
        await asyncio.to_thread(self._settle, Record(version, catalog_date))
        return CachedFile(version, body, fetched)

    async def _look(self, catalog_date: int) -> tuple[Version, int]:
        # Raises what was wrong with the last part where none is offered.
        seen: list[FileHead] = []
        missing: NotFound | OtherKind = NotFound("catalog file")
        for part in (Part.WHOLE, Part.DEFAULT):
            try:
                beginning = await self._source.read(catalog_date, part, 0, HEAD_BYTES)
            except (NotFound, OtherKind) as error:
                missing = error
                continue
            head = FileHead.of(beginning)
            seen.append(head)
            if head.size <= self._budget:
                return Version(catalog_date, part, head), HEAD_BYTES * len(seen)
        if not seen:
            raise missing
        limit = f"at least {seen[-1].size}, the bytes that a device of this server must hold"
        raise ParameterError("byte_budget", self._budget, limit)

    def _keep(self, version: Version, body: bytes) -> None:
        version.head.check(body)
        self._check(body)
        self._cache.keep(version, body)

    def _settle(self, record: Record) -> None:
        """Write this record, and remove every body but the one that it holds."""
        self._cache.remember(record)
        self._cache.tidy(record.held)
