"""A network whose connections begin at public moments, with nothing private while one is open; and
what its server lets devices hold, read from files that it fetched and that were checked.

Between the end of one connection and the start of the next lies an interval, and the moment of the
next is fixed when one ends: before its reply is opened. What the device does in between depends on
the profile, and does not move that moment. Work that is not done by then sends nothing. Who asks
later, by their own doing, asks a whole number of intervals later.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from math import ceil
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from askew.catalog.catalog_file import LIVE_FILE_BYTES, Part, catalog_date_of
from askew.errors import AskewError, Malformed, NotFound, NotReady, OtherKind, StaleSpace, WireError
from askew.noise.randomness import SystemBits
from askew.protocol.cards import MetricCard, PlaceSlate
from askew.protocol.signal import Query
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.queries import query_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.catalog.cache import (
    CachedCatalog,
    CachedFile,
    CachedRows,
    CatalogCache,
    CatalogSource,
    CatalogSync,
    usable,
)
from askew_client.storage.guard import Guard
from askew_client.views.answers import Refreshed

if TYPE_CHECKING:
    from askew.catalog.catalog import Catalog  # brings numpy
    from askew.protocol.cards import ModelCard
    from askew.protocol.collection import Collection  # brings numpy
    from askew.protocol.ranking import Slate
    from askew_client.transport.grpc import GrpcTransport
    from askew_client.transport.in_process import InProcess

    Transport = GrpcTransport | InProcess
    _Read = tuple[ModelCard, Catalog] | tuple[MetricCard, Mapping[str, Collection]]


_Value = TypeVar("_Value")


class ShapedTransport:
    """One server, connected to at public moments. Implements Network.

    network: made when it is first used. files: where what is held comes from. interval: seconds;
    None for what has no socket.
    """

    def __init__(
        self,
        network: Callable[[], Transport],
        files: CatalogSource,
        interval: float | None = None,
    ) -> None:
        self._make, self._interval, self.files = network, interval, files
        self._network: Transport | None = None
        self._moment: float | None = None  # of the next connection; None before the first
        self._ended = 0.0  # the last one
        self._alone = asyncio.Lock()
        self.guard = Guard()

    def load(self) -> Transport:
        """Return the network, the same at each call, created by the first. Raises what its creation
        raises.
        """
        if self._network is None:
            self._network = self._make()
        return self._network

    @property
    def source(self) -> CatalogSource:
        """Return a source of the files that are held, connected to at the same public moments."""
        return _ShapedSource(self)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Let one question alone have the network, from entry to exit. The moment of its connection
        is fixed on entry, before anything private; where that moment has passed, whole intervals
        after it.
        """
        async with self._alone:
            if self._moment is not None and self._now() > self._moment:
                self._put_off(self._now() + (self._interval or 0.0) - self._moment)
            yield

    @contextmanager
    def public_work(self) -> Iterator[None]:
        """Put the moment of the next connection off, by whole intervals, for as long as the work
        inside takes: work on what a server said, the same for all, perhaps with a connection. What
        was done before that connection ended, which may be private, does not count.
        """
        began = self._now()
        yield
        self._put_off(self._now() - max(began, self._ended))

    def _put_off(self, seconds: float) -> None:
        if self._moment is not None and self._interval is not None:
            self._moment += ceil(seconds / self._interval) * self._interval

    @staticmethod
    def encoded(query: Query) -> bytes:
        """Return the bytes of a question as they will be sent."""
        return query_to_bytes(query)

    async def retrieve(self, request: bytes) -> bytes:
        """Return the reply's bytes to a question, when its connection is closed. Raises NotReady,
        in which case nothing was sent, a TransportError or a WireError.
        """
        return await self.call("Retrieve", request)

    @staticmethod
    def decoded(reply: bytes, query: Query, card: ModelCard) -> Slate:
        """Return the slate of query.k titles, in ascending order of id, that answers a question of
        tastes. Raises StaleSpace where it is about another catalog, another WireError for any other
        reply.
        """
        from askew.wire.tastes import slate_from_bytes  # brings numpy

        return _checked(lambda: slate_from_bytes(reply, card, query.k))

    @staticmethod
    def decoded_places(
        reply: bytes, query: Query, card: MetricCard, rows: Mapping[str, Collection]
    ) -> tuple[PlaceSlate, ...]:
        """Return the slates that answer a question for places, one for each collection asked, in
        the card's order, each of query.k items (all of a smaller collection), in ascending order of
        id. rows: what is held, of which a reply brings live values alone. Raises a WireError for
        any other reply.
        """
        return _checked(lambda: places_from_bytes(reply, card, query, rows))

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply's bytes to one call, when its connection is closed. Raises NotReady, in
        which case nothing was sent, a TransportError or a WireError.
        """
        network = await asyncio.to_thread(self.load)
        async with self.connected(network):
            return await network.call(method, request)

    @asynccontextmanager
    async def connected(self, way: AbstractAsyncContextManager[Any]) -> AsyncIterator[None]:
        """Open `way` on entry, at the moment that its turn fixed, and close it on exit, which fixes
        the moment of the next one.

        Raises NotReady where that moment has passed, or where the device is at work on something
        private.
        """
        async with AsyncExitStack() as left:
            if not self._alone.locked():
                await left.enter_async_context(self.turn())
            if self._moment is not None:
                await self._wait(self._moment - self._now())
            left.enter_context(self.guard.connection())
            left.callback(self._hung_up)
            await left.enter_async_context(way)
            yield

    def _hung_up(self) -> None:
        # Before the reply is opened.
        self._ended = self._now()
        if self._interval is not None:
            self._moment = self._ended + self._interval

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _wait(self, seconds: float) -> None:
        if seconds < 0:
            raise NotReady
        await asyncio.sleep(seconds)


class _ShapedSource(CatalogSource):
    """Files of a shaped network."""

    def __init__(self, shaped: ShapedTransport) -> None:
        self._shaped, self._left = shaped, AsyncExitStack()

    async def __aenter__(self) -> Self:
        # The question after it has a moment to keep, which loading gRPC then would miss.
        await asyncio.to_thread(self._shaped.load)
        await self._left.enter_async_context(self._shaped.connected(self._shaped.files))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._left.aclose()

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from byte `start` on, fewer at its end, by the open
        connection.
        """
        return await self._shaped.files.read(catalog_date, part, start, size)


