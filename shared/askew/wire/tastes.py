"""Tastes as bytes: the card with its space and its utility table, and replies of whole items.

Every `..._from_bytes` raises a WireError for anything but a well-formed message, and a core type
is valid because it exists. No function here trusts a length, a shape, an order or a number. The
versions of spaces are computed where they arrive, never sent.
"""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import Item
from askew.dp.privacy import rational
from askew.errors import Malformed, OtherKind, OutOfRange, StaleSpace
from askew.limits import MAX_DIMENSION, MAX_PAYLOAD
from askew.protocol.model_card import ModelCard, ServingRule
from askew.protocol.ranking import Slate
from askew.protocol.utility_table import (
    BASELINES,
    MECHANISMS,
    SERVED,
    Baseline,
    BaselineName,
    MechanismName,
    ModeUtility,
    RuleKind,
    ServingMode,
    UtilityTable,
)
from askew.spaces.buckets import MAX_CODEBOOK_ITEMS, Buckets, SlateCodebook
from askew.spaces.encoder import KNOTS, Encoder
from askew.spaces.item_codes import check_scales, decode, decode_boosts, encode, encode_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew.wire.messages import FIELDS_OF_CARD, FIELDS_OF_ITEM, parse_few, version_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

MAX_ITEMS = 2_000_000
_Floats = NDArray[np.float32]


def slate_to_bytes(slate: Slate, card: ModelCard) -> bytes:
    """The reply on the wire. Its size is that of its items' words, which follow from the signal."""
    items = [pb.Item(title=i.title, year=i.year or 0, genres=i.genres) for i in slate.items]
    return pb.RetrieveResponse(
        catalog_version=bytes.fromhex(slate.catalog_version),
        item_ids=slate.item_ids,
        boosts=encode_boosts(slate.boosts),
        codes=encode(slate.vectors, card.space.scales).tobytes(),
        items=items,
        payloads=slate.payloads,
    ).SerializeToString()


def slate_from_bytes(data: bytes, card: ModelCard, k: int) -> Slate:
    """A reply of exactly k whole items of this card's catalog. Raises StaleSpace where it is about
    another one.
    """
    message = parse_few(pb.RetrieveResponse(), data, (k + 1) * FIELDS_OF_ITEM)
    version = version_from_bytes(message.catalog_version)
    places = message.listings or message.collections
    if len(message.item_ids) != k or len(message.items) != k or places:
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


def card_to_bytes(card: ModelCard) -> bytes:
    """The card on the wire."""
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
        n_default=card.n_default,
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
        n_default=message.n_default,
        utility_table=(
            utility_table_from_message(message.utility_table)
            if message.HasField("utility_table")
            else None
        ),
    )


