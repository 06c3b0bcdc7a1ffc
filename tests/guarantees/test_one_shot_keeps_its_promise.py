"""Audits of one-shot noise: the law of the selected set by quadrature, on all small vectors.

With T the highest noisy score outside S, P(S) = integral of product of P(Z > t - score_i) dP(T).
Both factors are smooth between scores, where 40 Gauss-Legendre nodes a piece leave an error below
1e-13 (the laws add to one, a test here); beyond 40 the tail weighs below 1e-16.

Planted bugs caught: a missing kappa, a missing factor 2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import log

import numpy as np
import pytest
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
from numpy.typing import NDArray
from scipy.stats import expon, halflogistic, laplace, logistic

from askew.mechanisms import Lipschitz, OneShot
from askew.mechanisms.noise import NoiseFamily
from askew.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation

EPSILON, ALMOST = 2, 1e-8
NOISE = {
    "exponential": expon,
    "laplace": laplace,
    "logistic": logistic,
    "half-logistic": halflogistic,
}
AUDITED: tuple[NoiseFamily, ...] = ("exponential", "laplace")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def grid(breaks: list[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights on [-40, 40] beyond the breaks, pieces of at most 4 between them."""
    edges = sorted({*breaks, *np.arange(min(breaks) - 40, max(breaks) + 41, 4.0).tolist()})
    halves = np.diff(edges)[:, None] / 2
    middles = np.array(edges)[:-1, None] + halves
    return (middles + halves * NODES).ravel(), (halves * WEIGHTS).ravel()


def one_shot_law(noise: NoiseFamily, rate: Fraction, k: int) -> HasLaw:
    """From the definition; `rate` is what one count adds to a score."""
    family = NOISE[noise]

    @cache
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

    return by_symmetry(law, sets=True)


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


@pytest.mark.parametrize("noise", AUDITED)
@pytest.mark.parametrize(("d", "k"), [(2, 1), (3, 1), (3, 2)])
def test_adding_one_moves_no_set_by_more_than_epsilon(noise: NoiseFamily, d: int, k: int) -> None:
    law = law_of_mechanism(build(noise, k, ADD_OR_REMOVE_ONE, EPSILON))
    assert worst_log_ratio(law, d, with_one_more) <= EPSILON + ALMOST


@pytest.mark.parametrize("noise", AUDITED)
@pytest.mark.parametrize(("d", "k"), [(2, 1), (3, 1), (3, 2)])
def test_replacing_one_moves_no_set_by_more_than_epsilon(
    noise: NoiseFamily, d: int, k: int
) -> None:
    law = law_of_mechanism(build(noise, k, REPLACE_ONE, EPSILON))
    assert worst_log_ratio(law, d, with_one_replaced) <= EPSILON + ALMOST


def ratio_of_a_set_far_behind(law: HasLaw, step: int) -> float:
    """Two items trail three by 16, then by `step` more; the threshold is rarely below both."""
    near, far = law((16, 16, 16, 0, 0))[3, 4], law((16 + step,) * 3 + (0, 0))[3, 4]
    return log(near / far)


@pytest.mark.parametrize("noise", AUDITED)
def test_the_bound_is_reached_by_a_set_far_behind(noise: NoiseFamily) -> None:
    law = law_of_mechanism(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON))
    assert 0.99 * EPSILON <= ratio_of_a_set_far_behind(law, 1) <= EPSILON + ALMOST


@pytest.mark.parametrize("noise", AUDITED)
def test_the_bound_is_reached_where_one_is_replaced(noise: NoiseFamily) -> None:
    """Replacing one lets the three rise and the two fall: the gap widens by 2."""
    law = law_of_mechanism(build(noise, 2, REPLACE_ONE, 2 * EPSILON))
    assert 0.99 * 2 * EPSILON <= ratio_of_a_set_far_behind(law, 2) <= 2 * EPSILON + ALMOST


@pytest.mark.parametrize("noise", AUDITED)
def test_the_audit_rejects_one_shot_without_kappa(noise: NoiseFamily) -> None:
    rate = Lipschitz(**vars(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON)), kappa=1).rate
    assert ratio_of_a_set_far_behind(one_shot_law(noise, rate, 2), 1) > 1.9 * EPSILON


@pytest.mark.parametrize("noise", AUDITED)
def test_the_audit_rejects_one_shot_without_the_factor_two(noise: NoiseFamily) -> None:
    rate = Lipschitz(**vars(build(noise, 2, ADD_OR_REMOVE_ONE, EPSILON))).rate
    assert ratio_of_a_set_far_behind(one_shot_law(noise, rate, 2), 2) > 1.9 * EPSILON
