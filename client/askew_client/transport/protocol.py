"""What the device needs of a network, whatever it is made of: for types alone."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from askew.protocol.cards import MetricCard, ModelCard, PlaceSlate
from askew.protocol.collection import Collection
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew_client.catalog.cache import CachedCatalog, CachedRows
from askew_client.storage.guard import Guard
from askew_client.views.answers import Refreshed


class Library(Protocol):
    """Where a device has what it holds: a catalog, or the card of a server of places.

    Methods raise a TransportError or a WireError, and CacheError.
    """

    async def cached(self, day: datetime.date) -> CachedCatalog:
        """Return the catalog of titles that is held on this day, a CachedCatalog of card, catalog,
        catalog_date (days since 1970-01-01) and size (bytes); fetched, where it has to be.
        """

    async def rows(self, day: datetime.date) -> CachedRows:
        """Return the rows of a server of places that are held on this day, CachedRows of card, rows
        (by collection), catalog_date (days since 1970-01-01) and size (bytes); fetched, if need be.
        """

    async def kept_rows(self, day: datetime.date) -> CachedRows | None:
        """Return the rows that are held on this day, CachedRows as of `rows`, or None; nothing is
        fetched.
        """

    async def live(self, held: CachedRows) -> Mapping[str, Collection]:
        """Return the held rows by the name of their collection, with live values of all, which are
        fetched now.
        """

    async def forget(self, catalog_date: int) -> None:
        """Drop the file of this Monday (days since 1970-01-01), if it is held."""

    async def refresh(self) -> Refreshed:
        """Look for this week's file if it is time, and return a Refreshed, what is held after that:
        catalog_date (a date), part ("whole" or "default"), size and fetched (bytes; 0 where it was
        not time), and next_look (a datetime in UTC).
        """

    async def metric_card(self, day: datetime.date) -> CachedRows:
        """Return the card of a server of places, as CachedRows whose `rows` are {}; fetched, where
        it has to be.
        """

    async def forget_metric_card(self) -> None:
        """Drop the kept card of places, so that the next question fetches it."""


class Network(Protocol):
    """A server, as the device's questions use it: connections begin at public moments, and nothing
    private is done while one exists.
    """

    guard: Guard

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return a context that lets one question alone have the network; the moment of its
        connection is fixed on entry.
        """

    def public_work(self) -> AbstractContextManager[None]:
        """Return a context that, when it is left, puts the moment of the next connection off by as
        long as the work inside took, rounded up to whole intervals.
        """

    @staticmethod
    def encoded(query: Query) -> bytes:
        """Return the bytes of a question as they will be sent: the same query is the same bytes."""

    async def retrieve(self, request: bytes) -> bytes:
        """Connect at the moment, send the request, receive, hang up, and return the reply's bytes.
        Raises NotReady, in which case nothing was sent, a TransportError or a WireError.
        """

    @staticmethod
    def decoded(reply: bytes, query: Query, card: ModelCard) -> Slate:
        """Return the slate of a reply: query.k titles. Raises a WireError for any other reply."""

    @staticmethod
    def decoded_places(
        reply: bytes, query: Query, card: MetricCard, rows: Mapping[str, Collection]
    ) -> tuple[PlaceSlate, ...]:
        """Return a PlaceSlate for each collection asked, in the card's order, each of query.k items
        (all of a smaller collection). Raises a WireError for any other reply.
        """
