"""What a device holds of a server's catalog, kept by the calendar.

    held      what a question works with: what lies on the shelf while that is still answered
    refresh   looks for the current edition, if its turn has come

Neither is told anything of a person. A look is a header of 48 bytes; the rest is fetched where its
digest is another than that of what is held. So a server that gives every device a file of its own
learns from a look whether its guess of the device was right. Hence one look an edition: a header
that was seen is not asked for again when the body breaks off, and a file that was refused is not
asked for again before the next edition, as long as something is held. Where nothing is, there is
nothing to guess.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from askew.editions import PERIOD
from askew.errors import Malformed, NotFound, ParameterError, ShelfError
from askew.held_file import HEADER_BYTES, Part
from askew.randomness import RandomBits
from askew_client.held.calendar import Turn, draw_turn, edition_at, usable
from askew_client.held.fetch import fetch, look
from askew_client.held.shelf import Holding, Record, Shelf
from askew_client.held.source import HeldSource

_PATIENCE = 60.0  # seconds to wait for another program that fetches


@dataclass(frozen=True)
class HeldFile:
    """A file that was checked. edition: what questions name. fetched: bytes, just now."""

    holding: Holding
    body: bytes = field(repr=False)
    fetched: int = 0


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did. fetched: bytes, its looks included; next_look: in seconds since 1970."""

    holding: Holding
    fetched: int
    next_look: int


class Keeper:
    """Keeps one server's files. byte_budget: what one of them may have, with its header."""

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        shelf: Shelf,
        source: HeldSource,
        byte_budget: int,
        bits: RandomBits,
        *,
        now: Callable[[], float] = time.time,
        patience: float = _PATIENCE,
    ) -> None:
        self._shelf, self._source, self._budget = shelf, source, byte_budget
        self._bits, self._now, self._patience = bits, now, patience

    async def held(self) -> HeldFile:
        """What is held, fetched first where nothing usable is. Raises AskewError."""
        found = await asyncio.to_thread(self._usable)
        if found is not None:
            return found
        async with self._shelf.locked(self._patience):
            # Another program may have fetched it while this one waited.
            return await asyncio.to_thread(self._usable) or await self._renewed()

    async def refresh(self) -> Refreshed:
        """Look for the current edition if its turn has come, at once where nothing usable is held.

        Raises AskewError, in which case what is held stays.
        """
        async with self._shelf.locked(self._patience):
            found = await asyncio.to_thread(self._usable)
            if found is None or (await asyncio.to_thread(self._turn)).time <= self._now():
                found = await self._renewed()
            turn = await asyncio.to_thread(self._turn)
            return Refreshed(found.holding, found.fetched, turn.time)

    def _usable(self) -> HeldFile | None:
        """What lies on the shelf, if questions that name its edition are still answered."""
        holding = self._shelf.record().held
        if holding is None or not usable(holding.edition, self._now()):
            return None
        body = self._shelf.body(holding)
        return None if body is None else HeldFile(holding, body)

    def _turn(self) -> Turn:
        """When the next edition is looked for; drawn once for each, and kept before it is used."""
        record, edition = self._shelf.record(), edition_at(self._now())
        if record.looked is not None and edition <= record.looked:
            edition = record.looked + PERIOD
        if record.turn is None or record.turn.edition != edition:
            record = replace(record, turn=draw_turn(edition, self._bits))
            self._shelf.remember(record)
        assert record.turn is not None  # noqa: S101  # drawn above
        return record.turn

    async def _renewed(self) -> HeldFile:
        """The current edition, looked for now."""
        record, edition = await asyncio.to_thread(self._shelf.record), edition_at(self._now())
        try:
            holding, looks = await self._announced(record.announced, edition)
            body, fetched = await self._body(record, holding)
        except Malformed:
            held = record.held
            if held is not None and not usable(held.edition, self._now()):
                held = None
            await asyncio.to_thread(self._settle, Record(held=held, looked=edition))
            raise
        await asyncio.to_thread(self._settle, Record(held=holding, looked=edition))
        return HeldFile(holding, body, looks + fetched)

    async def _announced(self, before: Holding | None, edition: int) -> tuple[Holding, int]:
        """What the edition offers this device, and the bytes that it took to see."""
        if before is not None and before.edition == edition and before.header.size <= self._budget:
            return before, 0
        seen = 0
        for part in Part:
            try:
                header = await look(self._source, edition, part)
            except NotFound:
                if part is Part.STARTER:
                    raise
                continue
            seen += HEADER_BYTES
            if header.size <= self._budget:
                return Holding(edition, part, header), seen
        limit = f"at least {header.size}, the bytes that a device of this server must hold"
        raise ParameterError("byte_budget", self._budget, limit)

    async def _body(self, record: Record, holding: Holding) -> tuple[bytes, int]:
        """The body that is held already, or a new one."""
        kept = await asyncio.to_thread(self._shelf.body, holding)
        if kept is not None:
            return kept, 0
        announced = replace(record, announced=holding)
        await asyncio.to_thread(self._settle, announced)
        header, draft = holding.header, self._shelf.draft(holding.header)
        try:
            fetched = await fetch(self._source, holding.edition, holding.part, header, draft)
            return await asyncio.to_thread(self._shelf.finish, header), fetched
        except Malformed:
            draft.discard()
            raise
        except OSError as error:
            raise ShelfError(f"what was fetched cannot be kept: {error.strerror}") from None

    def _settle(self, record: Record) -> None:
        """Remember, and remove what nobody needs any more."""
        self._shelf.remember(record)
        self._shelf.tidy(*(each for each in (record.held, record.announced) if each is not None))
