"""Laplace noise on counts is as wide as the neighboring relation asks for."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest
from mechanisms.streams import ShakeBits, p_value

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation
from askew.mechanisms import LaplaceCounts

EPSILON, GAP, DRAWS = Fraction(4), 3, 1000
RELATIONS = [(ADD_OR_REMOVE_ONE, 1), (REPLACE_ONE, 2)]  # how often max_items_per_unit counts


@pytest.mark.parametrize(("neighbors", "times"), RELATIONS)
def test_the_noise_has_the_scale_of_the_whole_change(
    neighbors: NeighboringRelation, times: int
) -> None:
    """P(the item that is GAP behind wins) = exp(-x) (1/2 + x/4), x = GAP / scale: the tail of the
    difference of two Laplace variables. Planted bug: the sensitivity not doubled.
    """
    noisy = LaplaceCounts(k=1, epsilon=EPSILON, neighbors=neighbors, max_items_per_unit=6)
    bits = ShakeBits(neighbors.name)

    def p(scale: Fraction) -> float:
        x = float(GAP / scale)
        behind = exp(-x) * (0.5 + x / 4)
        law = {"(0,)": 1 - behind, "(1,)": behind}
        return p_value(lambda: str(noisy.select([GAP, 0], bits=bits)), law, DRAWS)

    assert p(times * 6 / EPSILON) > 1e-4
    assert p((3 - times) * 6 / EPSILON) < 1e-18  # the scale of the other relation is rejected
