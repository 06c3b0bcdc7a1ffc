"""Exact numbers as the text that the ledger and its anchor keep: "4", "1/3"."""

from __future__ import annotations

import re
from fractions import Fraction

_STORED = re.compile("[0-9]+(/[1-9][0-9]*)?")  # nothing that is stored is negative


def rational_of(text: str) -> Fraction:
    """The number whose `str` is this text. Raises ValueError for a negative one and for any other
    text, also where it means a number: "1e999999999" would take all memory to read.
    """
    if _STORED.fullmatch(text) is None:
        raise ValueError
    value = Fraction(text)
    if str(value) != text:
        raise ValueError
    return value
