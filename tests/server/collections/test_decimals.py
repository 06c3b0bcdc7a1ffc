"""Numbers come back as the decimals of fewest digits that are stored alike."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew_server.collections.columns import decimals


@given(arrays(np.float32, st.integers(0, 5), elements=st.floats(width=32)))
@example(np.array([23.6, -0.0, 9999.99, -0.01], np.float32))
@example(np.array([10_000.0, 9999.995, 0.005], np.float32))
@example(np.array([262_144.09375], np.float32))  # .1 is as near as it is stored
@example(np.array([np.nan, 0.1], np.float32))
def test_by_the_digits_that_numpy_writes(stored: np.ndarray) -> None:
    assert list(map(repr, decimals(stored))) == [repr(float(str(each))) for each in stored]


def test_every_price_to_a_cent_is_itself() -> None:
    """Planted bug: hundredths in float32."""
    cents = np.arange(-999_999, 1_000_000)
    assert decimals((cents / 100).astype(np.float32)) == (cents / 100).tolist()
