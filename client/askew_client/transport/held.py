"""What a server lets devices hold, read from files that were fetched and checked."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from askew.break_even import DEVICE_BYTES
from askew.errors import AskewError, Malformed
from askew.model_card import Catalog, ModelCard
from askew.randomness import SystemBits
from askew.wire.held import held_from_body
from askew_client.held.keeper import HeldFile, Keeper
from askew_client.held.shelf import Shelf
from askew_client.held.source import HeldSource
from askew_client.transport.protocol import Holding
from askew_client.views.values import Refreshed

_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class KeptLibrary:
    """What lies on the shelf of a server. Implements Library. now: in seconds since 1970-01-01."""

    keeper: Keeper
    reader: _Reader = field(repr=False)
    now: Callable[[], float] = time.time

    @classmethod
    def on(cls, shelf: Shelf, source: HeldSource, byte_budget: int) -> KeptLibrary:
        """The library of a shelf, filled from a source."""
        reader = _Reader()
        keeper = Keeper(shelf, source, byte_budget, SystemBits(), check=reader.check)
        return cls(keeper, reader)

    async def holding(self, day: datetime.date) -> Holding:
        """What is held; fetched where nothing is whose questions are still answered."""
        file = await self.keeper.held((day - _EPOCH).days)
        return await asyncio.to_thread(self.reader.holding, file)

    async def kept(self, day: datetime.date) -> Holding | None:
        """What is held, where its questions are still answered; nothing is fetched."""
        file = await asyncio.to_thread(self.keeper.usable, (day - _EPOCH).days)
        return None if file is None else await asyncio.to_thread(self.reader.holding, file)

    async def forget(self, edition: int) -> None:
        """Hold this edition no more."""
        await self.keeper.forget(edition)

    async def refresh(self) -> Refreshed:
        """Look for the current edition if its turn has come."""
        return await self.keeper.refresh(int(self.now()))


@dataclass(frozen=True)
class FetchedAnew:
    """Keeps nothing: what is held is fetched whenever it is asked for. Implements Library."""

    network: HeldSource
    byte_budget: int = DEVICE_BYTES

    async def holding(self, day: datetime.date) -> Holding:
        """All that the server lets devices hold within the budget."""
        with self._passing() as library:
            return await library.holding(day)

    async def forget(self, _: int) -> None:
        """There is nothing to forget."""

    async def refresh(self) -> Refreshed:
        """Looks at once: there is nothing that could be as it was."""
        with self._passing() as library:
            return await library.refresh()

    @contextmanager
    def _passing(self) -> Iterator[KeptLibrary]:
        with TemporaryDirectory(prefix="askew-held-") as directory:
            yield KeptLibrary.on(Shelf(Path(directory)), self.network, self.byte_budget)


class _Reader:
    """Reads bodies, and what was checked just now not again."""

    def __init__(self) -> None:
        self._checked: tuple[bytes, tuple[ModelCard, Catalog]] | None = None

    def check(self, body: bytes) -> None:
        """Raises Malformed for a body that is of no use."""
        self._checked = (body, _read(body))

    def holding(self, file: HeldFile) -> Holding:
        """What a file says."""
        checked, self._checked = self._checked, None
        if checked is None or checked[0] is not file.body:
            checked = (file.body, _read(file.body))
        card, catalog = checked[1]
        return Holding(card, catalog, file.version.edition, file.version.head.size)


def _read(body: bytes) -> tuple[ModelCard, Catalog]:
    """The card and the items of a body. Raises Malformed for any other."""
    try:
        return held_from_body(body)
    except AskewError as error:
        raise Malformed(f"what this server wants to be held was refused: {error}") from None