# Replies cross as bytes, and are read when the connection that brought them is closed.


def card_request(catalog_date: int) -> bytes:
    """Return the bytes of a request for the card of a Monday (days since 1970-01-01), the same for
    everybody.
    """
    return pb.GetModelCardRequest(catalog_date=catalog_date).SerializeToString()


def metric_card_of(reply: bytes) -> MetricCard:
    """Return the card that a server of places replied with. Raises a WireError for any
    other reply.
    """
    return _checked(lambda: metric_card_from_bytes(reply))


def _checked(convert_reply: Callable[[], _Value]) -> _Value:
    # Whatever is wrong with a reply is the server's doing: a WireError.
    try:
        return convert_reply()
    except (OtherKind, StaleSpace):
        raise  # an honest server, and another one
    except AskewError as error:
        raise Malformed(f"the server's answer was refused: {error}") from None


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
        """Return the catalog of titles that is held, a CachedCatalog of card, catalog, catalog_date
        and size; fetched first where nothing is held that may be used on this day, from one before
        its Monday to 16 after. Raises OtherKind for a server of places.
        """
        file = await self.sync.cached((day - _EPOCH).days)
        card, catalog = await asyncio.to_thread(self._known, file)
        if isinstance(card, MetricCard) or isinstance(catalog, Mapping):
            raise OtherKind(
                "this server has collections of places, and no catalog of titles", places=True
            )
        return CachedCatalog(card, catalog, file.version.catalog_date, file.version.head.size)

    async def rows(self, day: datetime.date) -> CachedRows:
        """Return the rows of a server of places, CachedRows of card, rows, catalog_date and size;
        fetched first where none are held that may be used on this day, from one before their Monday
        to 16 after. Raises OtherKind for a server of titles.
        """
        file = await self.sync.cached((day - _EPOCH).days)
        return await asyncio.to_thread(self._rows, file)

    async def kept_rows(self, day: datetime.date) -> CachedRows | None:
        """Return the rows that lie in the cache, CachedRows, and fetch nothing; None where there
        are none, they may not be used on this day (from one before their Monday to 16 after), or
        what lies there is a catalog of titles.
        """
        file = await asyncio.to_thread(self.sync.usable, (day - _EPOCH).days)
        with suppress(OtherKind):  # a catalog of titles
            return None if file is None else await asyncio.to_thread(self._rows, file)
        return None

    async def live(self, held: CachedRows) -> Mapping[str, Collection]:
        """Return the held rows by the name of their collection, with live values fetched now where
        all rows of it are held: one request, of the same size whatever a card says, read when its
        connection is closed. Raises NotFound where the server has no such file, Malformed for
        another one.
        """
        from askew.wire.catalog_file import with_live_values  # brings numpy

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
        """Look for this week's file if it is time, by this machine's clock, and return a Refreshed,
        what is held after that: catalog_date (a date), part, size and fetched in bytes, and
        next_look (a datetime in UTC).
        """
        return await self.sync.refresh(int(time.time()))

    async def metric_card(self, day: datetime.date) -> CachedRows:
        """Return the card of a server of places as CachedRows without rows (size: the card's
        bytes): the kept one from one day before its Monday until 16 days after; else that of this
        week, fetched, kept, and read when its connection is closed. Raises OtherKind where there is
        no such server.
        """
        today = (day - _EPOCH).days
        kept = await asyncio.to_thread(self._kept_card, today)
        if kept is not None:
            return kept
        if self._call is None:
            raise OtherKind("this server has no collections of places")
        monday = catalog_date_of(today)
        reply = await self._call("GetModelCard", card_request(monday))
        card = await asyncio.to_thread(metric_card_of, reply)
        await asyncio.to_thread(self.cache.keep_metric_card, monday, reply)
        return CachedRows(card, {}, monday, len(reply))

    async def forget_metric_card(self) -> None:
        """Remove the kept card, if there is one, so that the next question fetches it. Raises
        CacheError where the directory cannot be used.
        """
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
        self._checked = (body, _read(body))

    def _rows(self, file: CachedFile) -> CachedRows:
        card, rows = self._known(file)
        if not isinstance(card, MetricCard) or not isinstance(rows, Mapping):
            raise OtherKind("this server has a catalog of titles, and no collections of places")
        return CachedRows(card, rows, file.version.catalog_date, file.version.head.size)

    def _known(self, file: CachedFile) -> _Read:
        # What was checked just now is not read again.
        checked, self._checked = self._checked, None
        return checked[1] if checked and checked[0] is file.body else _read(file.body)


def _read(body: bytes) -> _Read:
    from askew.wire.catalog_file import catalog_from_body, rows_from_body  # brings numpy

    try:
        try:
            return catalog_from_body(body)
        except OtherKind:
            return rows_from_body(body)
    except AskewError as error:
        raise Malformed(f"this device refused the file that the server offers: {error}") from None
