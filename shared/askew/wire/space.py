"""Feature spaces on the wire. Their version is computed where they arrive, never sent."""

from __future__ import annotations

import numpy as np

from askew.encoder import KNOTS, Buckets, Encoder
from askew.errors import Malformed
from askew.vectors import FeatureSpace, RatingScale
from askew.wire.floats import floats_from_bytes, floats_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb


def space_to_message(space: FeatureSpace) -> pb.FeatureSpace:
    """All that a space's version names."""
    encoder, buckets = space.encoder, space.buckets
    return pb.FeatureSpace(
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
        bucket_directions=floats_to_bytes(buckets.directions) if buckets else b"",
        bucket_biases=floats_to_bytes(buckets.biases) if buckets else b"",
    )


def space_from_message(message: pb.FeatureSpace) -> FeatureSpace:
    """A space that a device may use. Raises Malformed for arrays that do not fit together, and
    OutOfRange as the space itself.
    """
    dimension, rest = divmod(len(message.knots), KNOTS)
    ranking, odd = divmod(len(message.origin), 4)
    if rest or odd:
        raise Malformed("the knots or the origin of a feature space have an odd length")
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
    return FeatureSpace(scale, encoder, scales, _buckets(message, ranking))


def _buckets(message: pb.FeatureSpace, ranking: int) -> Buckets | None:
    if not message.bucket_directions and not message.bucket_biases:
        return None
    count = len(message.bucket_biases) // 4
    return Buckets(
        floats_from_bytes("bucket directions", message.bucket_directions, (count, ranking)),
        floats_from_bytes("bucket biases", message.bucket_biases, (count,)),
    )
