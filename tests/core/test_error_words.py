"""What a refused parameter is told: the value as a person writes it, no word of Python's types."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askew.errors import ParameterError


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0", "got '0'"),
        (0, "got 0"),
        (np.float64(0.5), "got 0.5"),
        (Fraction(1, 3), "got 1/3"),
        (("next", 1), "got 'next', 1"),
        ((), "got none"),
        (None, "got None"),
        ("x" * 1000, f"got '{'x' * 199}..."),
        ("a\x1b[31m", r"got 'a\x1b[31m'"),
    ],
)
def test_a_value_is_shown_as_it_is_written(value: object, words: str) -> None:
    """Planted bugs: the type's name behind it; numpy's or Fraction's own repr; control characters
    that reach a terminal; a message of any length.
    """
    assert str(ParameterError("it", value, "small")) == f"it must be small, {words}"
