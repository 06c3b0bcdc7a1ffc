"""The entries of a device's ledger. Without I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from askew.dp.privacy import ANY_SPACE

_STORED = re.compile("[0-9]+(/[1-9][0-9]*)?")  # nothing that is stored is negative


def rational_of(text: str) -> Fraction:
    """Return the number whose `str` is this text. Raises ValueError for a negative one and for any
    other text, also where it means a number: "1e999999999" would take all memory to read.
    """
    if _STORED.fullmatch(text) is None:
        raise ValueError
    value = Fraction(text)
    if str(value) != text:
        raise ValueError
    return value


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. kind: "signal", or "accept" for the person's act.

    epsilon_per_rating and epsilon_per_km are what it cost (`SignalCharge`). handle: of the place or
    value whose signal it is, or "" for tastes. signal is the stored signal.
    """

    kind: str
    space_version: str
    month: str
    epsilon_per_rating: Fraction
    signal: bytes | None = field(repr=False, default=None)
    handle: str = field(repr=False, default="")
    epsilon_per_km: Fraction = Fraction(0)

    @property
    def adds(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return what this entry adds to the accounts of ratings, of values on axes, and of places.

        A value on axes has a server's space and a handle; a taste has no handle, a place no space.
        What was booked for losses counts in full for ratings and for values.
        """
        cost, none = self.epsilon_per_rating, Fraction(0)
        of_axes = bool(self.space_version and self.handle)
        booked = self.kind == "accept"
        return none if of_axes else cost, cost if of_axes or booked else none, self.epsilon_per_km

    @property
    def lasts(self) -> bool:
        """Return True if this entry has a place's signal: one for every month, of no server's
        space.
        """
        return self.signal is not None and self.space_version == ANY_SPACE
