"""What the device needs of a network, whatever it is made of."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from askew.protocol.metric_card import PlaceSlate
from askew_client.catalog.cache import CatalogSource

if TYPE_CHECKING:
    from askew.catalog.catalog import Catalog
    from askew.protocol.collection import Collection
    from askew.protocol.metric_card import MetricCard
    from askew.protocol.model_card import ModelCard
    from askew.protocol.ranking import Slate
    from askew.protocol.signal import Query
    from askew_client.storage.guard import Guard
    from askew_client.views.answers import Refreshed


@dataclass(frozen=True, eq=False)
class CachedCatalog:
    """What a device holds of a server: its card, items, all of them or the first, the Monday of
    their version, and the bytes that they take, by the device's own count.
    """

    card: ModelCard
    catalog: Catalog
    catalog_date: int
    size: int


@dataclass(frozen=True, eq=False)
class CachedRows:
    """What a device holds of a server of places: its card, rows of its collections by name, if any,
    the Monday of their version, and their bytes.
    """

    card: MetricCard
    rows: Mapping[str, Collection]
    catalog_date: int
    size: int


class Library(Protocol):
    """Where a device has what it holds: a catalog, or the card of a server of places.

    Methods raise as a Transport, and CacheError.
    """

    async def cached(self, day: datetime.date) -> CachedCatalog:
        """Return what is held on this day; fetched, where it has to be."""

    async def rows(self, day: datetime.date) -> CachedRows:
        """Return what is held of a server of places on this day; fetched, where it has to be."""

    async def kept_rows(self, day: datetime.date) -> CachedRows | None:
        """Return the same, and fetch nothing for it."""

    async def live(self, held: CachedRows) -> Mapping[str, Collection]:
        """Return rows that are held with their live values, all of which are fetched now."""

    async def forget(self, catalog_date: int) -> None:
        """Drop the file of this Monday: the server answers about other items."""

    async def refresh(self) -> Refreshed:
        """Look for this week's file if it is time. No question does."""

    async def metric_card(self, day: datetime.date) -> CachedRows:
        """Return the public card of a server of places, without rows, fetched if need be."""

    async def forget_metric_card(self) -> None:
        """Keep it no longer: the server's answers do not fit it."""


class Transport(Protocol):
    """A way to one server: entered, it is a connection, which is closed when it is left."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply to one call, over a connection of its own where there is none.

        Raises a TransportError or a WireError.
        """


class ServerInProcess(Transport, CatalogSource, Protocol):
    """A server in this process, with the files that devices hold."""


class Network(Protocol):
    """A server, as the device's questions use it: connections begin at public moments, and nothing
    private is done while one exists.
    """

    guard: Guard

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Hold all of one question, alone. Its moment is fixed here, before anything private."""

    def public_work(self) -> AbstractContextManager[None]:
        """Do work that takes as long for all, perhaps with a connection: the next moment is put
        off for as long as it takes after that, by whole intervals.
        """

    def encoded(self, query: Query) -> bytes:
        """Return a question as it will be sent: the same query is the same bytes."""

    async def retrieve(self, request: bytes) -> bytes:
        """Connect at the moment, send, receive, hang up. Raises NotReady, in which case nothing
        was sent, a TransportError or a WireError.
        """

    def decoded(self, reply: bytes, query: Query, card: ModelCard) -> Slate:
        """Return the server's answer: exactly query.k items. Raises a WireError."""

    def decoded_places(
        self, reply: bytes, query: Query, card: MetricCard, rows: Mapping[str, Collection]
    ) -> tuple[PlaceSlate, ...]:
        """Return a server's answer of places, of every collection asked. rows: what is held."""
