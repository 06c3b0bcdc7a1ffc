"""The running privacy loss of a sequence of charges, and filters that refuse before a cap."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.privacy import ApproximateDP, NeighboringRelation


@dataclass(frozen=True, kw_only=True)
class PrivacyBudget:
    """A cap on the total loss: (epsilon, delta), exact.

    slack: the part of delta that the conversion from zCDP may use; charged once, with the first
    bounded-range charge. 0 means that such charges are added like all others.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class PayWhatYouGet:
    """The terms of one analyst: k* outcomes in at most l* calls of LimitedDomain.

    epsilon per outcome and delta per call; every answer costs its length, the stop included.
    """

    k_star: int
    l_star: int
    epsilon: Fraction
    delta: Fraction
    slack: Fraction
    neighbors: NeighboringRelation

    def total_loss(self) -> ApproximateDP:
        """(epsilon*(k*), 2 l* delta + slack): what the whole of it costs the data set."""
        raise NotImplementedError
