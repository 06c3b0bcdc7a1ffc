"""The local model: item vectors at 4 bits a coordinate, as bytes, for a device to rank with.

    scale_j = max_i |x_ij| / 7.5,    code_ij = round(x_ij / scale_j + 7.5) in 0..15
    decoded = (code_ij - 7.5) * scale_j,    off by at most scale_j / 2

Codes are packed two to a byte, row by row, the first in the low half; an odd one out leaves the
high half 0. Every code is a number and every scale is checked, so a hostile model decodes to finite
numbers or not at all. Both directions are deterministic: equal vectors make equal bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import Malformed, OutOfRange

MAX_SCALE = 2.0**20
_MIDDLE = np.float32(7.5)  # sixteen levels around zero


def encode_vectors(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], bytes]:
    """The scales (D,) and the codes of vectors (k, D), k >= 1."""
    scales = np.abs(vectors).max(axis=0) / _MIDDLE
    steps = np.divide(vectors, scales, out=np.zeros_like(vectors), where=scales > 0)
    codes = np.clip(np.rint(steps + _MIDDLE), 0, 15).astype(np.uint8).ravel()
    pairs = np.append(codes, np.zeros(codes.size % 2, np.uint8)).reshape(-1, 2)
    return scales, (pairs[:, 0] | (pairs[:, 1] << 4)).astype(np.uint8).tobytes()


def decode_vectors(scales: NDArray[np.float32], codes: bytes, k: int) -> NDArray[np.float32]:
    """The vectors (k, D) of scales (D,) and codes.

    Raises Malformed for codes of another size, OutOfRange for a scale that is not finite, is
    negative or is too large.
    """
    size = k * len(scales)
    if len(codes) != (size + 1) // 2:
        raise Malformed(f"expected 4-bit codes of {k} items in {len(scales)} dimensions")
    if not (np.isfinite(scales) & (scales >= 0) & (scales <= MAX_SCALE)).all():
        raise OutOfRange("a scale of a local model", f"from 0 to {MAX_SCALE:g}")
    pairs = np.frombuffer(codes, dtype=np.uint8)
    halves = np.stack([pairs & 15, pairs >> 4], axis=1).ravel()
    if halves[size:].any():
        raise Malformed("the codes of a local model end in something else")
    steps = halves[:size].astype(np.float32).reshape(k, len(scales)) - _MIDDLE
    decoded: NDArray[np.float32] = steps * scales.astype(np.float32)
    return decoded
