"""The bound holds for every channel, and a program that knows all channels comes close to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from askew.errors import ParameterError
from askew.lattice import Lattice
from askew.randomized_response import RandomizedResponse
from askew.retrieval.likelihood import lattice_log_likelihood, response_log_likelihood
from askew_server.evaluation.channel import certificate, channel_bound
from askew_server.evaluation.group_scores import GroupScores
from askew_server.evaluation.interests import LEVELS, BitLaw

Array = NDArray[np.float64]
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE, ITEMS = 5, 6
SCORES = np.random.default_rng(4).gamma(0.5, size=(PEOPLE, ITEMS)).astype(np.float32)
GROUP = GroupScores.of(SCORES)
ALIKE = np.full(PEOPLE, 1 / PEOPLE)


def worth(k: int) -> Array:
    """What each slate of k items is worth to each person, (n, slates)."""
    slates = list(combinations(range(ITEMS), k))
    return np.stack([SCORES[:, list(slate)].max(axis=1) for slate in slates], axis=1)


@cache
def best_channel(epsilon: float, k: int) -> float:
    """Every answer of a channel is, up to its size, one of the corners {1, E}^n: a linear program
    over corners and slates (Kairouz, Oh, Viswanath 2016) is exact.
    """
    corners = np.array(list(product((1.0, math.exp(epsilon)), repeat=PEOPLE)))
    value = (corners / PEOPLE) @ worth(k)  # (corners, slates); a corner takes its best slate
    found = linprog(-value.max(axis=1), A_eq=corners.T, b_eq=np.ones(PEOPLE))
    assert found.fun is not None
    return float(-found.fun)


def best_server(law: Array, k: int) -> float:
    """What people (n, answers) get from a server that knows them all and answers each signal with
    the slate that is best for it.
    """
    return float(((law.T / PEOPLE) @ worth(k)).max(axis=1).sum())


def laws(epsilon: float) -> Iterator[Array]:
    """Every mechanism that is evaluated, P(signal | person) by its exact law, for several people
    in several places.
    """
    rng = np.random.default_rng(9)
    for n_buckets in (2, 3, PEOPLE):
        response = RandomizedResponse.for_epsilon(n_buckets, Fraction(epsilon))
        own = np.arange(PEOPLE) % n_buckets
        logs = [response_log_likelihood(response, b, own) for b in range(n_buckets)]
        yield np.exp(np.array(logs)).T
    for d in (1, 2):
        points = rng.random((PEOPLE, d)) * 2  # diameter 2 d
        lattice = coarse(epsilon / (2 * d))
        reach = range(-40, 60) if d == 1 else range(-12, 20)
        signals = product(reach, repeat=d)
        logs = [lattice_log_likelihood(lattice, signal, points) for signal in signals]
        listed = np.exp(np.array(logs)).T
        yield np.column_stack([listed, 1 - listed.sum(axis=1)])  # all farther signals as one
    law = BitLaw.for_epsilon(epsilon, interests=2)
    levels = rng.integers(LEVELS, size=(PEOPLE, 2))
    every = np.array(list(product((False, True), repeat=2 * LEVELS))).reshape(-1, 2, LEVELS)
    yield np.exp(np.array([law.log_likelihood(bits, levels) for bits in every])).T


def coarse(epsilon: float) -> Lattice:
    """A lattice of at most this epsilon per distance with few enough points to list."""
    return Lattice(2, math.ceil(4 / epsilon))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_rule_exceeds_the_best_channel_and_that_not_the_bound(epsilon: float, k: int) -> None:
    """Planted bugs: E - 2 for E - 1; u only 1; the largest G alone; no (s - b)+."""
    best, bound = best_channel(epsilon, k), channel_bound(GROUP, epsilon, k)
    for law in laws(epsilon):
        assert law.sum(axis=1) == pytest.approx(1)
        assert (law.max(axis=0) <= math.exp(epsilon) * law.min(axis=0) * (1 + 1e-9)).all()
        assert best_server(law, k) <= best + 1e-9
    assert best <= bound + 1e-5


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_bound_is_close_to_the_best_channel(epsilon: float) -> None:
    """Or everybody's own best would do as a bound."""
    for k in (1, 2, 3):
        own = float(SCORES.max(axis=1).mean())
        left = own - best_channel(epsilon, k)
        assert channel_bound(GROUP, epsilon, k) <= best_channel(epsilon, k) + 0.5 * left + 1e-6
    assert channel_bound(GROUP, 0.5, 1) <= 1.03 * best_channel(0.5, 1)


def test_any_thresholds_make_a_bound() -> None:
    rng = np.random.default_rng(2)
    for epsilon, k in product(EPSILONS, (1, 2, 3)):
        best = best_channel(epsilon, k)
        for _ in range(200):
            at = rng.random((2, PEOPLE)) * SCORES.max(axis=1)
            found = certificate(SCORES, ALIKE, math.exp(epsilon), k, at).bound
            assert found >= best - 1e-5


def test_more_items_or_a_larger_epsilon_never_lower_the_bound_below_a_channel() -> None:
    """A slate for everybody is a channel of every epsilon; one's own best is beyond all."""
    for epsilon, k in product(EPSILONS, (1, 2, 3)):
        bound = channel_bound(GROUP, epsilon, k)
        assert worth(k).mean(axis=0).max() <= bound + 1e-6
        assert bound <= SCORES.max(axis=1).mean() + 1e-6


def test_what_is_seen_is_worth_nothing() -> None:
    seen = SCORES.copy()
    seen[:, 2] = -1
    without = np.delete(SCORES, 2, axis=1)
    assert channel_bound(GroupScores.of(seen), 1.0, 2) == pytest.approx(
        channel_bound(GroupScores.of(without), 1.0, 2), rel=0.01
    )


def test_a_bound_of_nothing_is_nothing() -> None:
    assert channel_bound(GroupScores.of(np.zeros((3, 4), dtype=np.float32)), 1.0, 2) == 0.0


@pytest.mark.parametrize(("epsilon", "k"), [(0.0, 1), (math.nan, 1), (1.0, 0), (1.0, ITEMS + 1)])
def test_a_channel_that_makes_no_sense_is_refused(epsilon: float, k: int) -> None:
    with pytest.raises(ParameterError):
        channel_bound(GROUP, epsilon, k)
