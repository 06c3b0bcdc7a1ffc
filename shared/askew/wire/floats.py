"""Arrays of 32-bit floats as bytes, little-endian, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import Malformed

Floats = NDArray[np.float32]


def floats_to_bytes(values: Floats) -> bytes:
    """Row by row."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


def floats_from_bytes(name: str, data: bytes, shape: tuple[int, ...]) -> Floats:
    """An array of this shape. Raises Malformed for another number of bytes."""
    size = 4 * int(np.prod(shape, dtype=np.int64))
    if len(data) != size:
        raise Malformed(f"expected {size} bytes of {name}, got {len(data)}")
    return np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(shape)
