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
from askew.limits import MAX_RATING, VERSION_BYTES
from askew.spaces.encoder import Encoder
from askew.spaces.item_codes import check_scales


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
        """Return the scale on which the upper quarter is a like: 4 and 5 of 1 to 5."""
        return cls(lowest, highest, lowest + 0.75 * (highest - lowest))

    def is_like(self, rating: float) -> bool:
        """Return True if a rating is a like; others only mark a thing as seen. Raises ProfileError
        for a rating off the scale.
        """
        if not self.lowest <= rating <= self.highest:
            raise ProfileError(f"a rating must be between {self.lowest:g} and {self.highest:g}")
        return rating >= self.like_from


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Where points and signals live. Public; its version names all that it says.

    Points lie in the box [0, unit]**d of the encoder. Unit of distance, in l1: one rating.
    In a space that a device enters, it moves a point by at most 1 (`Encoder.one_rating`). scales:
    of the codes that item vectors are kept in (`askew.spaces.item_codes`), (D,) float32. Two spaces
    are equal when their versions are.
    """

    scale: RatingScale
    encoder: Encoder
    scales: NDArray[np.float32] = field(repr=False)
    metric: Metric = "l1"

    def __post_init__(self) -> None:
        """Raise OutOfRange when the scales are of other tastes than the encoder's."""
        D = self.encoder.ranking_dimension  # noqa: N806 - as in the formulas
        if self.scales.shape != (D,) or self.scales.dtype != np.float32:
            raise OutOfRange("the scales of item vectors", f"float32, {D} of them")
        check_scales(self.scales)

    @property
    def dimension(self) -> int:
        """Return the number d of coordinates of a point."""
        return self.encoder.dimension

    @property
    def ranking_dimension(self) -> int:
        """Return the number D of coordinates of a taste."""
        return self.encoder.ranking_dimension

    @property
    def diameter(self) -> Fraction:
        """Return the largest distance of two points; epsilon * diameter is the plain local DP."""
        return self.encoder.diameter

    @cached_property
    def version(self) -> str:
        """Return 32 hexadecimal digits that no other space shares: a digest of every field."""
        encoder, scale = self.encoder, self.scale
        scalars = (encoder.clip, encoder.least_likes, encoder.unit)
        limits = (scale.lowest, scale.highest, scale.like_from)
        arrays: list[NDArray[np.floating]] = [
            encoder.directions,
            encoder.origin,
            encoder.knots,
            self.scales,
        ]
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
    noise, and liked, the rows of liked items. None leaves the device.

    Raises DimensionMismatch for other shapes, ProfileError for NaN or an infinity.
    """

    space: FeatureSpace
    taste: NDArray[np.float64] = field(repr=False)
    point: NDArray[np.float64] = field(repr=False)
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
        """Return what sums over likes are divided by: sqrt(max(n_liked, least_likes))."""
        return math.sqrt(max(len(self.liked), self.space.encoder.least_likes))


def fold_in(
    ratings: Mapping[int, float],
    vectors: NDArray[np.float32],
    space: FeatureSpace,
    *,
    contributions: NDArray[np.float64] | None = None,
) -> Profile:
    """Return the profile of a person, from own ratings {item: rating} and public vectors (n, D).

        taste = sum of v_i over liked items / sqrt(max(n_liked, least_likes))

    The point is the encoder's, of the same likes (`askew.spaces.encoder`). The square root lets
    more likes say more, and the floor keeps a few from saying too much. Who likes nothing has a
    profile like anybody else: a taste of zeros. contributions: the encoder's, of all vectors, if
    they are there already; they take the longest and do not depend on the person. Raises
    ProfileError for a rating off the scale.
    """
    liked = [item for item, rating in ratings.items() if space.scale.is_like(rating)]
    rows = np.array(liked, dtype=np.int64)
    encoder = space.encoder
    total = vectors[rows].sum(axis=0, dtype=np.float64)  # (D,)
    taste = total / np.sqrt(max(len(rows), encoder.least_likes))
    if contributions is None:
        contributions = encoder.contributions(vectors)
    return Profile(space, taste, encoder.encode(contributions[rows]), rows)
