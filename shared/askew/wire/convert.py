"""Bytes to core types and back: the only place that validates what came from the other side.

Every `..._from_bytes` raises a WireError for anything but a well-formed message, and a core type
is valid because it exists. No function here trusts a length, a shape, an order or a number.
"""

from __future__ import annotations

from struct import pack
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from askew.catalog.held_file import PIECE_BYTES
from askew.catalog.item import Item
from askew.dp.privacy import ANY_SPACE
from askew.errors import Malformed, OtherKind, OutOfRange, StaleSpace
from askew.protocol.metric_card import Card, MetricCard
from askew.protocol.model_card import MAX_PAYLOAD, ModelCard, ServingRule
from askew.protocol.ranking import Slate
from askew.protocol.rule_kind import SERVED, RuleKind
from askew.protocol.signal import Query, Signal
from askew.spaces.item_codes import decode, decode_boosts, encode, encode_boosts
from askew.spaces.map import MapNoise
from askew.wire import metric
from askew.wire.fields import check_count
from askew.wire.listing_bytes import listings_to_bytes, parts_of
from askew.wire.mechanisms import read_mechanism, write_mechanism
from askew.wire.slate_bytes import reply_of_parts
from askew.wire.space import space_from_message, space_to_message
from askew.wire.utility_table import utility_table_from_message, utility_table_to_message
from askew.wire.v1 import retrieval_pb2 as pb
from askew.wire.versions import version_from_bytes

MAX_ITEMS = 2_000_000
_FIELDS_OF_ITEM = 64  # with all its genres, or with a value of each attribute
FIELDS_OF_CARD = 1 << 15  # with 256 collections of 16 attributes

_Message = TypeVar("_Message", bound=Message)


def query_to_bytes(query: Query) -> bytes:
    """The request on the wire. Its size depends on public settings alone.

    The space of a signal of tastes is not named: the version that the device holds is, by a day.
    """
    signal = query.signal
    message = pb.RetrieveRequest(
        k=query.k, values=signal.values, collection=query.collection, edition=query.edition
    )
    if not query.edition:
        message.space_version = bytes.fromhex(signal.space_version)
    write_mechanism(signal.mechanism, message)
    return message.SerializeToString()


def query_from_bytes(data: bytes, card: Card) -> Query:
    """A request, checked against the model that is to answer it."""
    return query_from_message(parse(pb.RetrieveRequest(), data), card)


def query_from_message(message: pb.RetrieveRequest, card: Card) -> Query:
    """The same of a message, whose edition says which model is to answer."""
    mechanism, version, space = read_mechanism(message), message.space_version, ANY_SPACE
    # A question of tastes names an edition, and no space. The other kind of question is of a device
    # that knew this address by another server: it must look anew, as after any other model.
    if isinstance(card, ModelCard):
        if version or not message.edition:
            raise StaleSpace
        space = card.space.version
    elif message.edition:
        raise StaleSpace
    elif version or not isinstance(mechanism, MapNoise):
        space = version_from_bytes(version)
    signal = Signal(space, mechanism, tuple(message.values))
    query = Query(signal, message.k, message.collection, message.edition)
    card.check(query)
    return query


def slate_to_bytes(slate: Slate, card: Card) -> bytes:
    """The reply on the wire. It has the size of its items' words, which follow from the signal."""
    if isinstance(card, MetricCard):
        parts = [parts_of(i.id, i.title, i.coordinates, i.values) for i in slate.listings]
        return listings_to_bytes(slate.catalog_version, parts)
    return reply_of_parts(
        bytes.fromhex(slate.catalog_version),
        pack(f"<{len(slate.item_ids)}I", *slate.item_ids),
        encode_boosts(slate.boosts),
        encode(slate.vectors, card.space.scales).tobytes(),
        slate.items,
        slate.payloads,
    )


