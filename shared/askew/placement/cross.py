"""The cross {0, +-s e_1, +-s e_2, ..}: good for product noise and k <= 2 d + 1 points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError


def arms(dimension: int, k: int) -> NDArray[np.float64]:
    """The first k points of the cross with arms of length one, (k, d): 0 first where k is odd.

    Raises ParameterError for k > 2 d + 1.
    """
    if not 1 <= k <= 2 * dimension + 1:
        raise ParameterError("k", k, "from 1 to 2 d + 1")
    axes = np.repeat(np.eye(dimension), 2, axis=0)
    axes[1::2] *= -1
    points = np.concatenate([np.zeros((1, dimension)), axes]) if k % 2 else axes
    return points[:k]
