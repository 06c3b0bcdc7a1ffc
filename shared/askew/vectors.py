"""The feature space, and the profile that lives in it.

Shapes: d is the dimension of the space. Everything about a space is public; a profile is private
and shows nothing of itself when printed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange, ProfileError
from askew.privacy import Metric

MAX_DIMENSION = 64
MAX_BOUND = 64.0  # in units of distance; a lattice of the finest step still fits the wire
MAX_FACTOR = 1e6  # for gain and weight floor: no product of valid numbers overflows
MAX_RATING = 1000.0
VERSION_BYTES = 16


@dataclass(frozen=True)
class RatingScale:
    """The scale on which people rate. A rating in the middle says nothing."""

    lowest: float
    highest: float

    def __post_init__(self) -> None:
        # Written so that NaN is refused too; the least width keeps the middle apart from the ends.
        if not -MAX_RATING <= self.lowest <= self.highest - 1e-3 <= MAX_RATING:
            limit = f"within {MAX_RATING:g} of zero, its highest above its lowest by 0.001"
            raise OutOfRange("a rating scale", limit)

    def weight(self, rating: float) -> float:
        """A rating as a weight in [-1, 1]: dislike to like. Raises ProfileError off the scale."""
        if not self.lowest <= rating <= self.highest:
            raise ProfileError(f"a rating must be between {self.lowest:g} and {self.highest:g}")
        middle = (self.lowest + self.highest) / 2
        return (rating - middle) / (self.highest - middle)


@dataclass(frozen=True)
class FeatureSpace:
    """Where profiles, signals and items live. Public; its version names all that it says.

    Unit of distance: the median l1 distance between two of the people the model was trained on.
    lower, upper: bounds of each coordinate, (d,), a box into which every profile is clamped.
    gain, weight_floor, scale: how ratings make a profile, see `fold_in`.
    basis: SHA-256 of the directions that the coordinates stand for, in hexadecimal.
    Raises OutOfRange for a space that no device should use.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    gain: float
    weight_floor: float
    scale: RatingScale
    basis: str
    metric: Metric = "l1"

    def __post_init__(self) -> None:
        if not 1 <= len(self.lower) <= MAX_DIMENSION or len(self.lower) != len(self.upper):
            raise OutOfRange("the dimension of a feature space", f"from 1 to {MAX_DIMENSION}")
        for low, high in zip(self.lower, self.upper, strict=True):
            if not -MAX_BOUND <= low < high <= MAX_BOUND:
                raise OutOfRange("a bound of a feature space", f"at most {MAX_BOUND:g} in size")
        if not all(1 / MAX_FACTOR <= each <= MAX_FACTOR for each in (self.gain, self.weight_floor)):
            raise OutOfRange("gain and weight floor", f"from {1 / MAX_FACTOR:g} to {MAX_FACTOR:g}")
        if not re.fullmatch("[0-9a-f]{64}", self.basis):
            raise OutOfRange("the basis of a feature space", "64 hexadecimal digits")

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return len(self.lower)

    @property
    def diameter(self) -> float:
        """The largest distance between two profiles; epsilon * diameter is the plain local DP."""
        return sum(high - low for low, high in zip(self.lower, self.upper, strict=True))

    @cached_property
    def version(self) -> str:
        """32 hexadecimal digits that no other space shares: a digest of every field."""
        scalars = (self.gain, self.weight_floor, self.scale.lowest, self.scale.highest)
        # As floats throughout, since 1 and 1.0 are the same space and not the same text.
        numbers = [list(map(float, each)) for each in (self.lower, self.upper, scalars)]
        text = json.dumps([*numbers, self.basis, self.metric])
        return hashlib.sha256(text.encode()).hexdigest()[: 2 * VERSION_BYTES]

    def clamp(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest point inside the bounds; moves no two points apart."""
        clamped: NDArray[np.float64] = np.clip(point, self.lower, self.upper)
        return clamped


@dataclass(frozen=True, eq=False)
class Profile:
    """The private vector, (d,), clamped into its space. Never leaves the device.

    Raises DimensionMismatch for another shape, ProfileError for NaN or an infinity.
    """

    space: FeatureSpace
    vector: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        vector = np.array(self.vector, dtype=np.float64)
        if vector.shape != (self.space.dimension,):
            raise DimensionMismatch(vector.size, self.space.dimension)
        if not np.isfinite(vector).all():
            raise ProfileError("a profile must be finite")
        clamped = self.space.clamp(vector)
        clamped.setflags(write=False)
        object.__setattr__(self, "vector", clamped)


def fold_in(
    ratings: Mapping[int, float], positions: NDArray[np.float32], space: FeatureSpace
) -> Profile:
    """The profile of one person, from their own ratings {item: rating} and public positions (n, d).

        profile = gain * sum_i w_i * position_i / max(sum_i |w_i|, weight_floor)

    w_i in [-1, 1] is the rating on its scale, so dislikes push away; the floor keeps a few ratings
    from saying too much. Raises ProfileError for no ratings at all, or one off the scale.
    """
    if not ratings:
        raise ProfileError("a profile needs at least one rating")
    rows = np.fromiter(ratings.keys(), dtype=np.int64)
    weights = np.array([space.scale.weight(rating) for rating in ratings.values()])
    total = weights @ positions[rows].astype(np.float64)  # (d,)
    return Profile(space, space.gain * total / max(np.abs(weights).sum(), space.weight_floor))
