"""What one signal costs, beside every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """What one signal costs, in the three units that belong together; None where none is sent.

    per_distance is None for randomized response, whose bound is the same for every pair.
    """

    per_distance: float | None
    per_rating: float | None
    any_two: float | None


NO_SIGNAL = Guarantee(None, None, None)
