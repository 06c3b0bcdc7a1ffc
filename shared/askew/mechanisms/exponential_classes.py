"""A short list of candidates with rational multiplicities, for the exponential mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf, log

import numpy as np

from askew.exact import Listing, enclose, parts_of
from askew.mechanisms.parameters import ln
from askew.mechanisms.tally import Integers


class ExponentialClasses:
    """Candidate i has weight sizes.get(i, 1) * exp(epsilon * scores[i]); `remove` takes one out.

    scores: int64, (n,), below 2**62 in magnitude.
    """

    def __init__(
        self, scores: Integers, sizes: Mapping[int, Fraction | int], epsilon: Fraction
    ) -> None:
        self.scores, self.sizes, self.epsilon = scores, dict(sizes), epsilon
        self._log_sizes, self._largest_size = np.zeros(len(scores)), 0.0
        for key, size in sizes.items():
            self._log_sizes[key] = ln(size)
            self._largest_size = max(self._largest_size, log(size.numerator * size.denominator))
        self._rank()

    def _rank(self) -> None:
        """Scores relative to the best that is left, so that floats are exact where it matters."""
        left = self._log_sizes > -inf
        self._best = int(self.scores[left].max())
        self._logs = self._log_sizes + (self.scores - self._best) * float(self.epsilon)

    def remove(self, key: int) -> None:
        """Give a candidate weight zero."""
        self.sizes[key] = 0
        self._log_sizes[key] = -inf
        if int(self.scores[key]) == self._best:
            self._rank()
        else:
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
