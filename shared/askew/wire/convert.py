"""Bytes to core types and back: the only place that validates what came from the other side.

Every `..._from_bytes` raises a WireError for anything but a well-formed message, and a core type
is valid because it exists. No function here trusts a length, a shape, an order or a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message

from askew.errors import Malformed, OtherKind, OutOfRange
from askew.local_model import decode_vectors, encode_vectors
from askew.metric.map_noise import MapNoise
from askew.metric_card import Card, MetricCard
from askew.model_card import Catalog, Item, ModelCard, ServingRule
from askew.ranking import Slate
from askew.rule_kind import SERVED, RuleKind
from askew.signal import ANY_SPACE, Query, Signal
from askew.wire.floats import Floats, floats_from_bytes, floats_to_bytes
from askew.wire.mechanisms import read_mechanism, write_mechanism
from askew.wire.metric import (
    card_from_message,
    card_to_message,
    listings_from_messages,
    listings_to_messages,
)
from askew.wire.space import space_from_message, space_to_message
from askew.wire.v1 import retrieval_pb2 as pb
from askew.wire.versions import version_from_bytes

CHUNK_ITEMS = 1000
MAX_ITEMS = 2_000_000

_Message = TypeVar("_Message", bound=Message)


def query_to_bytes(query: Query) -> bytes:
    """The request on the wire. Its size depends on public settings alone."""
    signal = query.signal
    message = pb.RetrieveRequest(
        space_version=bytes.fromhex(signal.space_version),
        k=query.k,
        values=signal.values,
        collection=query.collection,
    )
    write_mechanism(signal.mechanism, message)
    return message.SerializeToString()


def query_from_bytes(data: bytes, card: Card) -> Query:
    """A request, checked against the model that is to answer it."""
    message = parse(pb.RetrieveRequest(), data)
    mechanism, version = read_mechanism(message), message.space_version
    nowhere = isinstance(mechanism, MapNoise) and not version
    space = ANY_SPACE if nowhere else version_from_bytes(version)
    signal = Signal(space, mechanism, tuple(message.values))
    query = Query(signal, message.k, message.collection)
    card.check(query)
    return query


def slate_to_bytes(slate: Slate) -> bytes:
    """The reply on the wire. In a space of tastes its size depends on k and the ranking dimension
    alone; items that come whole have the sizes of their titles, which follow from the signal.
    """
    message = pb.RetrieveResponse(catalog_version=bytes.fromhex(slate.catalog_version))
    if slate.listings:
        message.listings.extend(listings_to_messages(slate.listings))
    else:
        scales, codes = encode_vectors(slate.vectors)
        message.item_ids.extend(slate.item_ids)
        message.scales, message.codes = floats_to_bytes(scales), codes
    return message.SerializeToString()


def slate_from_bytes(data: bytes, card: Card, k: int, collection: str = "") -> Slate:
    """A reply of exactly k items: of this card's catalog, with their decoded local model, or whole
    items of the collection.
    """
    message = parse(pb.RetrieveResponse(), data)
    version = version_from_bytes(message.catalog_version)
    if isinstance(card, MetricCard):
        return _whole_items(message, card, version, k, collection)
    if len(message.item_ids) != k or message.listings:
        raise Malformed(f"the answer has {len(message.item_ids)} items, {k} were asked for")
    if version != card.catalog_version:
        raise Malformed("the answer is about another catalog than the model card's")
    if any(item >= card.n_items for item in message.item_ids):
        raise OutOfRange("an item id", f"below the number of items, {card.n_items}")
    scales = floats_from_bytes("scales", message.scales, (card.space.ranking_dimension,))
    vectors = decode_vectors(scales, message.codes, k)
    return Slate(card.catalog_version, tuple(message.item_ids), vectors)


def _whole_items(
    message: pb.RetrieveResponse, card: MetricCard, version: str, k: int, collection: str
) -> Slate:
    asked = card.collection(collection)
    listings = listings_from_messages(message.listings)
    if len(listings) != k or message.item_ids or message.scales or message.codes:
        raise Malformed(f"the answer has {len(listings)} whole items, {k} were asked for")
    if version != asked.version:
        raise Malformed("the answer is about another catalog than the collection's")
    for each in listings:
        asked.check(each, card.space)
    return Slate.of_listings(version, listings)


def card_to_bytes(card: Card) -> bytes:
    """The model card on the wire."""
    if isinstance(card, MetricCard):
        return card_to_message(card).SerializeToString()
    rule = card.rule
    return pb.GetModelCardResponse(
        space=space_to_message(card.space),
        catalog_version=bytes.fromhex(card.catalog_version),
        n_items=card.n_items,
        max_slate_size=card.max_slate_size,
        source=card.source,
        simulated=card.simulated,
        rule=pb.ServingRule(name=rule.kind, epsilon=rule.epsilon, k=rule.k, prior=rule.prior),
    ).SerializeToString()


def card_from_bytes(data: bytes) -> ModelCard:
    """A card of a space of tastes; its space version is computed here, never taken on trust."""
    message = parse(pb.GetModelCardResponse(), data)
    if message.WhichOneof("kind") == "metric_space":
        raise OtherKind("this server has collections to ask near a place, and no catalog of titles")
    if not 1 <= message.n_items <= MAX_ITEMS:
        raise OutOfRange("the number of items", f"from 1 to {MAX_ITEMS}")
    rule = message.rule
    if rule.name not in SERVED:
        raise OutOfRange("the serving rule", f"one of {', '.join(SERVED)}")
    return ModelCard(
        space=space_from_message(message.space),
        catalog_version=version_from_bytes(message.catalog_version),
        n_items=message.n_items,
        max_slate_size=message.max_slate_size,
        source=message.source,
        simulated=message.simulated,
        rule=ServingRule(RuleKind(rule.name), rule.epsilon, rule.k, rule.prior),
    )


def metric_card_from_bytes(data: bytes) -> MetricCard:
    """A card of a metric space."""
    message = parse(pb.GetModelCardResponse(), data)
    kind = message.WhichOneof("kind")
    if kind is None:
        raise OutOfRange("the space of this server", "there")
    if kind != "metric_space":
        raise OtherKind("this server has a catalog of titles, and no collections of places")
    return card_from_message(message)


def catalog_to_chunks(catalog: Catalog) -> Iterator[bytes]:
    """The catalog on the wire, in messages of at most CHUNK_ITEMS items."""
    for start in range(0, len(catalog), CHUNK_ITEMS):
        part = slice(start, start + CHUNK_ITEMS)
        yield pb.GetCatalogResponse(
            items=[
                pb.Item(title=i.title, year=i.year or 0, genres=i.genres)
                for i in catalog.items[part]
            ],
            vectors=floats_to_bytes(catalog.vectors[part]),
            boosts=floats_to_bytes(catalog.boosts[part]),
            shared_slate=catalog.shared_slate if start == 0 else (),
        ).SerializeToString()


def catalog_from_chunks(chunks: Iterable[bytes], card: ModelCard) -> Catalog:
    """The catalog that the card names; its version is computed and compared."""
    items: list[Item] = []
    vectors: list[Floats] = []
    boosts: list[Floats] = []
    shared_slate: list[int] = []
    for chunk in chunks:
        message = parse(pb.GetCatalogResponse(), chunk)
        n, ranking = len(message.items), card.space.ranking_dimension
        if len(items) + n > card.n_items:
            raise Malformed("the catalog has more items than its card says")
        items += [_item(each) for each in message.items]
        vectors.append(floats_from_bytes("vectors", message.vectors, (n, ranking)))
        boosts.append(floats_from_bytes("boosts", message.boosts, (n,)))
        if shared_slate and message.shared_slate:
            raise Malformed("the shared slate belongs to the first part of the catalog")
        shared_slate += message.shared_slate
    if len(items) != card.n_items:
        raise Malformed("the catalog has fewer items than its card says")
    catalog = Catalog(
        tuple(items), np.concatenate(vectors), np.concatenate(boosts), tuple(shared_slate)
    )
    if len(shared_slate) < card.max_slate_size:  # or what anybody is shown looks worse than it is
        raise Malformed("the shared slate is shorter than what the server answers")
    if catalog.version != card.catalog_version:
        raise Malformed("the catalog is not the one that its card names")
    return catalog


def parse(message: _Message, data: bytes) -> _Message:
    """The message that the bytes are. Raises Malformed."""
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Malformed("not a message of the expected type") from None
    return message


def _item(message: pb.Item) -> Item:
    return Item(message.title, message.year or None, tuple(message.genres))
