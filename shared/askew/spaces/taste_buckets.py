"""From a taste to one of a few public buckets, by a linear rule."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange
from askew.sizes import MAX_BUCKETS
from askew.spaces.public_arrays import MAX_SIZE, check_directions, frozen, is_small


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