def slate_from_bytes(data: bytes, card: Card, k: int, collection: str = "") -> Slate:
    """A reply of exactly k whole items: of this card's catalog, or of the collection. Raises
    StaleSpace where it is about another one.
    """
    message = parse_few(pb.RetrieveResponse(), data, (k + 1) * _FIELDS_OF_ITEM)
    version = version_from_bytes(message.catalog_version)
    if isinstance(card, MetricCard):
        return _listings(message, card, version, k, collection)
    if len(message.item_ids) != k or len(message.items) != k or message.listings:
        raise Malformed(f"the answer has {len(message.item_ids)} items, {k} were asked for")
    if version != card.catalog_version:
        raise StaleSpace
    if any(item >= card.n_items for item in message.item_ids):
        raise OutOfRange("an item id", f"below the number of items, {card.n_items}")
    if any(len(payload) > MAX_PAYLOAD for payload in message.payloads):
        raise OutOfRange("a payload", f"at most {MAX_PAYLOAD} bytes")
    if len(message.boosts) != k:
        raise Malformed("the boosts of an answer are not one an item")
    vectors = decode(message.codes, card.space.scales, k)
    items = tuple([Item(i.title, i.year or None, tuple(i.genres)) for i in message.items])
    ids, payloads = tuple(message.item_ids), tuple(message.payloads)
    return Slate(version, ids, vectors, decode_boosts(message.boosts), items, payloads)


def _listings(
    message: pb.RetrieveResponse, card: MetricCard, version: str, k: int, collection: str
) -> Slate:
    asked = card.collection(collection)
    listings = metric.listings_from_messages(message.listings)
    others = (message.item_ids, message.boosts, message.codes, message.items, message.payloads)
    if len(listings) != k or any(others):
        raise Malformed(f"the answer has {len(listings)} whole items, {k} were asked for")
    if version != asked.version:
        raise StaleSpace
    for each in listings:
        asked.check(each, card.space)
    return Slate.of_listings(version, listings)


def card_to_bytes(card: Card) -> bytes:
    """The model card on the wire."""
    if isinstance(card, MetricCard):
        return metric.card_to_message(card).SerializeToString()
    return card_to_message(card).SerializeToString()


def card_to_message(card: ModelCard) -> pb.GetModelCardResponse:
    """The card of a space of tastes."""
    rule, table = card.rule, card.utility_table
    return pb.GetModelCardResponse(
        space=space_to_message(card.space),
        catalog_version=bytes.fromhex(card.catalog_version),
        n_items=card.n_items,
        max_slate_size=card.max_slate_size,
        source=card.source,
        simulated=card.simulated,
        rule=pb.ServingRule(name=rule.kind, epsilon=rule.epsilon, k=rule.k, prior=rule.prior),
        n_starter=card.n_starter,
        utility_table=None if table is None else utility_table_to_message(table),
    )


def card_from_bytes(data: bytes) -> ModelCard:
    """A card of a space of tastes."""
    return card_from_message(parse_few(pb.GetModelCardResponse(), data, FIELDS_OF_CARD))


def card_from_message(message: pb.GetModelCardResponse) -> ModelCard:
    """A card of a space of tastes; its space version is computed here, never taken on trust."""
    if message.WhichOneof("kind") == "metric_space":
        raise OtherKind(
            "this server has collections of places, and no catalog of titles", places=True
        )
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
        n_starter=message.n_starter,
        utility_table=(
            utility_table_from_message(message.utility_table)
            if message.HasField("utility_table")
            else None
        ),
    )


def metric_card_from_bytes(data: bytes) -> MetricCard:
    """A card of a metric space."""
    message = parse_few(pb.GetModelCardResponse(), data, FIELDS_OF_CARD)
    kind = message.WhichOneof("kind")
    if kind is None:
        raise OutOfRange("the space of this server", "there")
    if kind != "metric_space":
        raise OtherKind("this server has a catalog of titles, and no collections of places")
    return metric.card_from_message(message)


def piece_from_bytes(data: bytes) -> bytes:
    """A piece of a file that devices hold."""
    piece = parse_few(pb.GetHeldResponse(), data, 1).data
    if len(piece) > PIECE_BYTES:
        raise Malformed("a piece of a held file is too large")
    return piece


def parse_few(message: _Message, data: bytes, most: int) -> _Message:
    """As `parse`, of at most so many fields, which are counted before anything is made of them."""
    check_count(type(message), data, most)
    return parse(message, data)


def parse(message: _Message, data: bytes) -> _Message:
    """The message that the bytes are. Raises Malformed."""
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Malformed("not a message of the expected type") from None
    return message
