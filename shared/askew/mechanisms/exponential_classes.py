"""A short list of candidates with rational multiplicities, for the exponential mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf, log

import numpy as np

from askew.exact import Listing, enclose, parts_of
from askew.mechanisms.tally import Integers


class ExponentialClasses:
    """Candidate i has weight sizes.get(i, 1) * exp(epsilon * scores[i]); `remove` takes one out.

    scores: int64, (n,), below 2**62 in magnitude.
    """

    def __init__(
        self, scores: Integers, sizes: Mapping[int, Fraction | int], epsilon: Fraction
    ) -> None:
        self.scores, self.sizes, self.epsilon = scores, dict(sizes), epsilon
        self._best = int(scores.max())
        self._logs = (scores - self._best).astype(np.float64) * float(epsilon)
        self._largest_size = 0.0
        for key, size in sizes.items():  # by parts: a float of the fraction may overflow
            above, below = log(size.numerator), log(size.denominator)
            self._logs[key] += above - below
            self._largest_size = max(self._largest_size, above + below)

    def remove(self, key: int) -> None:
        """Give a candidate weight zero."""
        self.sizes[key] = 0
        self._logs[key] = -inf

    def listing(self, depth: float) -> Listing:
        """The candidates within depth + ln(candidates) of the heaviest; the others weigh below
        exp(-depth) of it.
        """
        top = float(self._logs.max())
        near = np.flatnonzero(self._logs > top - depth - log(len(self._logs)))
        # No candidate within `depth` of the best log-weight has a larger term in it.
        largest = abs(top) + self._largest_size + depth + 8
        rest = -inf if len(near) == len(self._logs) else top - depth + 1
        return Listing(parts_of(near, self._logs[near]), 2.0**-48 * largest, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Integer bounds of one candidate's weight."""
        exponent = self.epsilon * (self._best - int(self.scores[key]))
        return enclose(self.sizes.get(key, 1), exponent, shift)
