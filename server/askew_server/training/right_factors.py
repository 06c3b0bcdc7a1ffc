"""The right factors of a sparse matrix by randomized subspace iteration.

    A (n, m), m <= n;  Q_0 normal (m, D + 10);  Q_t a basis of the range of A^T A Q_(t-1), t = 1..7
    P an orthonormal basis of A Q_7;   P^T A = X S V^T;   result: the first D columns of V

These are the factors of scikit-learn's TruncatedSVD with n_iter = 7 and the same seed, but for
rounding: a basis depends on its range alone, so only the shorter side is made a basis of, once a
step, by LU. In double precision A^T A Q may be conditioned as badly as (s_1 / s_(D + 10))**2, which
costs digits that factors of ratings do not have. Where m > n, A is taken transposed throughout.

Source: Halko, Martinsson, Tropp 2011, algorithm 4.4. Complexity: 16 products of A with D + 10
columns, O((n + m) D) memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu, qr, svd
from scipy.sparse import csr_array

_STEPS = 7
_MORE = 10  # columns, so that the last of the factors are found as well


def right_factors(matrix: csr_array, dimension: int, seed: int) -> NDArray[np.float64]:
    """(n_columns, D), orthonormal, the largest number of each column positive. Deterministic."""
    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix
    start = np.random.RandomState(seed).normal(size=(tall.shape[1], dimension + _MORE))
    basis: NDArray[np.float64] = start
    for _ in range(_STEPS):
        basis, _ = lu(tall.T @ (tall @ basis), permute_l=True, overwrite_a=True, check_finite=False)
    across, _ = qr(tall @ basis, mode="economic", overwrite_a=True, check_finite=False)
    left, _, right = svd((tall.T @ across).T, full_matrices=False, check_finite=False)
    found = across @ left[:, :dimension] if wide else right[:dimension].T
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=0)[None], axis=0)
    signed: NDArray[np.float64] = found * np.sign(largest)
    return signed
