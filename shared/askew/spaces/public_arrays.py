"""Public arrays that a server names: within limits, and nothing can change them afterwards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange
from askew.sizes import MAX_RANKING_DIMENSION

MAX_SIZE = 1024.0  # of a coordinate of an item or a direction


def check_directions(matrix: NDArray[np.float32], most_columns: int) -> None:
    """Raises OutOfRange unless it is (D, columns), within the limits, of small finite numbers."""
    if matrix.ndim != 2 or not 1 <= matrix.shape[0] <= MAX_RANKING_DIMENSION:
        raise OutOfRange("the ranking dimension", f"from 1 to {MAX_RANKING_DIMENSION}")
    if not 1 <= matrix.shape[1] <= most_columns:
        raise OutOfRange("the number of directions", f"from 1 to {most_columns}")
    if not is_small(matrix):
        raise OutOfRange("a direction", f"at most {MAX_SIZE:g} in size")


def is_small(values: NDArray[np.float32]) -> bool:
    """Whether all are finite and at most MAX_SIZE in size."""
    return bool((np.abs(values) <= MAX_SIZE).all())  # NaN is not


def frozen(values: NDArray[np.floating], kind: str) -> NDArray[np.floating]:
    """A little-endian copy that nothing can make writable again: what a version was made of."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
