"""A ratio of means with its standard error."""

from __future__ import annotations

import numpy as np

from askew_server.taste.measures import Estimate, Gains


def ratio_of(reached: Gains, possible: Gains) -> Estimate:
    """sum reached / sum possible, with the standard error of a ratio of means (linearized)."""
    known = ~(np.isnan(reached) | np.isnan(possible))
    reached, possible = reached[known], possible[known]
    if not possible.sum() > 0:
        return Estimate(float("nan"), float("nan"))
    ratio = float(reached.sum() / possible.sum())
    spread = (reached - ratio * possible).std() / np.sqrt(len(reached))
    return Estimate(ratio, float(spread / possible.mean()))
