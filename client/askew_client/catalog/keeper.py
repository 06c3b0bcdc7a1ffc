"""What a device holds of a server's catalog, kept by the calendar.

    held      what a question works with: what lies on the shelf while that is still answered
    refresh   looks for the current edition, if its turn has come

Neither is told anything of a person. A look is a head of 48 bytes; the body is fetched where its
digest is another than that of what is held. So a server that gives every device a file of its own
learns from a look whether its guess of the device was right. Hence one look an edition: a head that
was seen is not asked for again where the body broke off, and a file that was refused is not asked
for again before the next edition, as long as something is held. Where nothing is, there is nothing
to guess.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from askew.catalog.editions import PERIOD, edition_of
from askew.catalog.held_file import HEAD_BYTES, Head, Part
from askew.errors import Malformed, NotFound, OtherKind, ParameterError, ShelfError
from askew.noise.randomness import RandomBits
from askew_client.catalog.cache import DAY, Record, Shelf, Turn, Version, draw_turn, usable
from askew_client.catalog.source import HeldSource, date_of, fetch, look
from askew_client.views.answers import Refreshed

_PATIENCE = 60.0


@dataclass(frozen=True)
class HeldFile:
    """A file that was checked. fetched: bytes, just now."""

    version: Version
    body: bytes = field(repr=False)
    fetched: int = 0


class Keeper:
    """Keeps one server's files. byte_budget: what one of them may have, with its head. check:
    raises Malformed for a body that is of no use. patience: seconds to wait for another program
    that fetches. Days count from 1970-01-01.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        shelf: Shelf,
        source: HeldSource,
        byte_budget: int,
        bits: RandomBits,
        *,
        check: Callable[[bytes], object],
        patience: float = _PATIENCE,
    ) -> None:
        self._shelf, self._source, self._budget = shelf, source, byte_budget
        self._bits, self._check, self._patience = bits, check, patience

    async def held(self, day: int) -> HeldFile:
        """What is held, fetched first where nothing usable is. Raises AskewError."""
        found = await asyncio.to_thread(self.usable, day)
        if found is not None:
            return found
        async with self._shelf.locked(self._patience):
            # Another program may have fetched it while this one waited.
            return await asyncio.to_thread(self.usable, day) or await self._renewed(day)

    async def refresh(self, now: int) -> Refreshed:
        """Look for the current edition if its turn has come, at once where nothing usable is held.

        now: in seconds since 1970-01-01 UTC. Raises AskewError, in which case what is held stays.
        """
        day = now // DAY
        async with self._shelf.locked(self._patience):
            found = await asyncio.to_thread(self.usable, day)
            if found is None or (await asyncio.to_thread(self._turn, day)).time <= now:
                found = await self._renewed(day)
            return _told(found, await asyncio.to_thread(self._turn, day))

    async def forget(self, edition: int) -> None:
        """Hold this edition no more: the server answers about other items. Neither a record nor a
        file of it stays, so that the next look is a first one and tells nothing of what was held.
        """
        async with self._shelf.locked(self._patience):
            held = await asyncio.to_thread(lambda: self._shelf.record().held)
            if held is None or held.edition == edition:  # else another program has a new one
                await asyncio.to_thread(self._settle, Record())

    def usable(self, day: int) -> HeldFile | None:
        """What lies on the shelf, if questions that name its edition are still answered."""
        version = self._shelf.record().held
        if version is None or not usable(version.edition, day):
            return None
        body = self._shelf.body(version)
        return None if body is None else HeldFile(version, body)

    def _turn(self, day: int) -> Turn:
        """When the next edition is looked for; drawn once for each, and kept before it is used."""
        record, edition = self._shelf.record(), edition_of(day)
        if record.looked is not None and edition <= record.looked:
            edition = record.looked + PERIOD
        turn = record.turn
        if turn is None or turn.edition != edition:
            turn = draw_turn(edition, self._bits)
            self._shelf.remember(replace(record, turn=turn))
        return turn

    async def _renewed(self, day: int) -> HeldFile:
        """The current edition, looked for now."""
        record, edition = await asyncio.to_thread(self._shelf.record), edition_of(day)
        try:
            async with self._source:
                version, looks = await self._announced(record.announced, edition)
                body, fetched = await self._body(record, version)
            if body is None:  # what came is read when the connection is closed
                body = await self._finished(version)
        except Malformed:
            held = record.held
            if held is not None and not usable(held.edition, day):
                held = None
            await asyncio.to_thread(self._settle, Record(held=held, looked=edition))
            raise
        await asyncio.to_thread(self._settle, Record(held=version, looked=edition))
        return HeldFile(version, body, looks + fetched)

    async def _announced(self, before: Version | None, edition: int) -> tuple[Version, int]:
        """What the edition offers this device, and the bytes that it took to see."""
        if before is not None and before.edition == edition and before.head.size <= self._budget:
            return before, 0
        seen: list[Head] = []
        missing: NotFound | OtherKind = NotFound("edition")
        for part in Part:
            try:
                head = await look(self._source, edition, part)
            except (NotFound, OtherKind) as error:
                missing = error
                continue
            seen.append(head)
            if head.size <= self._budget:
                return Version(edition, part, head), HEAD_BYTES * len(seen)
        if not seen:
            raise missing
        limit = f"at least {seen[-1].size}, the bytes that a device of this server must hold"
        raise ParameterError("byte_budget", self._budget, limit)

    async def _body(self, record: Record, version: Version) -> tuple[bytes | None, int]:
        """The body that is held already, or None, and how many bytes of a new one came."""
        kept = await asyncio.to_thread(self._shelf.body, version)
        if kept is not None:
            return kept, 0
        head, draft = version.head, self._shelf.draft(version.head)
        try:
            if record.announced != version:  # where it broke off would mark the device for good
                draft.discard()
            await asyncio.to_thread(self._settle, replace(record, announced=version))
            return None, await fetch(self._source, version.edition, version.part, head, draft)
        except Malformed:
            draft.discard()
            raise
        except OSError as error:
            raise ShelfError(f"what was fetched cannot be kept: {error.strerror}") from None

    async def _finished(self, version: Version) -> bytes:
        """A body that came whole, checked and in its place."""
        try:
            return await asyncio.to_thread(self._shelf.finish, version.head, self._check)
        except Malformed:
            self._shelf.draft(version.head).discard()
            raise

    def _settle(self, record: Record) -> None:
        """Remember, and remove what nobody needs any more."""
        self._shelf.remember(record)
        self._shelf.tidy(*(each for each in (record.held, record.announced) if each is not None))


def _told(file: HeldFile, turn: Turn) -> Refreshed:
    """What a person is shown of a file, and of when its successor is looked for."""
    version = file.version
    next_look = datetime.datetime.fromtimestamp(turn.time, datetime.UTC)
    day = date_of(version.edition)
    return Refreshed(day, str(version.part), version.head.size, file.fetched, next_look)
