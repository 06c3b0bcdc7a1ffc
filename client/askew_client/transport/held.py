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
from typing import TYPE_CHECKING, Protocol

from askew.catalog.catalog_file import catalog_date_of
from askew.errors import AskewError, Malformed, OtherKind, WireError
from askew.noise.randomness import SystemBits
from askew.protocol.metric_card import MetricCard
from askew.protocol.utility_table import DEVICE_BYTES
from askew_client.catalog.cache import CatalogCache, usable
from askew_client.catalog.source import CatalogSource
from askew_client.catalog.sync import CachedFile, CatalogSync
from askew_client.transport.calls import METRIC_CARD, metric_card_of
from askew_client.transport.protocol import CachedCatalog, Transport
from askew_client.views.answers import Refreshed

if TYPE_CHECKING:
    from askew.catalog.catalog import Catalog  # brings numpy
    from askew.protocol.model_card import ModelCard

_EPOCH = datetime.date(1970, 1, 1)


class Calling(Protocol):
    """What makes one call, by a connection that is closed when the reply is there."""

    async def call(self, method: str, request: bytes) -> bytes:
        """The reply. Raises a TransportError or a WireError."""


@dataclass(frozen=True)
class KeptLibrary:
    """What lies in the cache of a server. Implements Library. now: in seconds since 1970-01-01."""

    cache: CatalogCache
    sync: CatalogSync
    reader: _Reader = field(repr=False)
    network: Calling | None = None
    now: Callable[[], float] = time.time

    @classmethod
    def on(
        cls,
        cache: CatalogCache,
        source: CatalogSource,
        byte_budget: int,
        network: Calling | None = None,
    ) -> KeptLibrary:
        """The library of a cache, its catalog from a source, its card from a server of places."""
        reader = _Reader()
        sync = CatalogSync(cache, source, byte_budget, SystemBits(), check=reader.check)
        return cls(cache, sync, reader, network)

    async def cached(self, day: datetime.date) -> CachedCatalog:
        """What is held; fetched where nothing is whose questions are still answered."""
        file = await self.sync.cached((day - _EPOCH).days)
        return await asyncio.to_thread(self.reader.cached, file)

    async def kept(self, day: datetime.date) -> CachedCatalog | None:
        """What is held, where its questions are still answered; nothing is fetched."""
        file = await asyncio.to_thread(self.sync.usable, (day - _EPOCH).days)
        return None if file is None else await asyncio.to_thread(self.reader.cached, file)

    async def forget(self, catalog_date: int) -> None:
        """Drop the version of this date."""
        await self.sync.forget(catalog_date)

    async def refresh(self) -> Refreshed:
        """Look for the current version if it is time."""
        return await self.sync.refresh(int(self.now()))

    async def metric_card(self, day: datetime.date) -> MetricCard:
        """The card that is kept, for as long as a catalog of its week would be; else a new one,
        read when its connection is closed.
        """
        today = (day - _EPOCH).days
        kept = await asyncio.to_thread(self._kept_card, today)
        if kept is not None:
            return kept
        if self.network is None:
            raise OtherKind("here are no collections of places")
        reply = await self.network.call("GetModelCard", METRIC_CARD)
        card = await asyncio.to_thread(metric_card_of, reply)
        await asyncio.to_thread(self.cache.keep_metric_card, catalog_date_of(today), reply)
        return card

    async def forget_metric_card(self) -> None:
        """The next question fetches it."""
        await asyncio.to_thread(self.cache.forget_metric_card)

    def _kept_card(self, today: int) -> MetricCard | None:
        found = self.cache.metric_card()
        if found is None or not usable(found[0], today):
            return None
        try:
            return metric_card_of(found[1])
        except WireError:  # damaged
            return None


@dataclass(frozen=True)
class FetchedAnew:
    """Keeps nothing: what is held is fetched whenever it is asked for. Implements Library."""

    network: Transport
    byte_budget: int = DEVICE_BYTES

    async def cached(self, day: datetime.date) -> CachedCatalog:
        """All that the server lets devices hold within the budget."""
        with self._passing() as library:
            return await library.cached(day)

    async def forget(self, _: int) -> None:
        """There is nothing to forget."""

    async def refresh(self) -> Refreshed:
        """Looks at once: there is nothing that could be as it was."""
        with self._passing() as library:
            return await library.refresh()

    async def metric_card(self, day: datetime.date) -> MetricCard:  # noqa: ARG002
        """The server's own."""
        return metric_card_of(await self.network.call("GetModelCard", METRIC_CARD))

    async def forget_metric_card(self) -> None:
        """None is kept."""

    @contextmanager
    def _passing(self) -> Iterator[KeptLibrary]:
        with TemporaryDirectory(prefix="askew-held-") as directory:
            yield KeptLibrary.on(CatalogCache(Path(directory)), self.network, self.byte_budget)


class _Reader:
    """Reads bodies, and what was checked just now not again."""

    def __init__(self) -> None:
        self._checked: tuple[bytes, tuple[ModelCard, Catalog]] | None = None

    def check(self, body: bytes) -> None:
        """Raises Malformed for a body that is of no use."""
        self._checked = (body, _read(body))

    def cached(self, file: CachedFile) -> CachedCatalog:
        """What a file says."""
        checked, self._checked = self._checked, None
        if checked is None or checked[0] is not file.body:
            checked = (file.body, _read(file.body))
        card, catalog = checked[1]
        return CachedCatalog(card, catalog, file.version.catalog_date, file.version.head.size)


def _read(body: bytes) -> tuple[ModelCard, Catalog]:
    """The card and the items of a body. Raises Malformed for any other."""
    from askew.wire.catalog_file import catalog_from_body  # brings numpy

    try:
        return catalog_from_body(body)
    except AskewError as error:
        raise Malformed(f"what this server wants to be held was refused: {error}") from None
