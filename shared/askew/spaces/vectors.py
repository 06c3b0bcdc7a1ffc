"""The feature space, and the profile that lives in it.

Shapes: D ranking dimensions, d signal dimensions. Everything about a space is public; a profile is
private and shows nothing of itself when printed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import Metric
from askew.errors import DimensionMismatch, OutOfRange, ProfileError
from askew.limits import MAX_BUCKETS, MAX_RATING, VERSION_BYTES
from askew.spaces.buckets import Buckets, SlateCodebook
from askew.spaces.encoder import Encoder
from askew.spaces.item_codes import check_scales

# Powers of two and thrice those. The number is sent with a bucket, so a space that was made for one
# device could mark it by any other one.
BUCKET_COUNTS = tuple(
    sorted(m for base in (2, 3) for a in range(12) if (m := base << a) <= MAX_BUCKETS)
)


@dataclass(frozen=True)
class RatingScale:
    """The scale on which people rate. A rating from like_from on is a like."""

    lowest: float
    highest: float
    like_from: float

    def __post_init__(self) -> None:
        # Written so that NaN is refused too.
        if not -MAX_RATING <= self.lowest < self.like_from <= self.highest <= MAX_RATING:
            limit = f"within {MAX_RATING:g} of zero, lowest < like_from <= highest"
            raise OutOfRange("a rating scale", limit)

    @classmethod
    def between(cls, lowest: float, highest: float) -> RatingScale:
        """The scale on which the upper quarter is a like: 4 and 5 of 1 to 5."""
        return cls(lowest, highest, lowest + 0.75 * (highest - lowest))

    def is_like(self, rating: float) -> bool:
        """Whether a rating is a like; others only mark a thing as seen. Raises ProfileError."""
        if not self.lowest <= rating <= self.highest:
            raise ProfileError(f"a rating must be between {self.lowest:g} and {self.highest:g}")
        return rating >= self.like_from


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Where points and signals live. Public; its version names all that it says.

    Points lie in the box [0, unit]**d of the encoder. Unit of distance: the median l1 distance
    between two of the people the model was trained on, or more, by the server's word. scales: of
    the codes that item vectors are kept in (`askew.spaces.item_codes`), (D,) float32. buckets: for
    randomized response, by a linear encoder or by the vectors of slates, or None where the model
    offers none. Two spaces are equal when their versions are.
    """

    scale: RatingScale
    encoder: Encoder
    scales: NDArray[np.float32] = field(repr=False)
    buckets: Buckets | SlateCodebook | None = None
    metric: Metric = "l1"

    def __post_init__(self) -> None:
        """Raises OutOfRange when the buckets or scales are of other tastes than the encoder's, or
        the buckets are not so many as BUCKET_COUNTS says.
        """
        D = self.encoder.ranking_dimension  # noqa: N806 - as in the formulas
        if self.scales.shape != (D,) or self.scales.dtype != np.float32:
            raise OutOfRange("the scales of item vectors", f"float32, {D} of them")
        check_scales(self.scales)
        if self.buckets is not None and self.buckets.ranking_dimension != D:
            raise OutOfRange("the directions of buckets", f"of dimension {D}")
        if self.n_buckets and self.n_buckets not in BUCKET_COUNTS:
            raise OutOfRange(
                "the number of buckets", f"one of {', '.join(map(str, BUCKET_COUNTS))}"
            )

    @property
    def dimension(self) -> int:
        """The number d of coordinates of a point."""
        return self.encoder.dimension

    @property
    def ranking_dimension(self) -> int:
        """The number D of coordinates of a taste."""
        return self.encoder.ranking_dimension

    @property
    def n_buckets(self) -> int:
        """The number M of buckets, 0 where there are none."""
        return len(self.buckets) if self.buckets is not None else 0

    @property
    def diameter(self) -> Fraction:
        """The largest distance between two points; epsilon * diameter is the plain local DP."""
        return self.encoder.reach().diameter

    @cached_property
    def version(self) -> str:
        """32 hexadecimal digits that no other space shares: a digest of every field."""
        encoder, scale = self.encoder, self.scale
        scalars = (encoder.clip, encoder.least_likes, encoder.unit)
        limits = (scale.lowest, scale.highest, scale.like_from)
        arrays: list[NDArray[np.floating]] = [
            encoder.directions,
            encoder.origin,
            encoder.knots,
            self.scales,
        ]
        if self.buckets is not None:
            arrays += self.buckets.arrays
        # As floats throughout, since 1 and 1.0 are the same space and not the same text.
        head = [self.metric, [*map(float, (*scalars, *limits))], [a.shape for a in arrays]]
        digest = hashlib.sha256(json.dumps(head).encode())
        for array in arrays:
            digest.update(array.tobytes())
        return digest.hexdigest()[: 2 * VERSION_BYTES]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureSpace) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)


