"""A short list of candidates with rational multiplicities, for the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log

import numpy as np

from askew.exact import Listing, enclose, parts_of


class ExponentialClasses:
    """Candidate i has weight sizes[i] * exp(epsilon * scores[i]); `remove` takes one out."""

    def __init__(
        self, scores: Sequence[int], sizes: Sequence[Fraction | int], epsilon: Fraction
    ) -> None:
        self._best = max(scores)
        self.scores, self.sizes, self.epsilon = list(scores), list(sizes), epsilon
        gaps = np.array([score - self._best for score in scores], dtype=np.float64)
        log_sizes = np.array([0.0 if size == 1 else log(size) for size in sizes])
        self._logs = gaps * float(epsilon) + log_sizes
        self._largest_size = float(np.abs(log_sizes).max())
        self._keys = np.arange(len(scores))

    def remove(self, key: int) -> None:
        """Give a candidate weight zero."""
        self.sizes[key] = 0
        self._logs[key] = -inf

    def listing(self, depth: float) -> Listing:
        """All candidates."""
        # No candidate within `depth` of the best log-weight has a larger term in it.
        largest = abs(float(self._logs.max())) + self._largest_size + depth + 8
        return Listing(parts_of(self._keys, self._logs), 2.0**-48 * largest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Integer bounds of one candidate's weight."""
        exponent = self.epsilon * (self._best - self.scores[key])
        return enclose(self.sizes[key], exponent, shift)
