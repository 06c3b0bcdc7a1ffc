"""From a person's likes to the point that noise is added to, with the constants of its guarantee:
the encoder, the space it belongs to, and the profile that lives there.

    D ranking dimensions, d signal dimensions, S the liked items, n = |S|, m = least_likes

    c_i   = P^T v_i, shrunk until sum_j L_j |c_ij| <= clip          one item's contribution, (d,)
    z     = sum of c_i over S / sqrt(max(n, m))                      (d,)
    point = unit * (F_1(z_1), ..., F_d(z_d))                         in the box [0, unit]**d

F_j is a public increasing piecewise-linear distribution function (the rank of z_j in a reference
population), L_j its largest slope. Everything here is public; what it is applied to is private.
A device computes every constant below from the encoder itself and takes no server's word for it.

Lipschitz constants, each step in the norm it is used with:
- F_j: at most L_j, so |F(z) - F(z')|_1 <= sum_j L_j |z_j - z'_j|, the weighted norm |.|_L.
- the scaling by unit: unit, in l1.

One rating. Let one rating be added, removed or changed. A re-rating among likes, or among other
ratings, changes nothing; all else adds one like or removes one. So let s be the sum over n likes,
|s|_L <= n clip, and c the contribution of one more, |c|_L <= clip. Then |z' - z|_L <= g(m) clip,

    g(m) = sqrt(m) - (m - 1) / sqrt(m + 1).

Proof. For n < m both sums are divided by sqrt(m): |z' - z|_L <= clip / sqrt(m) <= g(m) clip, where
the last step is sqrt(m (m + 1)) >= m. For n >= m

    z' - z = c / sqrt(n + 1) - s (1 / sqrt(n) - 1 / sqrt(n + 1)),
    |z' - z|_L <= clip (1 / sqrt(n + 1) + n / sqrt(n) - n / sqrt(n + 1)) = g(n) clip,

and g falls: g'(x) <= 0 iff (x + 1)**3 <= x (x + 3)**2 iff 1 <= 3 x**2 + 6 x. Equality holds for
n = m likes that all pull one way and one more that pulls the other way. So one rating moves the
point by at most unit * g(m) * clip in l1, and never by more than the diameter d * unit. Replacing
a title by another is two ratings, one removed and one added, and moves it by at most twice that.

A device enters no space where this is more than 1, so that its rate is epsilon of one rating.

Floating point. Contributions are rounded toward zero onto multiples of 2**-24 and are bounded, so
that sums over likes are exact in any order; what follows is off by less than 2**-30 * unit, and
`one_rating` is rounded up by 2**-20 at least. Source: the clipping bound is ours; rank transforms
make the diameter known. Complexity: O(n_items D d) for a catalog, then O(n d) for a person.
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

from askew.errors import DimensionMismatch, OutOfRange, ProfileError
from askew.limits import MAX_DIMENSION, MAX_RANKING_DIMENSION, MAX_RATING, VERSION_BYTES
from askew.spaces.item_codes import check_scales

MAX_SIZE = 1024.0  # of a coordinate of an item or a direction


def frozen(values: NDArray[np.floating], kind: str) -> NDArray[np.floating]:
    """Return a little-endian copy, of kind f4 or f8 and the same shape, that nothing can make
    writable.
    """
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


KNOTS = 33
MAX_UNIT = 64.0
UNIT_STEP = Fraction(1, 1 << 16)  # so that a charge, epsilon * diameter, is a short fraction
_MAX_CLIP = 1024.0
_MAX_KNOT = 1e6
_LEAST_GAP = 1e-9
_MAX_LIKES = 10_000
_MAX_CONTRIBUTION = 256.0  # 2**21 items of this size still have an exact sum
_GRID = 2.0**24
_RANKS = np.linspace(0.0, 1.0, KNOTS)  # multiples of 1/32: exact


@dataclass(frozen=True, eq=False)
class Encoder:
    """Public parameters of the way from likes to a point.

    directions: P, (D, d) float32. origin: the reference population's mean taste, (D,) float32, for
    `decode` alone. knots: (d, KNOTS), increasing in each row; F_j is i / 32 at the i-th knot of row
    j, linear between knots, 0 before the first and 1 after the last. clip, least_likes, unit: see
    the formulas above; unit is a multiple of 2**-16, in distances.
    Raises OutOfRange for parameters that no device should use.
    """

    directions: NDArray[np.float32] = field(repr=False)
    origin: NDArray[np.float32] = field(repr=False)
    knots: NDArray[np.float64] = field(repr=False)
    clip: float
    least_likes: int
    unit: float

    def __post_init__(self) -> None:
        for name, kind in (("directions", "f4"), ("origin", "f4"), ("knots", "f8")):
            object.__setattr__(self, name, frozen(getattr(self, name), kind))
        # Written so that NaN is refused too, here and below.
        if self.directions.ndim != 2 or not 1 <= len(self.directions) <= MAX_RANKING_DIMENSION:
            raise OutOfRange("the ranking dimension", f"from 1 to {MAX_RANKING_DIMENSION}")
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise OutOfRange("the number of directions", f"from 1 to {MAX_DIMENSION}")
        if not (np.abs(self.directions) <= MAX_SIZE).all():
            raise OutOfRange("a direction", f"at most {MAX_SIZE:g} in size")
        small = (np.abs(self.origin) <= MAX_SIZE).all()
        if self.origin.shape != self.directions.shape[:1] or not small:
            raise OutOfRange("the origin of an encoder", f"one number up to {MAX_SIZE:g} a row")
        if self.knots.shape != (self.dimension, KNOTS):
            raise OutOfRange("the knots of an encoder", f"{KNOTS} for each of its directions")
        if not (np.abs(self.knots) <= _MAX_KNOT).all() or not self._gaps.min() >= _LEAST_GAP:
            raise OutOfRange("the knots of an encoder", "increasing and bounded")
        if not 0 < self.clip <= min(_MAX_CLIP, _MAX_CONTRIBUTION * float(self.slopes.min())):
            raise OutOfRange("the clip of an encoder", "positive, with bounded contributions")
        if not 1 <= self.least_likes <= _MAX_LIKES:
            raise OutOfRange("the least likes of an encoder", f"from 1 to {_MAX_LIKES}")
        if not 0 < self.unit <= MAX_UNIT or Fraction(self.unit) % UNIT_STEP:
            limit = f"a multiple of {UNIT_STEP} up to {MAX_UNIT:g}"
            raise OutOfRange("the unit of an encoder", limit)

    @property
    def dimension(self) -> int:
        """Return the number d of coordinates of a point."""
        return int(self.directions.shape[1])

    @property
    def ranking_dimension(self) -> int:
        """Return the number D of coordinates of a taste."""
        return int(self.directions.shape[0])

    @property
    def _gaps(self) -> NDArray[np.float64]:
        gaps: NDArray[np.float64] = np.diff(self.knots, axis=1)
        return gaps

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        """Return, rounded up, the largest slope of the ranks along each coordinate, (d,): 1 / (32 *
        the least gap of its 33 knots).
        """
        slopes: NDArray[np.float64] = (1 + 2.0**-50) / ((KNOTS - 1) * self._gaps.min(axis=1))
        return slopes

    @cached_property
    def diameter(self) -> Fraction:
        """Return the largest distance of two points, dimension * unit."""
        return self.dimension * Fraction(self.unit)

    @cached_property
    def one_rating(self) -> Fraction:
        """Return how far one rating can move a point, unit * g(least_likes) * clip, rounded up by
        2**-20 to 2**-19; at most the diameter.
        """
        moved = self.unit * one_like(self.least_likes) * self.clip
        return min(Fraction(math.ceil(moved * 2**20) + 1, 2**20), self.diameter)

    def unit_within(self, diameter: Fraction) -> Fraction:
        """Return the unit, a multiple of 2**-16 within 2**-15 of the largest one, with which one
        rating moves a point by at most 1, and no two points are farther apart than the diameter.

        `one_rating` is below unit * g(m) * clip + 2**-19, and never above the diameter.
        """
        by_one_rating = (1 - Fraction(2, 2**20)) / Fraction(one_like(self.least_likes) * self.clip)
        widest = max(by_one_rating, Fraction(1, self.dimension))
        return min(widest, diameter / self.dimension) // UNIT_STEP * UNIT_STEP

    def contributions(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the contributions of the items (n, D) of a catalog, (n, d): vectors @ directions,
        each row shrunk until its sum of |number| * `slopes` is at most `clip`, and rounded toward
        zero to multiples of 2**-24.

        Public, and made for a whole catalog at once: no rounding depends on what is liked.
        """
        projected: NDArray[np.float64] = (vectors @ self.directions).astype(np.float64)
        size = np.abs(projected) @ self.slopes
        projected *= np.minimum(1.0, self.clip / np.maximum(size, self.clip))[:, None]
        projected *= _GRID  # in place: there are as many as items
        np.trunc(projected, out=projected)
        projected /= _GRID
        return projected

    def encode(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the point of a person by the contributions of their n likes, (n, d) -> (d,): unit
        * `ranks`(their sum / sqrt(max(n, least_likes))), any numbers from 0 to unit.
        """
        z = contributions.sum(axis=0) / math.sqrt(max(len(contributions), self.least_likes))
        return self.unit * self.ranks(z)

    def ranks(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rank of each coordinate among its knots, (..., d) -> (..., d) in [0, 1]: i /
        32 at knot i, from 0, linear between knots, 0 before the first and 1 after the last.
        """
        ranks = [np.interp(z[..., j], row, _RANKS) for j, row in enumerate(self.knots)]
        inside: NDArray[np.float64] = np.clip(np.stack(ranks, axis=-1), 0.0, 1.0)
        return inside

    def decode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the tastes nearest the population's mean with these points, (k, d) -> (k, D).

        Public: it is applied to signals and probes, never to a profile.
        """
        tastes: NDArray[np.float64] = self.origin + self.shifts(points) @ self.per_shift
        return tastes

    def shifts(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, of points (k, d), the place among the knots whose rank is point / unit, less the
        mean taste's `origin @ directions`, (k, d); beyond the box those of its edge.
        """
        ranks = points / self.unit  # the inverse of F is constant beyond [0, 1]
        z = np.empty_like(ranks)
        for j, row in enumerate(self.knots):
            z[:, j] = np.interp(ranks[:, j], _RANKS, row)
        # A number between two knots may be rounded beyond the second.
        shifts: NDArray[np.float64] = z - self._mean_z
        return shifts

    @cached_property
    def _mean_z(self) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = self.origin.astype(np.float64) @ self.directions
        return mean

    @cached_property
    def per_shift(self) -> NDArray[np.float64]:
        """Return what a shift of 1 in each coordinate adds to a taste, (d, D)."""
        inverse: NDArray[np.float64] = np.linalg.pinv(self.directions.astype(np.float64))
        return inverse


def one_like(least_likes: int) -> float:
    """Return g(m), m the least likes: how far one like more or less can move z, in units of the
    clip: sqrt(m) - (m - 1) / sqrt(m + 1), so 1 for m = 1.
    """
    return math.sqrt(least_likes) - (least_likes - 1) / math.sqrt(least_likes + 1)


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
        """Return the scale on which a like is from lowest + 0.75 (highest - lowest) on: 4 and 5 of
        1 to 5.
        """
        return cls(lowest, highest, lowest + 0.75 * (highest - lowest))

    def is_like(self, rating: float) -> bool:
        """Return True if a rating is a like, like_from or more; others only mark a thing as seen.
        Raises ProfileError for a rating off the scale.
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
        """Return the largest distance of two points, dimension * unit; epsilon * diameter is the
        plain local DP.
        """
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
        head = ["l1", [*map(float, (*scalars, *limits))], [a.shape for a in arrays]]
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
        """Return what sums over likes are divided by: sqrt(max(len(liked), least_likes))."""
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

    The point is `Encoder.encode` of the same likes, and liked their rows, in the order of the
    ratings. The square root lets more likes say more, and the floor keeps a few from saying too
    much. Who likes nothing has a profile like anybody else: a taste of zeros. contributions: the
    encoder's, of all vectors, if they are there already; they take the longest and do not depend on
    the person. Raises ProfileError for a rating off the scale.
    """
    liked = [item for item, rating in ratings.items() if space.scale.is_like(rating)]
    rows = np.array(liked, dtype=np.int64)
    encoder = space.encoder
    total = vectors[rows].sum(axis=0, dtype=np.float64)  # (D,)
    taste = total / np.sqrt(max(len(rows), encoder.least_likes))
    if contributions is None:
        contributions = encoder.contributions(vectors)
    return Profile(space, taste, encoder.encode(contributions[rows]), rows)
