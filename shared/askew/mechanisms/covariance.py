"""One noisy matrix of what people like together: all that a private model needs of its people.

Of a public catalog of n items, a person's likes are a 0/1 vector x with m ones. The matrix is

    G = sum over people of floor(2**24 / m) x x^T              exact integers, (n, n)

and `NoisyCovariance` adds an independent draw to each place of its upper triangle, which the lower
one repeats:

    off the diagonal   discrete Gaussian noise of variance v
    on the diagonal    discrete Gaussian noise of variance 2 v,     v = ceil(2**46 / rho)

In units of 2**24 the noise has the variances sigma**2 and 2 sigma**2, with v = 2**48 sigma**2.

Guarantee: 2**46 / v-zCDP, which is 1 / (4 sigma**2) and at most rho, and so (epsilon, delta)-DP by
the conversion of `askew.dp.composition`. No slack, and the same for every number of likes.
Privacy unit: one person's whole history. Neighbors: `ADD_OR_REMOVE_ONE`.

Proof. A person moves m places of the diagonal and m (m - 1) / 2 of the rest by w = floor(2**24 / m)
each. Discrete Gaussian noise adds up d**2 / (2 variance) over the places:

    m w**2 / (4 v) + m (m - 1) w**2 / (4 v) = (m w)**2 / (4 v) <= 2**48 / (4 v) = 2**46 / v

with equality where m divides 2**24. docs/proofs/covariance.md has the whole of it, and why the
diagonal gets twice the variance. All that is made of the noisy matrix is free.

Source: McSherry, Mironov 2009 and Dwork, Talwar, Thakurta, Zhang 2014 (a noisy covariance); Bun,
Steinke 2016 (zCDP); Canonne, Kamath, Steinke 2020 (noise, conversion); the weights and the twofold
variance, which make the bound the same for every m, are ours. Complexity: O(sum of m**2) for G,
n (n + 1) / 2 draws for the noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from askew.dp.composition import rho_for
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP
from askew.errors import ParameterError
from askew.mechanisms.tally import check_positive_int, integers
from askew.noise.gaussian import MAX_VARIANCE, DiscreteGaussian
from askew.noise.randomness import KERNEL, Parameters, RandomBits

Matrix = NDArray[np.int64]
UNIT = 2**24
"""What one person's likes weigh on the diagonal, at most: G counts in this many parts of one."""
_MOST = 2**62  # of a place of G, so that the noise cannot carry it out of 64 bits


def covariance(people: Iterable[Sequence[int]], items: int) -> Matrix:
    """Return G, int64 (items, items): the sum over people of floor(2**24 / m) in each place (i, j)
    of their m likes. A like is its place in the catalog, from 0.

    A place that is given twice counts once. Who likes nothing, or more than 2**24 items, counts as
    0. Raises ParameterError, which repeats no place, for one outside the catalog.
    """
    check_positive_int("items", items)
    total = np.zeros((items, items), np.int64)
    for person in people:
        likes = np.unique(integers(person, 0, "likes"))
        if not len(likes):
            continue
        if likes[0] < 0 or likes[-1] >= items:
            raise ParameterError("likes", "another place", f"places from 0 to {items - 1}")
        total[np.ix_(likes, likes)] += UNIT // len(likes)
    return total


@dataclass(frozen=True)
class NoisyCovariance(Parameters):
    """The noise of G that is (epsilon, delta)-DP. Public.

    epsilon and delta are exact rationals, delta strictly between 0 and 1. Raises ParameterError
    outside these ranges, and where sigma would pass 2**15.5.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ParameterError("delta", self.delta, "above 0 and below 1")
        if 2 * self._variance > MAX_VARIANCE:
            raise ParameterError("epsilon", self.epsilon, "larger: its noise would be too wide")

    @cached_property
    def _variance(self) -> int:
        return ceil(Fraction(UNIT**2 // 4) / rho_for(self.epsilon, self.delta))

    @property
    def rho(self) -> Fraction:
        """Return what one noisy matrix costs by zCDP, exact: `rho_for` of epsilon and delta,
        rounded down to 2**46 / a whole number. This adds up where several are released.
        """
        return Fraction(UNIT**2, 4 * self._variance)

    @property
    def sigma(self) -> float:
        """Return the standard deviation of the noise off the diagonal, divided by 2**24."""
        return sqrt(self._variance) / UNIT

    def privacy_loss(self) -> ApproximateDP:
        """Return ApproximateDP(epsilon, delta, ADD_OR_REMOVE_ONE), of one noisy matrix."""
        return ApproximateDP(Fraction(self.epsilon), Fraction(self.delta), ADD_OR_REMOVE_ONE)

    @cached_property
    def _beside(self) -> DiscreteGaussian:
        return DiscreteGaussian.of_variance(self._variance)

    @cached_property
    def _diagonal(self) -> DiscreteGaussian:
        return DiscreteGaussian.of_variance(2 * self._variance)

    def perturb(self, matrix: Matrix, *, bits: RandomBits = KERNEL) -> Matrix:
        """Return a noisy copy of a matrix that `covariance` made, int64 and symmetric; the only
        thing of these people to keep.

        Raises ParameterError, which repeats no number of it, unless it is symmetric, square, of
        64-bit integers from 0 to below 2**62, and not empty.
        """
        _check(matrix)
        noisy = matrix.copy()
        items = len(noisy)
        noisy[np.diag_indices(items)] += self._diagonal.draw(items, bits)
        for row in range(items - 1):
            noisy[row, row + 1 :] += self._beside.draw(items - row - 1, bits)
            noisy[row + 1 :, row] = noisy[row, row + 1 :]
        return noisy


def _check(matrix: Matrix) -> None:
    limit = "a symmetric square of 64-bit integers, each from 0 to below 2**62"
    if not isinstance(matrix, np.ndarray) or isinstance(matrix, np.ma.MaskedArray):
        raise ParameterError("matrix", type(matrix), limit)
    if matrix.dtype != np.int64 or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError("matrix", f"{matrix.dtype} of shape {matrix.shape}", limit)
    if not matrix.size or matrix.min() < 0 or matrix.max() >= _MOST:
        raise ParameterError("matrix", "none, or others", limit)
    if not np.array_equal(matrix, matrix.T):
        raise ParameterError("matrix", "one that is not", limit)
