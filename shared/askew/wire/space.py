"""Feature spaces on the wire. Their version is computed where they arrive, never sent."""

from __future__ import annotations

import numpy as np

from askew.errors import Malformed, OutOfRange
from askew.limits import MAX_DIMENSION
from askew.spaces.buckets import MAX_MEANINGS, Buckets, Meanings
from askew.spaces.encoder import KNOTS, Encoder
from askew.spaces.item_codes import check_scales, decode, decode_boosts, encode, encode_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew.wire.floats import Floats, floats_from_bytes, floats_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb


def space_to_message(space: FeatureSpace) -> pb.FeatureSpace:
    """All that a space's version names."""
    encoder = space.encoder
    message = pb.FeatureSpace(
        lowest_rating=space.scale.lowest,
        highest_rating=space.scale.highest,
        like_from=space.scale.like_from,
        knots=encoder.knots.ravel().tolist(),
        directions=floats_to_bytes(encoder.directions),
        origin=floats_to_bytes(encoder.origin),
        clip=encoder.clip,
        least_likes=encoder.least_likes,
        unit=encoder.unit,
        scales=floats_to_bytes(space.scales),
    )
    match space.buckets:
        case Buckets() as buckets:
            message.bucket_directions = floats_to_bytes(buckets.directions)
            message.bucket_biases = floats_to_bytes(buckets.biases)
        case Meanings() as slates:
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
        directions=floats_from_bytes("directions", message.directions, (ranking, dimension)),
        origin=floats_from_bytes("origin", message.origin, (ranking,)),
        knots=np.array(message.knots).reshape(dimension, KNOTS),
        clip=message.clip,
        least_likes=message.least_likes,
        unit=message.unit,
    )
    scale = RatingScale(message.lowest_rating, message.highest_rating, message.like_from)
    scales = floats_from_bytes("scales", message.scales, (ranking,))
    check_scales(scales)  # before anything is decoded by them
    return FeatureSpace(scale, encoder, scales, _buckets(message, scales))


def _buckets(message: pb.FeatureSpace, scales: Floats) -> Buckets | Meanings | None:
    linear = message.bucket_directions or message.bucket_biases
    slates = message.slate_codes or message.slate_boosts or message.slate_size
    if linear and slates:
        raise Malformed("the buckets of a feature space are of two kinds")
    if linear:
        shape = (len(message.bucket_biases) // 4, len(scales))
        return Buckets(
            floats_from_bytes("bucket directions", message.bucket_directions, shape),
            floats_from_bytes("bucket biases", message.bucket_biases, shape[:1]),
        )
    return _meanings(message, scales) if slates else None


def _meanings(message: pb.FeatureSpace, scales: Floats) -> Meanings:
    n, size = len(message.slate_boosts), message.slate_size
    if not size or n % size:
        raise Malformed("the slates of a feature space are not whole")
    if n > MAX_MEANINGS:
        raise OutOfRange("the items of all slates", f"at most {MAX_MEANINGS}")
    vectors = decode(message.slate_codes, scales, n)
    boosts = decode_boosts(message.slate_boosts)
    return Meanings(vectors.reshape(-1, size, len(scales)), boosts.reshape(-1, size))
