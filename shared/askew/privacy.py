"""What a guarantee says: who is protected, how closely, in which unit.

Metric (geographic) differential privacy, Andrés et al. 2013: for all profiles u, v and every set S
of signals, P(signal in S | u) <= exp(epsilon_per_distance * distance(u, v)) * P(signal in S | v).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Metric = Literal["l1"]


@dataclass(frozen=True)
class MetricPrivacy:
    """The loss of one fresh signal.

    Privacy unit: one profile, which is the whole of what the device knows of its person.
    Unit of epsilon_per_distance: 1 / distance in the named metric of the feature space.
    Fresh signals compose by addition; a signal that is sent again costs nothing.
    """

    epsilon_per_distance: Fraction
    metric: Metric = "l1"

    def at_distance(self, distance: float) -> float:
        """The ordinary epsilon between two profiles that far apart."""
        return float(self.epsilon_per_distance) * distance
