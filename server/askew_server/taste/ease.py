"""Symmetric EASE: one set of vectors in closed form, from how many people like both of two items.

    G      = X^T X of likes X (n_people, n_items) of ones: G_ij people like both, G_ii like i
    P      = (G + lambda I)^-1,  d = diag P
    EASE   scores item j by the sum over likes i of B_ij = -P_ij / P_jj,  B_jj = 0
    S      = -D^-1/2 P D^-1/2 off the diagonal, D = diag d:  B_ij = S_ij sqrt(d_i / d_j)
    V      the leading eigenvectors of S times the square roots of their eigenvalues:  S ~ V V^T
    item   v_i = sqrt(d_i) V_i,  boost_i = 1 / d_i
    person the sum of v_i over likes;  item j scores boost_j <person, v_j> ~ the score of EASE

so a catalog's one vector and one boost an item are all of it: no second set of vectors, and the sum
on the device is what it always was. S = I - D^-1/2 P D^-1/2, so its leading eigenvectors are those
of M = D^1/2 (G + lambda I) D^1/2, where they lie far apart: for an eigenvalue mu of M, that of S is
1 - 1 / mu. They are computed by products with M, which for many items are products with sparse X.

Without a matrix of items by items, d comes from G ~ U diag(g) U^T + diag(r), the r of each item
what the leading eigenvectors leave of G_ii, by Woodbury's identity. On MovieLens 1M, 64 of them
give d within 1.5 %, and models as good.

What is left. -P_ij - <v_i, v_j> is symmetric too: `neighbor_pairs` keeps the largest of it, which
add boost_j times that to the score of j for each like of i. Low ranks miss what few items have in
common, such as the parts of a series.

Vectors are scaled so that the sum over n likes is never longer than sqrt(n), boosts so that their
geometric mean is 1, and both are turned by a public rotation, which changes no score: turned,
coordinates are as large as one another, and 4 bits each say more of them.

No function here has a state or draws anything that protects anybody: its result is a function of G
and of public parameters, so a noisy G is all the privacy that vectors need.

Sources: Steck 2019 (EASE); its symmetric form and the residual are ours. Complexity: O(n^3) for n
items and P, O(nnz D) for sparse likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from askew.errors import DataError

Matrix = NDArray[np.float64]
DENSE_ITEMS = 6000
"""Up to so many, G and P are matrices in memory: 288 MB each."""
_LEADING = 64  # eigenvectors of G that d is estimated by
_FEW = 400  # items of which all eigenvectors are computed at once
_STEPS = 15  # of the largest neighbor, as its code says
_TOLERANCE = 1e-5  # of an eigenvalue: codes of 4 bits say less


@dataclass(frozen=True, eq=False)
class Factors:
    """Vectors (n_items, D) and boosts (n_items,), positive.

    scale: <v_i, v_j> is about -P_ij times that. inverse: P, where it was computed.
    """

    vectors: Matrix = field(repr=False)
    boosts: Matrix = field(repr=False)
    scale: float
    inverse: Matrix | None = field(default=None, repr=False)


def gram_of(likes: csr_array) -> Matrix:
    """Return G (n_items, n_items) of likes (n_people, n_items), dense, of floats: how many people
    like both items; on the diagonal, how many like the one.
    """
    gram: Matrix = (likes.T @ likes).toarray().astype(np.float64)
    return gram


def inverse_of(gram: Matrix, penalty: float) -> Matrix:
    """Return P = (G + penalty I)^-1, (n_items, n_items). Raises DataError where G + penalty I is
    not positive definite.
    """
    shifted = np.array(gram, dtype=np.float64, order="F")
    shifted.flat[:: len(gram) + 1] += penalty
    factor, failed = lapack.dpotrf(shifted, lower=True, overwrite_a=True)
    if not failed:
        shifted, failed = lapack.dpotri(factor, lower=True, overwrite_c=True)
    if failed:
        raise DataError("these ratings have no structure to learn from: train on more of them")
    lower = np.tril(shifted)
    inverse: Matrix = lower + np.tril(lower, -1).T
    return inverse


def fit(gram: Matrix, penalty: float, rank: int) -> Factors:
    """Return the Factors, with `rank` dimensions, at most n_items, of a matrix G of items by items,
    exact or with noise, and P as their `inverse`. Raises DataError as `inverse_of` and
    `factors_of`.
    """
    inverse = inverse_of(gram, penalty)
    factors = factors_of(gram.__matmul__, np.diag(inverse), penalty, rank)
    return replace(factors, inverse=inverse)


def fit_sparse(likes: csr_array, penalty: float, rank: int) -> Factors:
    """Return the Factors of likes (n_people, n_items), without a matrix of items by items: vectors
    (n_items, rank), boosts (n_items,), from an estimated diagonal, scale, and `inverse` None.
    Raises DataError as `factors_of`.
    """
    columns = csr_array(likes.T)

    def multiply(vectors: Matrix) -> Matrix:
        product: Matrix = columns @ (likes @ vectors)
        return product

    counts = np.asarray(likes.sum(axis=0), dtype=np.float64)
    leading = min(_LEADING, len(counts) - 1)
    values, axes = _leading(multiply, len(counts), leading)
    left = 1 / (np.maximum(counts - axes**2 @ values, 0) + penalty)
    wide = axes * left[:, None]
    within = np.linalg.inv(np.diag(1 / np.maximum(values, 1e-12)) + axes.T @ wide)
    diagonal = left - np.einsum("ij,jk,ik->i", wide, within, wide)
    return factors_of(multiply, diagonal, penalty, rank)


def factors_of(
    multiply: Callable[[Matrix], Matrix], diagonal: Matrix, penalty: float, rank: int
) -> Factors:
    """Return the Factors of G, (n_items, n_items), with `rank` dimensions: vectors, boosts whose
    geometric mean is 1, and their scale; `inverse` is None. multiply: gives the product of G with
    vectors. diagonal: d (n_items,), of P = (G + penalty I)^-1. Raises DataError where all vectors
    are 0, as where nobody likes two items.
    """
    roots, n = np.sqrt(diagonal), len(diagonal)
    values, axes = _leading(
        lambda x: (roots * (multiply((roots * x.T).T) + penalty * (roots * x.T).T).T).T, n, rank
    )
    kept = np.sqrt(np.maximum(1 - 1 / np.maximum(values, 1), 0))
    vectors = roots[:, None] * axes * kept
    longest = float(np.linalg.svd(vectors.T @ vectors, compute_uv=False)[0]) ** 0.5
    if not np.isfinite(longest) or not longest > 0:
        raise DataError("these ratings have no structure to learn from: train on more of them")
    level = float(np.exp(np.log(diagonal).mean()))
    dimension = vectors.shape[1]  # the same turn of all coordinates for everybody
    turn, _ = np.linalg.qr(np.random.RandomState(1).normal(size=(dimension, dimension)))
    return Factors(vectors / longest @ turn, level / diagonal, longest**-2)


def _leading(
    multiply: Callable[[Matrix], Matrix], n: int, rank: int
) -> tuple[NDArray[np.float64], Matrix]:
    # The largest eigenvalue first; the largest number of each eigenvector is positive.
    if n <= _FEW or 4 * rank > n:
        whole = multiply(np.eye(n))
        values, axes = eigh((whole + whole.T) / 2, subset_by_index=(n - rank, n - 1))
    else:
        matrix = LinearOperator((n, n), matvec=multiply, matmat=multiply, dtype=np.float64)
        start = np.random.RandomState(0).normal(size=n)
        values, axes = eigsh(matrix, k=rank, which="LA", v0=start, tol=_TOLERANCE)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return values[::-1], (axes * np.sign(largest))[:, ::-1]


def neighbor_pairs(
    inverse: Matrix, scale: float, vectors: NDArray[np.floating], most: int
) -> coo_array:
    """Return the pairs of items of which vectors (n_items, D) leave most of P, sparse (n_items,
    n_items): -scale P_ij - <v_i, v_j>, above 0, at one of the two places of a pair. The largest
    first, at most `most` of them in one row.

    Pairs are taken from the largest on, in the row of the lower item while that has room, else of
    the other: O(n_items**2). No pair at all where one person may move one by more than a fifteenth
    of the largest: one person's likes x move P by P x (P x)^T / (1 + x^T P x), a pair by about
    scale d_i d_j. Of few people, pairs would tell more of each of them than of what all have in
    common.
    """
    n = len(inverse)
    left = -scale * inverse - vectors @ vectors.T
    left[np.tril_indices(n)] = 0  # each pair once
    depth = min(2 * most * n, left.size - 1)
    least = np.partition(left, left.size - 1 - depth, axis=None)[left.size - 1 - depth]
    rows, columns = np.nonzero(left > max(least, 0))
    values, room = left[rows, columns], [most] * n
    pairs = []
    for at in np.argsort(-values, kind="stable").tolist():
        first, second = int(rows[at]), int(columns[at])
        for item, neighbor in ((first, second), (second, first)):
            if room[item]:
                room[item] -= 1
                pairs.append((item, neighbor, values[at]))
                break
    moved = scale * float(np.diag(inverse).max()) ** 2
    if pairs and moved > pairs[0][2] / _STEPS:
        pairs = []
    table = np.array(pairs, dtype=np.float64).reshape(-1, 3)
    return coo_array((table[:, 2], table[:, :2].astype(np.int64).T), shape=(n, n))