def space_to_message(space: FeatureSpace) -> pb.FeatureSpace:
    """All that a space's version names."""
    encoder = space.encoder
    message = pb.FeatureSpace(
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
    match space.buckets:
        case Buckets() as buckets:
            message.bucket_directions = _floats_to_bytes(buckets.directions)
            message.bucket_biases = _floats_to_bytes(buckets.biases)
        case SlateCodebook() as slates:
            items = slates.vectors.reshape(-1, space.ranking_dimension)
            message.slate_codes = encode(items, space.scales).tobytes()
            message.slate_boosts = encode_boosts(slates.boosts)
            message.slate_size = slates.boosts.shape[1]
        case None:
            pass
    return message


def space_from_message(message: pb.FeatureSpace) -> FeatureSpace:
    """A space that a device may use. Raises Malformed for arrays that do not fit together, and
    OutOfRange as the space itself.
    """
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
    check_scales(scales)  # before anything is decoded by them
    return FeatureSpace(scale, encoder, scales, _buckets(message, scales))


def _buckets(message: pb.FeatureSpace, scales: _Floats) -> Buckets | SlateCodebook | None:
    linear = message.bucket_directions or message.bucket_biases
    slates = message.slate_codes or message.slate_boosts or message.slate_size
    if linear and slates:
        raise Malformed("the buckets of a feature space are of two kinds")
    if linear:
        shape = (len(message.bucket_biases) // 4, len(scales))
        return Buckets(
            _floats_from_bytes("bucket directions", message.bucket_directions, shape),
            _floats_from_bytes("bucket biases", message.bucket_biases, shape[:1]),
        )
    return _slate_codebook(message, scales) if slates else None


def _slate_codebook(message: pb.FeatureSpace, scales: _Floats) -> SlateCodebook:
    n, size = len(message.slate_boosts), message.slate_size
    if not size or n % size:
        raise Malformed("the slates of a feature space are not whole")
    if n > MAX_CODEBOOK_ITEMS:
        raise OutOfRange("the items of all slates", f"at most {MAX_CODEBOOK_ITEMS}")
    vectors = decode(message.slate_codes, scales, n)
    boosts = decode_boosts(message.slate_boosts)
    return SlateCodebook(vectors.reshape(-1, size, len(scales)), boosts.reshape(-1, size))


def utility_table_to_message(table: UtilityTable) -> pb.UtilityTable:
    """The table of a card."""
    return pb.UtilityTable(
        rows=map(_row_to_message, table.rows),
        proposed=table.proposed,
        baselines=[pb.Baseline(**asdict(each)) for each in table.baselines],
    )


def utility_table_from_message(message: pb.UtilityTable) -> UtilityTable:
    """Raises OutOfRange or Malformed, as the table itself."""
    baselines = tuple(
        Baseline(_baseline(each.name), each.ndcg, each.ndcg_error, each.recall, each.recall_error)
        for each in message.baselines
    )
    return UtilityTable(tuple(map(_row_from_message, message.rows)), message.proposed, baselines)


def _row_to_message(offer: ModeUtility) -> pb.ModeUtility:
    return pb.ModeUtility(
        mode=offer.mode,
        held=offer.held,
        size=offer.size,
        ndcg=offer.ndcg,
        gain=offer.gain,
        gain_error=offer.gain_error,
        mechanism=offer.mechanism or "",
        epsilon=str(offer.epsilon) if offer.epsilon else "",
        k=offer.k,
        equivalent_items=offer.equivalent_items,
        ndcg_error=offer.ndcg_error,
        recall=offer.recall,
        recall_error=offer.recall_error,
    )


def _row_from_message(message: pb.ModeUtility) -> ModeUtility:
    return ModeUtility(
        mode=_mode(message.mode),
        held=message.held,
        size=message.size,
        ndcg=message.ndcg,
        gain=message.gain,
        gain_error=message.gain_error,
        mechanism=_mechanism(message.mechanism),
        epsilon=rational(message.epsilon) if message.epsilon else Fraction(0),
        k=message.k,
        equivalent_items=message.equivalent_items,
        ndcg_error=message.ndcg_error,
        recall=message.recall,
        recall_error=message.recall_error,
    )


def _mode(name: str) -> ServingMode:
    try:
        return ServingMode(name)
    except ValueError:
        raise OutOfRange("the mode of a row", f"one of {', '.join(ServingMode)}") from None


def _baseline(name: str) -> BaselineName:
    found: BaselineName | None = next((each for each in BASELINES if each == name), None)
    if found is None:
        raise OutOfRange("the name of a baseline", f"one of {', '.join(BASELINES)}")
    return found


def _mechanism(name: str) -> MechanismName | None:
    found: MechanismName | None = next((each for each in MECHANISMS if each == name), None)
    if found is None and name:
        raise OutOfRange("the mechanism of a row", f"one of {', '.join(MECHANISMS)}, or none")
    return found


def _floats_to_bytes(values: _Floats) -> bytes:
    """Row by row."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


def _floats_from_bytes(name: str, data: bytes, shape: tuple[int, ...]) -> _Floats:
    """An array of this shape. Raises Malformed for another number of bytes."""
    size = 4 * int(np.prod(shape, dtype=np.int64))
    if len(data) != size:
        raise Malformed(f"expected {size} bytes of {name}, got {len(data)}")
    return np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(shape)
