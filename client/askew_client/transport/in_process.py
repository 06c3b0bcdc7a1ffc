"""Servers in this process, for demos and tests: public rules, and no network at all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import Part
from askew.catalog.item import Listing
from askew.errors import NotFound, OtherKind, StaleSpace
from askew.offset_rule import OffsetRule
from askew.placement.hexagonal import place_on_map
from askew.protocol.cards import ALL_NUMBER, Card, MetricCard, ModelCard, PlaceSlate
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.spaces.map import COSINE_PARTS, KM_OF_LATITUDE, KM_OF_LONGITUDE
from askew.wire.catalog_file import catalog_files
from askew.wire.messages import parse
from askew.wire.places import all_places_to_bytes, metric_card_to_bytes, places_to_bytes
from askew.wire.queries import query_from_message
from askew.wire.tastes import slate_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.catalog.cache import CatalogSource


class InProcess(CatalogSource):
    """A server in this process, with the files that devices hold: messages cross as bytes, and no
    socket is opened.
    """

    @abstractmethod
    def card_for(self, collection: int | None) -> Card:
        """Return the card that a question is read by. collection: its number, or None for one about
        titles.
        """

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:  # noqa: ARG002
        """Raise OtherKind, as a server of places without a file for devices; a server with one
        returns `size` bytes from byte `start` on, fewer at its end.
        """
        raise OtherKind(
            "this server has collections of places, and no catalog of titles", places=True
        )

    async def metric_card(self) -> MetricCard:
        """Raise OtherKind, as a server of titles; a server of places returns its card."""
        raise OtherKind("this server has a catalog of titles, and no collections of places")

    @abstractmethod
    async def retrieve(self, query: Query, card: Card) -> Slate | PlaceSlate:
        """Return the answer to a question: a slate of titles, or of one collection's places."""

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply's bytes to one call: the card of places for "GetModelCard", else, for
        any method, the answer to the question in the request. Raises Malformed for no question,
        another WireError for one that the card does not allow, OtherKind for the card of a server
        of titles.
        """
        if method == "GetModelCard":
            return metric_card_to_bytes(await self.metric_card())
        message = parse(pb.RetrieveRequest(), request)
        card = self.card_for(message.collection if message.HasField("collection") else None)
        query = query_from_message(message, card)
        if isinstance(card, MetricCard):
            replies = []
            for question in card.questions(query):
                slate, asked = await self.retrieve(question, card), question.collection
                if not isinstance(slate, PlaceSlate):
                    raise StaleSpace
                held = question.holds_rows
                replies.append(places_to_bytes(slate, card.collection(asked), held=held))
            return all_places_to_bytes(replies) if query.collection == ALL_NUMBER else replies[0]
        slate = await self.retrieve(query, card)
        if isinstance(slate, PlaceSlate):
            raise StaleSpace
        return slate_to_bytes(slate, card)


class LocalTransport(InProcess):
    """Answers as a server of titles does."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self._card, self._catalog = card, catalog.decoded()
        self._rule = OffsetRule(card.space.encoder, self._catalog.scoring)
        self._files = catalog_files(card, catalog)

    def card_for(self, collection: int | None) -> Card:  # noqa: ARG002
        """Return the server's only card, whatever the collection."""
        return self._card

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:  # noqa: ARG002
        """Return `size` bytes from byte `start` on of its file of this part, fewer at its end,
        whatever the date. Raises NotFound for a part that it does not have.
        """
        if part not in self._files:
            raise NotFound("catalog file")
        return self._files[part][start : start + size]

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """Return the slate of query.k titles by the card's rule, in ascending order of id. Raises
        StaleSpace for a signal of another space, ParameterError for a k that the catalog is too
        small for.
        """
        if query.signal.space_version != card.space.version:
            raise StaleSpace
        return Slate.of_catalog(self._catalog, self._rule.answer(query.signal, query.k))


class LocalPlaces(InProcess):
    """Answers as a server with the rule `codebook` does.

    The nearest item of each probe, and where several probes find one, the next nearest to the
    signal, so that there are always k. Distances are those through a sphere.
    """

    def __init__(self, card: MetricCard, items: Mapping[str, Sequence[Listing]]) -> None:
        """Make a server of this card and these items: of each collection, in the order of their
        ids.
        """
        self.card = card
        self._items = {name: tuple(listings) for name, listings in items.items()}
        self._points = {
            name: _on_sphere(np.array([listing.coordinates for listing in listings]))
            for name, listings in self._items.items()
        }

    def card_for(self, collection: int | None) -> Card:  # noqa: ARG002
        """Return the server's only card, whatever the collection."""
        return self.card

    async def metric_card(self) -> MetricCard:
        """Return the server's only card."""
        return self.card

    async def retrieve(self, query: Query, card: Card) -> PlaceSlate:  # noqa: ARG002  # it has one
        """Return the slate of query.k whole items of the collection (all where it has fewer), in
        ascending order of id. Raises a WireError for a question that the card does not allow.
        """
        self.card.check(query)
        asked = self.card.collection(query.collection)
        items, points = self._items[asked.name], self._points[asked.name]
        nearest_items = [int(np.argmax(points @ probe)) for probe in _on_sphere(probes(query))]
        signal = query.signal.position()
        at = _on_sphere(np.array([[signal.latitude, signal.longitude]]))[0]
        nearest = np.argsort(-(points @ at), kind="stable").tolist()
        chosen = list(dict.fromkeys([*nearest_items, *nearest]))[: query.k]
        return PlaceSlate(asked.version, tuple([items[item] for item in sorted(chosen)]))


def probes(query: Query) -> NDArray[np.float64]:
    """Return the query points, signal + offsets, as (k, 2) latitudes and longitudes in degrees: the
    offsets of `place_on_map` for the signal's own noise, nearest to it first, at most 64.
    """
    noise, signal = query.signal.map_noise, query.signal.position()
    offsets = place_on_map(float(noise.epsilon), query.k).offsets
    east = offsets[:, 0] / (float(KM_OF_LONGITUDE) * noise.cosine / COSINE_PARTS)
    north = offsets[:, 1] / float(KM_OF_LATITUDE)
    return np.column_stack([signal.latitude + north, signal.longitude + east])


def _on_sphere(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    # The larger the product of two unit vectors (n, 3), the nearer they are.
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    return np.column_stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)])
