"""What one signal costs, beside every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """What one signal costs its sender; None throughout where none is sent.

    epsilon: plain, between any two people: the currency in which mechanisms are compared.
    per_rating: between two people who differ in one rating. per_distance: the mechanism's own
    parameter where its promise grows with distance, and None where every pair is protected alike.
    """

    epsilon: float | None
    per_rating: float | None
    per_distance: float | None


NO_SIGNAL = Guarantee(None, None, None)


def alike(epsilon: float) -> Guarantee:
    """Of a mechanism that protects every pair alike, who differ in one rating or in all."""
    return Guarantee(epsilon, epsilon, None)
