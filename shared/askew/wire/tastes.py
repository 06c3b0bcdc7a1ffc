"""Tastes as bytes: the card with its space, and replies of whole items.

Every `..._from_bytes` raises a WireError for anything but a well-formed message, and a core type
is valid because it exists. No function here trusts a length, a shape, an order or a number. The
versions of spaces are computed where they arrive, never sent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import Item
from askew.errors import Malformed, OtherKind, OutOfRange, StaleSpace
from askew.limits import MAX_DIMENSION
from askew.protocol.cards import ModelCard
from askew.protocol.ranking import Slate
from askew.spaces.item_codes import decode, decode_boosts, encode, encode_boosts
from askew.spaces.vectors import KNOTS, Encoder, FeatureSpace, RatingScale
from askew.wire.messages import FIELDS_OF_CARD, FIELDS_OF_ITEM, parse_few, version_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

MAX_ITEMS = 2_000_000
_Floats = NDArray[np.float32]


def slate_to_bytes(slate: Slate, card: ModelCard) -> bytes:
    """Return the reply on the wire, a RetrieveResponse. Its size follows from its items, and so
    from the signal. Raises OutOfRange for vectors or boosts that codes cannot say.
    """
    items = [pb.Item(title=i.title, year=i.year or 0, genres=i.genres) for i in slate.items]
    return pb.RetrieveResponse(
        catalog_version=bytes.fromhex(slate.catalog_version),
        item_ids=slate.item_ids,
        boosts=encode_boosts(slate.boosts),
        codes=encode(slate.vectors, card.space.scales).tobytes(),
        items=items,
    ).SerializeToString()


def slate_from_bytes(data: bytes, card: ModelCard, k: int) -> Slate:
    """Return a reply of exactly k whole items of this card's catalog.

    Raises StaleSpace where it is about another catalog, OutOfRange for items beyond the limits, and
    Malformed for another number of items or other bytes.
    """
    message = parse_few(pb.RetrieveResponse(), data, (k + 1) * FIELDS_OF_ITEM)
    version = version_from_bytes(message.catalog_version)
    places = message.listings or message.collections or message.HasField("collection")
    if len(message.item_ids) != k or len(message.items) != k or places:
        raise Malformed(f"the answer has {len(message.item_ids)} items, {k} were asked for")
    if version != card.catalog_version:
        raise StaleSpace
    if any(item >= card.n_items for item in message.item_ids):
        raise OutOfRange("an item id", f"below the number of items, {card.n_items}")
    if len(message.boosts) != k:
        raise Malformed("the boosts of an answer are not one an item")
    vectors = decode(message.codes, card.space.scales, k)
    items = tuple([Item(i.title, i.year or None, tuple(i.genres)) for i in message.items])
    boosts = decode_boosts(message.boosts)
    return Slate(version, tuple(message.item_ids), vectors, boosts, items)


def card_to_bytes(card: ModelCard) -> bytes:
    """Return the bytes, of a GetModelCardResponse, of a card of tastes."""
    return card_to_message(card).SerializeToString()


def card_to_message(card: ModelCard) -> pb.GetModelCardResponse:
    """Return the message of a card of tastes; the version of its space is not in it."""
    return pb.GetModelCardResponse(
        space=_space_to_message(card.space),
        catalog_version=bytes.fromhex(card.catalog_version),
        n_items=card.n_items,
        max_slate_size=card.max_slate_size,
        source=card.source,
        simulated=card.simulated,
        n_default=card.n_default,
        median_distance=card.median_distance,
    )


def card_from_bytes(data: bytes) -> ModelCard:
    """Return a card of tastes. Raises OtherKind for a card of places, Malformed for other bytes,
    and OutOfRange beyond the limits, also for no bytes.
    """
    return card_from_message(parse_few(pb.GetModelCardResponse(), data, FIELDS_OF_CARD))


def card_from_message(message: pb.GetModelCardResponse) -> ModelCard:
    """Return a card of tastes, whose space version is computed here. Raises OtherKind for a card of
    places, Malformed for arrays that do not fit, and OutOfRange beyond the limits.
    """
    if message.WhichOneof("kind") == "metric_space":
        raise OtherKind(
            "this server has collections of places, and no catalog of titles", places=True
        )
    if not 1 <= message.n_items <= MAX_ITEMS:
        raise OutOfRange("the number of items", f"from 1 to {MAX_ITEMS}")
    return ModelCard(
        space=_space_from_message(message.space),
        catalog_version=version_from_bytes(message.catalog_version),
        n_items=message.n_items,
        max_slate_size=message.max_slate_size,
        source=message.source,
        simulated=message.simulated,
        n_default=message.n_default,
        median_distance=message.median_distance,
    )


def _space_to_message(space: FeatureSpace) -> pb.FeatureSpace:
    encoder = space.encoder
    return pb.FeatureSpace(
        lowest_rating=space.scale.lowest,
        highest_rating=space.scale.highest,
        like_from=space.scale.like_from,
        knots=encoder.knots.ravel().tolist(),
        directions=_floats_to_bytes(encoder.directions),
        origin=_floats_to_bytes(encoder.origin),
        clip=encoder.clip,
        least_likes=encoder.least_likes,
        unit=encoder.unit,
        scales=_floats_to_bytes(space.scales),
    )


def _space_from_message(message: pb.FeatureSpace) -> FeatureSpace:
    dimension, rest = divmod(len(message.knots), KNOTS)
    ranking, odd = divmod(len(message.origin), 4)
    if rest or odd:
        raise Malformed("the knots or the origin of a feature space have an odd length")
    if dimension > MAX_DIMENSION:
        raise OutOfRange("the number of directions", f"from 1 to {MAX_DIMENSION}")
    encoder = Encoder(
        directions=_floats_from_bytes("directions", message.directions, (ranking, dimension)),
        origin=_floats_from_bytes("origin", message.origin, (ranking,)),
        knots=np.array(message.knots).reshape(dimension, KNOTS),
        clip=message.clip,
        least_likes=message.least_likes,
        unit=message.unit,
    )
    scale = RatingScale(message.lowest_rating, message.highest_rating, message.like_from)
    scales = _floats_from_bytes("scales", message.scales, (ranking,))
    return FeatureSpace(scale, encoder, scales)


def _floats_to_bytes(values: _Floats) -> bytes:
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


def _floats_from_bytes(name: str, data: bytes, shape: tuple[int, ...]) -> _Floats:
    size = 4 * int(np.prod(shape, dtype=np.int64))
    if len(data) != size:
        raise Malformed(f"expected {size} bytes of {name}, got {len(data)}")
    return np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(shape)