@dataclass(frozen=True, eq=False)
class Profile:
    """The private vectors of one person: taste (D,), which ranks, point (d,), which is bent by
    noise, seen (n, D), of the items that they have rated, and liked, the rows of liked ones. None
    leaves the device.

    Raises DimensionMismatch for other shapes, ProfileError for NaN or an infinity.
    """

    space: FeatureSpace
    taste: NDArray[np.float64] = field(repr=False)
    point: NDArray[np.float64] = field(repr=False)
    seen: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), "f4"), repr=False)
    liked: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, "i8"), repr=False)

    def __post_init__(self) -> None:
        sizes = {"taste": self.space.ranking_dimension, "point": self.space.dimension}
        for name, size in sizes.items():
            vector = np.array(getattr(self, name), dtype=np.float64)
            if vector.shape != (size,):
                raise DimensionMismatch(vector.size, size)
            if not np.isfinite(vector).all():
                raise ProfileError("a profile must be finite")
            if name == "point":
                vector = np.clip(vector, 0.0, self.space.encoder.unit)
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)

    @property
    def divisor(self) -> float:
        """By which sums over likes are divided: sqrt(max(n_liked, least_likes))."""
        return math.sqrt(max(len(self.liked), self.space.encoder.least_likes))

    @property
    def bucket(self) -> int:
        """The bucket of the taste, or the slate that suits it best of what is not seen: as private
        as the taste. 0 in a space without buckets.
        """
        match self.space.buckets:
            case SlateCodebook() as codebook:
                return codebook.of(self.taste, self.seen)
            case Buckets() as buckets:
                return buckets.of(self.taste)
            case None:
                return 0


def fold_in(
    ratings: Mapping[int, float],
    vectors: NDArray[np.float32],
    space: FeatureSpace,
    *,
    contributions: NDArray[np.float64] | None = None,
) -> Profile:
    """The profile of one person, from their own ratings {item: rating} and public vectors (n, D).

        taste = sum of v_i over liked items / sqrt(max(n_liked, least_likes))

    The point is the encoder's, of the same likes (`askew.spaces.encoder`). The square root lets
    more likes say more, and the floor keeps a few from saying too much. Who likes nothing has a
    profile like anybody else: a taste of zeros. contributions: the encoder's, of all vectors, if
    they are made already; they take the longest and do not depend on the person. Raises
    ProfileError for a rating off the scale.
    """
    liked = [item for item, rating in ratings.items() if space.scale.is_like(rating)]
    rows = np.array(liked, dtype=np.int64)
    encoder = space.encoder
    total = vectors[rows].sum(axis=0, dtype=np.float64)  # (D,)
    taste = total / np.sqrt(max(len(rows), encoder.least_likes))
    if contributions is None:
        contributions = encoder.contributions(vectors)
    seen = vectors[np.array(list(ratings), dtype=np.int64)]
    return Profile(space, taste, encoder.encode(contributions[rows]), seen, rows)
