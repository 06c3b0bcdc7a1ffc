"""Stored numbers as the decimals that they were: 23.6 again, and not the float32 beside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SIX_DIGITS = 10**6


def decimals(stored: NDArray[np.float32]) -> list[float]:
    """Of each the number of fewest digits that is stored alike, as a float64; NaN stays NaN."""
    with np.errstate(invalid="ignore"):  # a NaN of any bits
        wide = stored.astype(np.float64)
    hundredths = np.rint(wide * 100)
    found: NDArray[np.float64] = hundredths / 100
    # No two decimals of six digits are stored alike, so one of them has the fewest.
    few = bool((np.abs(hundredths) < _SIX_DIGITS).all())
    if few and np.array_equal(found.astype(np.float32), stored):
        short: list[float] = found.tolist()
        return short
    return [float(str(each)) for each in stored]
