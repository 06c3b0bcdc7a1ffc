"""From a taste to one of a few public buckets: by a linear rule, or by the slates of a codebook.

    M slates of k items, v_bi the vector of an item, boost_bi its boost, u a taste
    score of slate b    max_i boost_bi <u, v_bi>, over the items that the person has not seen
    of(u)               the slate of the highest score, ties to the lower; slates of which all is
                        seen score least

A `SlateCodebook` is for items with payloads: nobody downloads all of them, and fetching one would
tell the pick. So a device has the vectors of M slates, scores every slate by its own taste, and
names one by randomized response (`askew.noise.randomized_response`), whose guarantee covers every
pair of profiles whatever they are named by. The reply brings the payloads of the slate's k items,
so that reading the pick is no second question.

A slate codebook is part of a space and stays when items go: it says who names slate b, and a
catalog says what slate b holds (`askew.retrieval.buckets`). The device recognizes an item of a
slate by its vector: where two items have the same, having seen one of them counts.

Shapes: n vectors of items, D ranking dimensions. Complexity: O(M k D) for a person, O(n) to look
for the items of M slates among n vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange
from askew.limits import MAX_BUCKETS, MAX_RANKING_DIMENSION
from askew.spaces.encoder import MAX_SIZE, check_directions, frozen, is_small


@dataclass(frozen=True, eq=False)
class Buckets:
    """A public linear encoder of tastes into M buckets: argmax_b (A u + a)_b, ties to the lower b.

    directions: A, (M, D) float32. biases: a, (M,) float32. Raises OutOfRange outside the limits.
    """

    directions: NDArray[np.float32] = field(repr=False)
    biases: NDArray[np.float32] = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("directions", "biases"):
            object.__setattr__(self, name, frozen(getattr(self, name), "f4"))
        check_directions(self.directions.T, MAX_BUCKETS)
        if len(self) < 2:
            raise OutOfRange("the number of buckets", f"from 2 to {MAX_BUCKETS}")
        if self.biases.shape != (len(self),) or not is_small(self.biases):
            raise OutOfRange("the biases of buckets", f"one a bucket, at most {MAX_SIZE:g} in size")

    def __len__(self) -> int:
        """The number M of buckets."""
        return len(self.directions)

    @property
    def ranking_dimension(self) -> int:
        """The number D of coordinates of a taste."""
        return int(self.directions.shape[1])

    @property
    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """All that it says."""
        return self.directions, self.biases

    def of(self, taste: NDArray[np.float64]) -> int:
        """The bucket of a taste (D,); private, like the taste."""
        return int(np.argmax(self.directions @ taste + self.biases))


MAX_CODEBOOK_ITEMS = 4096  # items of all slates together

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SlateCodebook:
    """vectors: (M, k, D) float32. boosts: (M, k) float32, positive. Everything in it is public.

    Raises OutOfRange outside the limits.
    """

    vectors: Vectors = field(repr=False)
    boosts: Vectors = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("vectors", "boosts"):
            object.__setattr__(self, name, frozen(getattr(self, name), "f4"))
        if self.vectors.ndim != 3 or not 2 <= len(self.vectors) <= MAX_BUCKETS:
            raise OutOfRange("the number of slates", f"from 2 to {MAX_BUCKETS}")
        slates, k, dimension = self.vectors.shape
        if not 1 <= k * slates <= MAX_CODEBOOK_ITEMS:
            raise OutOfRange("the items of all slates", f"from 1 a slate to {MAX_CODEBOOK_ITEMS}")
        if not 1 <= dimension <= MAX_RANKING_DIMENSION:
            raise OutOfRange("the ranking dimension", f"from 1 to {MAX_RANKING_DIMENSION}")
        if not is_small(self.vectors):
            raise OutOfRange("an item vector", f"at most {MAX_SIZE:g} in size")
        if (
            self.boosts.shape != (slates, k)
            or not ((self.boosts > 0) & (self.boosts <= MAX_SIZE)).all()
        ):
            raise OutOfRange("a boost", f"one an item, positive and at most {MAX_SIZE:g}")

    def __len__(self) -> int:
        """The number M of slates."""
        return len(self.vectors)

    @property
    def ranking_dimension(self) -> int:
        """The number D of coordinates of a taste."""
        return int(self.vectors.shape[2])

    @property
    def arrays(self) -> tuple[Vectors, Vectors]:
        """All that it says."""
        return self.vectors, self.boosts

    def of(self, taste: NDArray[np.float64], seen: Vectors) -> int:
        """The slate that a person of this taste (D,) names, having seen items of these vectors
        (n, D); private, like the taste.
        """
        known = self.found_in(seen) >= 0
        return int(self.of_each(taste[None], known[None])[0])

    def of_each(
        self, tastes: NDArray[np.float64], seen: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """The slate of each taste (m, D), (m,); seen: which of the items each knows, (m, M, k)."""
        slates, k, dimension = self.vectors.shape
        scoring = (self.vectors * self.boosts[:, :, None]).reshape(slates * k, dimension)
        worth = (tastes @ scoring.T.astype(np.float64)).reshape(len(tastes), slates, k)
        if seen is not None:
            worth[seen] = -np.inf
        best: NDArray[np.int64] = worth.max(axis=2).argmax(axis=1)
        return best

    def found_in(self, vectors: Vectors) -> NDArray[np.int64]:
        """Where each of its items is among vectors (n, D), (M, k): the first of equals, or -1."""
        items = self.vectors.reshape(-1, self.ranking_dimension)
        rows = {item.tobytes(): -1 for item in items}
        for row, vector in enumerate(np.ascontiguousarray(vectors, dtype="<f4")):
            key = vector.tobytes()
            if rows.get(key) == -1:
                rows[key] = row
        found = np.array([rows[item.tobytes()] for item in items], dtype=np.int64)
        return found.reshape(self.boosts.shape)
