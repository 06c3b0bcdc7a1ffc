"""The device's settings. Static: none depends on the profile, and none comes from a server."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

from askew.errors import ParameterError
from askew.lattice import Lattice
from askew.placement.answer import check_k


@dataclass(frozen=True)
class ClientSettings:
    """How a device asks.

    epsilon: per unit distance, for one fresh signal. k: results per question.
    lifetime_cap: the sum of epsilon over all fresh signals that this device will ever send.
    max_diameter: the widest feature space that this device enters. That distance 1 is the median
    distance between two people is only what a server says; epsilon * max_diameter bounds the loss
    of one signal between any two profiles whether that is true or not.
    timeout: seconds for one call. Raises ParameterError for a setting out of range.
    """

    epsilon: Fraction = Fraction(4)
    k: int = 8
    lifetime_cap: Fraction = Fraction(48)
    max_diameter: float = 6.0
    timeout: float = 5.0

    def __post_init__(self) -> None:
        check_k(self.k)
        Lattice.for_epsilon(self.epsilon)
        if self.lifetime_cap <= 0:
            raise ParameterError("lifetime_cap", str(self.lifetime_cap), "positive")
        if not 0 < self.max_diameter < float("inf"):
            raise ParameterError("max_diameter", self.max_diameter, "positive and finite")
        if not 0 < self.timeout < float("inf"):
            raise ParameterError("timeout", self.timeout, "positive and finite")


def slot_of(day: datetime.date) -> str:
    """The slot of a day: its calendar month, "2026-11". One signal serves a whole slot."""
    return f"{day:%Y-%m}"
