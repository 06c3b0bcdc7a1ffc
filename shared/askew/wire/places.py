"""Metric spaces, their collections and the items of their replies as bytes, without numpy.

Every `..._from_bytes` raises a WireError for anything but a well-formed message, and a core type
is valid because it exists. No function here trusts a length, a shape, an order or a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from askew.catalog.item import Attribute, AttributeKind, Listing, Value
from askew.errors import Malformed, OtherKind, OutOfRange, ParameterError, StaleSpace
from askew.protocol.cards import (
    ALL_NUMBER,
    CollectionCard,
    MetricCard,
    MetricRuleKind,
    PlaceSlate,
    ServingMode,
    Want,
)
from askew.protocol.signal import Query
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace
from askew.wire.messages import (
    FIELDS_OF_CARD,
    FIELDS_OF_ITEM,
    opening,
    parse_few,
    version_from_bytes,
)
from askew.wire.v1 import retrieval_pb2 as pb

if TYPE_CHECKING:
    from askew.protocol.collection import Collection  # brings numpy


def places_to_bytes(slate: PlaceSlate, asked: CollectionCard, *, held: bool = False) -> bytes:
    """Return the reply on the wire, a RetrieveResponse, which names its collection by number. Its
    size is that of its items' words, which follow from the signal. held: the device holds the rows,
    and gets of each item its id and live values.
    """
    live = [at for at, attribute in enumerate(asked.attributes) if attribute.live]
    listings = []
    for listing in slate.listings:
        if held:
            values = [_value_to_message(listing.values[at]) for at in live]
            listings.append(pb.Listing(item=listing.id, values=values))
            continue
        listings.append(
            pb.Listing(
                item=listing.id,
                title=listing.title,
                coordinates=listing.coordinates,
                values=map(_value_to_message, listing.values),
            )
        )
    return pb.RetrieveResponse(
        catalog_version=bytes.fromhex(slate.catalog_version),
        listings=listings,
        collection=asked.number,
    ).SerializeToString()


def all_places_to_bytes(replies: Iterable[bytes]) -> bytes:
    """Return the reply to a question for ALL: a RetrieveResponse whose `collections` are these
    replies, encoded already, one a collection in the card's order.
    """
    kind = pb.RetrieveResponse
    return b"".join([opening(kind, "collections", len(reply)) + reply for reply in replies])


def places_from_bytes(
    data: bytes, card: MetricCard, query: Query, rows: Mapping[str, Collection] | None = None
) -> tuple[PlaceSlate, ...]:
    """Return the answers to a question: of the collection that it names, or of each for ALL, in the
    card's order, of exactly k whole items, or all of a smaller collection's.

    rows: held rows, by name, which complete an answer to a question that holds_rows. Raises
    StaleSpace for another version of what was asked, Malformed for another collection, or another
    WireError.
    """
    questions = card.questions(query)
    most = sum((question.k + 1) * FIELDS_OF_ITEM for question in questions)
    message = parse_few(pb.RetrieveResponse(), data, most)
    parts = [message]
    if query.collection == ALL_NUMBER:
        parts = list(message.collections)
        names = [field.name for field, _ in message.ListFields()]
        if len(parts) != len(questions) or names != ["collections"]:
            raise Malformed("the answer has not one part for each collection")
    return tuple(
        _slate(part, card, question, rows if query.holds_rows else None)
        for part, question in zip(parts, questions, strict=True)
    )


def _slate(
    message: pb.RetrieveResponse,
    card: MetricCard,
    query: Query,
    rows: Mapping[str, Collection] | None,
) -> PlaceSlate:
    version = version_from_bytes(message.catalog_version)
    asked = card.collection(query.collection)
    if not message.HasField("collection") or message.collection != asked.number:
        raise Malformed("the answer is of another collection than was asked")
    held = rows.get(asked.name) if rows else None
    if held is None:  # what belongs to their collection is checked by its card
        listings = tuple(
            [
                Listing(m.item, m.title, tuple(m.coordinates), tuple([_value(v) for v in m.values]))
                for m in message.listings
            ]
        )
    else:
        listings = _joined(message.listings, held)
    of_titles = message.item_ids, message.boosts, message.codes, message.items
    if len(listings) != query.k or message.collections or any(of_titles):
        raise Malformed(f"the answer has {len(listings)} whole items, {query.k} were asked for")
    if version != asked.version:
        raise StaleSpace
    for listing in listings:
        asked.check(listing, card.space)
    return PlaceSlate(version, listings)


def metric_card_to_bytes(card: MetricCard) -> bytes:
    """Return the card, all that a device learns before it asks, as a GetModelCardResponse."""
    return pb.GetModelCardResponse(
        metric_space=_space_to_message(card.space),
        max_slate_size=card.max_slate_size,
        rule=pb.ServingRule(name=card.rule, prior=card.density),
        collections=[_collection_to_message(collection) for collection in card.collections],
    ).SerializeToString()


def metric_card_from_bytes(data: bytes) -> MetricCard:
    """Return a card of a metric space: its numbers are checked, none sets what a device promises.

    Raises OtherKind for a card of tastes, Malformed for other bytes, and OutOfRange beyond the
    limits, also for no bytes.
    """
    message = parse_few(pb.GetModelCardResponse(), data, FIELDS_OF_CARD)
    kind, rule = message.WhichOneof("kind"), message.rule
    if kind is None:
        raise OutOfRange("the space of this server", "there")
    if kind != "metric_space":
        raise OtherKind("this server has a catalog of titles, and no collections of places")
    if rule.name not in set(MetricRuleKind):
        raise OutOfRange("the serving rule", f"one of {', '.join(MetricRuleKind)}")
    return MetricCard(
        space=_space_from_message(message.metric_space),
        collections=tuple(
            [_collection_from_message(collection) for collection in message.collections]
        ),
        max_slate_size=message.max_slate_size,
        rule=MetricRuleKind(rule.name),
        density=rule.prior,
    )


def _joined(messages: Sequence[pb.Listing], held: Collection) -> tuple[Listing, ...]:
    attributes = held.card.attributes
    live = [at for at, attribute in enumerate(attributes) if attribute.live]
    if any(m.item >= len(held) or len(m.values) != len(live) for m in messages):
        raise Malformed("the answer has not the live values of rows that are held")
    listings = []
    for row, message in zip(held.listings(m.item for m in messages), messages, strict=True):
        values = [*row.values]
        for at, value in zip(live, message.values, strict=True):
            values[at] = _value(value)
        listings.append(Listing(row.id, row.title, row.coordinates, tuple(values)))
    return tuple(listings)


def _space_to_message(space: MetricSpace) -> pb.MetricSpace:
    if isinstance(space, MapSpace):
        a = space.area
        return pb.MetricSpace(
            region=pb.Region(south=a.south, west=a.west, north=a.north, east=a.east)
        )
    axes = [
        pb.Axis(name=a.name, unit=a.unit, low=a.low, high=a.high, scale=a.scale) for a in space.axes
    ]
    return pb.MetricSpace(axes=pb.Axes(axes=axes))


def _space_from_message(message: pb.MetricSpace) -> MetricSpace:
    match message.WhichOneof("kind"):
        case "region":
            r = message.region
            try:
                return MapSpace(Area(r.south, r.west, r.north, r.east))
            except ParameterError as error:
                raise OutOfRange(error.name, error.limit) from None
        case "axes":
            axes = message.axes.axes
            return AxisSpace(tuple([Axis(a.name, a.unit, a.low, a.high, a.scale) for a in axes]))
        case _:
            raise Malformed("the space is neither a map nor axes")


def _collection_to_message(card: CollectionCard) -> pb.Collection:
    return pb.Collection(
        name=card.name,
        version=bytes.fromhex(card.version),
        n_items=card.n_items,
        source=card.source,
        simulated=card.simulated,
        item_bytes=card.item_bytes,
        mode=card.mode,
        number=card.number,
        attributes=[
            pb.Attribute(name=a.name, kind=a.kind, live=a.live, unit=a.unit, words=a.words)
            for a in card.attributes
        ],
        wants=[
            pb.Want(attribute=w.attribute, weight=w.weight, word=w.word, rate=w.rate)
            for w in card.wants
        ],
    )


def _collection_from_message(message: pb.Collection) -> CollectionCard:
    if message.mode not in set(ServingMode):
        raise OutOfRange("the mode of a collection", f"one of {', '.join(ServingMode)}")
    return CollectionCard(
        name=message.name,
        version=version_from_bytes(message.version),
        n_items=message.n_items,
        source=message.source,
        simulated=message.simulated,
        attributes=tuple([_attribute(attribute) for attribute in message.attributes]),
        item_bytes=message.item_bytes,
        wants=tuple([Want(w.attribute, w.weight, w.word, w.rate) for w in message.wants]),
        mode=ServingMode(message.mode),
        number=message.number,
    )


def _attribute(message: pb.Attribute) -> Attribute:
    if message.kind not in list(AttributeKind):
        raise OutOfRange("the kind of an attribute", f"one of {', '.join(AttributeKind)}")
    kind, words = AttributeKind(message.kind), tuple(message.words)
    return Attribute(message.name, kind, message.live, message.unit, words)


def _value(message: pb.AttributeValue) -> Value:
    match message.WhichOneof("value"):
        case "text":
            return message.text
        case "number":
            return message.number
        case "flag":
            return message.flag
        case _:
            return None


def _value_to_message(value: Value) -> pb.AttributeValue:
    if isinstance(value, bool):
        return pb.AttributeValue(flag=value)
    if isinstance(value, str):
        return pb.AttributeValue(text=value)
    return pb.AttributeValue(number=value) if value is not None else pb.AttributeValue()
