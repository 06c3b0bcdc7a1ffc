"""Ratings as columns, in the order of their rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings import fields
from askew_server.ratings.codes import Codes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_LARGEST = np.finfo(np.float64).max


class Rows(NamedTuple):
    """Codes of people and items, ratings, and times where they were asked for."""

    person: Codes
    item: Codes
    rating: Floats
    time: Floats | None

    def part(self, chosen: slice | Flags) -> Rows:
        """Some of the rows."""
        time = None if self.time is None else self.time[chosen]
        return Rows(self.person[chosen], self.item[chosen], self.rating[chosen], time)


def are_on_scale(ratings: Floats, *, counts: bool) -> Flags:
    """Whether each is a finite number that a column of ratings, or of counts, can hold."""
    low, high = (0, _LARGEST) if counts else (-fields.RATING_LIMIT, fields.RATING_LIMIT)
    return (ratings >= low) & (ratings <= high)  # nan is neither
