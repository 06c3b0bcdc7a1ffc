"""What a server lets devices hold, read from files that were fetched and checked."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from askew.catalog.catalog_file import LIVE_FILE_BYTES, Part, catalog_date_of
from askew.errors import AskewError, Malformed, NotFound, OtherKind, WireError
from askew.noise.randomness import SystemBits
from askew.protocol.metric_card import MetricCard
from askew_client.catalog.cache import CatalogCache, CatalogSource, usable
from askew_client.catalog.sync import CachedFile, CatalogSync
from askew_client.transport.protocol import CachedCatalog, CachedRows
from askew_client.transport.shaped import card_request, metric_card_of
from askew_client.views.answers import Refreshed

if TYPE_CHECKING:
    from askew.catalog.catalog import Catalog  # brings numpy
    from askew.protocol.collection import Collection
    from askew.protocol.model_card import ModelCard

    _Read = tuple[ModelCard, Catalog] | tuple[MetricCard, Mapping[str, Collection]]

_EPOCH = datetime.date(1970, 1, 1)


class KeptLibrary:
    """What lies in the cache of a server: its catalog, from a source, or a card of places."""

    def __init__(
        self,
        cache: CatalogCache,
        source: CatalogSource,
        byte_budget: int,
        call: Callable[[str, bytes], Awaitable[bytes]] | None = None,
    ) -> None:
        """Make a library of one server. Implements Library. call: makes one call, by a connection
        that is closed when the reply is there; without it there is no server of places.
        """
        self.cache, self._source, self._call = cache, source, call
        self.sync = CatalogSync(cache, source, byte_budget, SystemBits(), check=self._check)
        self._checked: tuple[bytes, _Read] | None = None  # just now

    async def cached(self, day: datetime.date) -> CachedCatalog:
        """Return the catalog of titles that is held, with its card; fetched first where nothing is
        held, or it is too old on this day. Raises OtherKind for a server of places.
        """
        file = await self.sync.cached((day - _EPOCH).days)
        return await asyncio.to_thread(self._catalog, file)

    async def rows(self, day: datetime.date) -> CachedRows:
        """Return the rows of a server of places, with its card; fetched first where none is held,
        or they are too old on this day. Raises OtherKind for a server of titles.
        """
        file = await self.sync.cached((day - _EPOCH).days)
        return await asyncio.to_thread(self._rows, file)

    async def kept_rows(self, day: datetime.date) -> CachedRows | None:
        """Return the rows that lie in the cache, and fetch nothing; None where there are none, they
        are too old on this day, or what lies there is a catalog of titles.
        """
        file = await asyncio.to_thread(self.sync.usable, (day - _EPOCH).days)
        with suppress(OtherKind):  # a catalog of titles
            return None if file is None else await asyncio.to_thread(self._rows, file)
        return None

    async def live(self, held: CachedRows) -> Mapping[str, Collection]:
        """Return the held rows by the name of their collection, with live values fetched now: one
        request, of the same size whatever a card says, read when its connection is closed. Raises
        NotFound where the server has no such file.
        """
        from askew.wire.rows_file import with_live_values  # brings numpy

        try:
            async with self._source:
                file = await self._source.read(held.catalog_date, Part.LIVE, 0, LIVE_FILE_BYTES)
        except (NotFound, OtherKind):
            raise NotFound("file of live values") from None
        return await asyncio.to_thread(with_live_values, held.card, held.rows, file)

    async def forget(self, catalog_date: int) -> None:
        """Drop the file of this Monday (days since 1970-01-01), if it is held."""
        await self.sync.forget(catalog_date)

    async def refresh(self) -> Refreshed:
        """Look for this week's file if it is time, by this machine's clock, and return what is held
        after that.
        """
        return await self.sync.refresh(int(time.time()))

    async def metric_card(self, day: datetime.date) -> CachedRows:
        """Return the card of a server of places, without rows: the kept one, for as long as a
        catalog of its week would be; else that of this week, fetched, and read when its connection
        is closed. Raises OtherKind where there is no such server.
        """
        today = (day - _EPOCH).days
        kept = await asyncio.to_thread(self._kept_card, today)
        if kept is not None:
            return kept
        if self._call is None:
            raise OtherKind("here are no collections of places")
        monday = catalog_date_of(today)
        reply = await self._call("GetModelCard", card_request(monday))
        card = await asyncio.to_thread(metric_card_of, reply)
        await asyncio.to_thread(self.cache.keep_metric_card, monday, reply)
        return CachedRows(card, {}, monday, len(reply))

    async def forget_metric_card(self) -> None:
        """Remove the kept card, so that the next question fetches it."""
        await asyncio.to_thread(self.cache.forget_metric_card)

    def _kept_card(self, today: int) -> CachedRows | None:
        kept = self.cache.metric_card()
        if kept is None or not usable(kept[0], today):
            return None
        try:
            return CachedRows(metric_card_of(kept[1]), {}, kept[0], len(kept[1]))
        except WireError:  # damaged
            return None

    def _check(self, body: bytes) -> None:
        """Read a body, and keep what it says for the next use. Raises Malformed for one that has
        neither a catalog nor rows.
        """
        self._checked = (body, _read(body))

    def _catalog(self, file: CachedFile) -> CachedCatalog:
        # What was checked just now is not read again.
        card, catalog = self._known(file)
        if isinstance(card, MetricCard) or isinstance(catalog, Mapping):
            raise OtherKind(
                "this server has collections of places, and no catalog of titles", places=True
            )
        return CachedCatalog(card, catalog, file.version.catalog_date, file.version.head.size)

    def _rows(self, file: CachedFile) -> CachedRows:
        card, rows = self._known(file)
        if not isinstance(card, MetricCard) or not isinstance(rows, Mapping):
            raise OtherKind("this server has a catalog of titles, and no collections of places")
        return CachedRows(card, rows, file.version.catalog_date, file.version.head.size)

    def _known(self, file: CachedFile) -> _Read:
        checked, self._checked = self._checked, None
        return checked[1] if checked and checked[0] is file.body else _read(file.body)


def _read(body: bytes) -> _Read:
    """Return the card of a body, with its catalog or the rows of its collections. Raises Malformed
    for any other.
    """
    from askew.wire.catalog_file import catalog_from_body  # brings numpy
    from askew.wire.rows_file import rows_from_body

    try:
        try:
            return rows_from_body(body)
        except OtherKind:
            return catalog_from_body(body)
    except AskewError as error:
        raise Malformed(f"what this server wants to be held was refused: {error}") from None
