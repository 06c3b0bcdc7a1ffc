"""Audits of one-shot noise: the law of the selected set, on all small vectors.

With T the highest noisy score outside S, P(S) = integral of product of P(Z > t - score_i) dP(T):
for exponential and Laplace noise to 60 digits, for logistic and half-logistic noise by 40
Gauss-Legendre nodes a piece, an error below 1e-12 (the laws add to one, a test here).

Planted bugs caught: a missing kappa, a missing factor 2. On {0,1,2,3}^3 one-shot Laplace passes
the audit without its factor 2, at 1.99 for a bound of 2: with k = 2 of 3 items only one item is
outside, and the ratio for it and for the two inside cannot all be in the tails of the noise at
once, where alone a step of score moves a probability by its whole. {0,1,2,3}^4 sees it, at 3.6,
and wide gaps (`a_set_far_behind`) reach the bound.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import log

import numpy as np
import pytest
from guarantees import definitions
from guarantees.definitions import grid
from guarantees.enumeration import (
    Counts,
    HasLaw,
    Law,
    by_symmetry,
    with_one_more,
    with_one_replaced,
    worst_log_ratio,
)
from mechanisms.streams import ShakeBits, p_value
from scipy.stats import halflogistic, logistic

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation
from askew.mechanisms import Lipschitz, OneShot
from askew.mechanisms.contest import FAMILIES, NoiseFamily

EPSILON, ALMOST = 2, Decimal("1e-40")
NOISE: tuple[NoiseFamily, ...] = tuple(family for family in FAMILIES if family != "gumbel")
AUDITED: tuple[NoiseFamily, ...] = ("exponential", "laplace")
BY_QUADRATURE = {"logistic": logistic, "half-logistic": halflogistic}


@cache
def one_shot_law(noise: NoiseFamily, rate: Fraction, k: int) -> HasLaw:
    """From the definition; `rate` is what one count adds to a score."""
    exact = definitions.one_shot(noise, rate, k)
    return by_symmetry(exact if noise in AUDITED else quadrature(noise, rate, k), sets=True)


def quadrature(noise: NoiseFamily, rate: Fraction, k: int) -> HasLaw:
    family = BY_QUADRATURE[noise]

    def law(counts: Counts) -> Law:
        scores = [float(rate) * (count - max(counts)) for count in counts]
        t, weights = grid(scores)
        above = [family.sf(t - score) for score in scores]
        below = [family.cdf(t - score) for score in scores]
        density = [family.pdf(t - score) for score in scores]
        found: Law = {}
        for inside in combinations(range(len(counts)), k):
            outside = [j for j in range(len(counts)) if j not in inside]
            highest = sum(
                density[j] * np.prod([below[i] for i in outside if i != j], axis=0) for j in outside
            )
            beaten = np.prod([above[i] for i in inside], axis=0)
            found[inside] = Fraction(float(np.sum(weights * highest * beaten)))
        return found

    return law


def law_of_mechanism(mechanism: OneShot) -> HasLaw:
    """The law at the rate that the mechanism runs at."""
    return one_shot_law(mechanism.noise, Lipschitz(**vars(mechanism)).rate, mechanism.k)


def build(noise: NoiseFamily, k: int, neighbors: NeighboringRelation, epsilon: int) -> OneShot:
    return OneShot(k=k, epsilon=epsilon, neighbors=neighbors, noise=noise)


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("counts", [(3, 1, 0), (2, 2, 1, 0), (3, 0, 0)])
def test_the_quadrature_adds_to_one(noise: NoiseFamily, counts: Counts) -> None:
    law = one_shot_law(noise, Fraction(1), 2)(counts)
    assert float(sum(law.values())) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("counts", [(3, 1, 0), (2, 2, 1, 0)])
def test_the_mechanism_has_the_law_of_its_definition(noise: NoiseFamily, counts: Counts) -> None:
    """1,500 draws from fixed bits; a run without kappa is rejected on the same bits."""
    mechanism = build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON)
    wrong = Lipschitz(**vars(mechanism), kappa=1)
    expected = {str(o): float(p) for o, p in law_of_mechanism(mechanism)(counts).items()}
    name, drawn = f"{noise}{counts}", list(counts)
    right_bits, wrong_bits = ShakeBits(name), ShakeBits(name)
    assert p_value(lambda: str(mechanism.select(drawn, bits=right_bits)), expected, 1500) > 1e-4
    assert p_value(lambda: str(wrong.select(drawn, bits=wrong_bits)), expected, 1500) < 1e-9


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("neighbors", [ADD_OR_REMOVE_ONE, REPLACE_ONE], ids=lambda n: n.name)
def test_no_unit_moves_a_set_by_more_than_epsilon(
    noise: NoiseFamily, k: int, neighbors: NeighboringRelation
) -> None:
    law = law_of_mechanism(build(noise, k, neighbors, EPSILON))
    moves = with_one_more if neighbors is ADD_OR_REMOVE_ONE else with_one_replaced
    for d in range(k + 1, 5):  # with d = k there is one set
        assert worst_log_ratio(law, d, moves) <= EPSILON + ALMOST


@pytest.mark.audit
@pytest.mark.parametrize("noise", AUDITED)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("neighbors", [ADD_OR_REMOVE_ONE, REPLACE_ONE], ids=lambda n: n.name)
def test_no_unit_among_five_items_moves_a_set_by_more_than_epsilon(
    noise: NoiseFamily, k: int, neighbors: NeighboringRelation
) -> None:
    law = law_of_mechanism(build(noise, k, neighbors, EPSILON))
    moves = with_one_more if neighbors is ADD_OR_REMOVE_ONE else with_one_replaced
    assert worst_log_ratio(law, 5, moves) <= EPSILON + ALMOST


def ratio_of_a_set_far_behind(law: HasLaw, step: int) -> float:
    """Two items trail three by 16, then by `step` more; the threshold is rarely below both."""
    near, far = law((16, 16, 16, 0, 0))[3, 4], law((16 + step,) * 3 + (0, 0))[3, 4]
    return log(near / far)


@pytest.mark.parametrize("noise", AUDITED)
def test_the_bound_is_reached_by_a_set_far_behind(noise: NoiseFamily) -> None:
    law = law_of_mechanism(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON))
    assert 0.99 * EPSILON <= ratio_of_a_set_far_behind(law, 1) <= EPSILON + 1e-12


@pytest.mark.parametrize("noise", AUDITED)
def test_the_bound_is_reached_where_one_is_replaced(noise: NoiseFamily) -> None:
    """Replacing one lets the three rise and the two fall: the gap widens by 2."""
    law = law_of_mechanism(build(noise, 2, REPLACE_ONE, 2 * EPSILON))
    assert 0.99 * 2 * EPSILON <= ratio_of_a_set_far_behind(law, 2) <= 2 * EPSILON + 1e-12


@pytest.mark.parametrize("noise", AUDITED)
def test_the_audit_rejects_one_shot_without_kappa(noise: NoiseFamily) -> None:
    rate = Lipschitz(**vars(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON)), kappa=1).rate
    assert ratio_of_a_set_far_behind(one_shot_law(noise, rate, 2), 1) > 1.9 * EPSILON


@pytest.mark.parametrize("noise", AUDITED)
def test_the_audit_rejects_one_shot_without_the_factor_two(noise: NoiseFamily) -> None:
    rate = Lipschitz(**vars(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON))).rate
    assert ratio_of_a_set_far_behind(one_shot_law(noise, rate, 2), 2) > 1.9 * EPSILON


@pytest.mark.parametrize("noise", AUDITED)
def test_four_small_counts_see_what_three_do_not(noise: NoiseFamily) -> None:
    """The missing factor two: the module's docstring says why three items are too few."""
    rate = Lipschitz(**vars(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON))).rate
    law = one_shot_law(noise, rate, 2)
    assert worst_log_ratio(law, 4, with_one_replaced) > 1.8 * EPSILON
    if noise == "laplace":
        assert worst_log_ratio(law, 3, with_one_replaced) < EPSILON
