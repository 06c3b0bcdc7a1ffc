"""What mechanisms accept, how they name items, and how results are scored."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from benchmarks.papers.canonical import GOOD, GREAT, TOP, probability_of, ranks
from mechanisms.streams import LIMITED, MECHANISMS, built

from askew.dp.composition import concentrated_epsilon, rho_of
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, PureDP
from askew.errors import ParameterError
from askew.mechanisms import Canonical, ConcentratedPeeling, Lipschitz
from askew.mechanisms.shortfall import LOG_ERROR, log_binomials, log_runs
from askew.mechanisms.tally import Integers, Tally
from askew.noise.randomness import ReplayBits, SystemBits

ONE = ADD_OR_REMOVE_ONE
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in MECHANISMS),
    ("OneShot", {"noise": "laplace"}),
    ("Canonical", {"noise": "laplace"}),
]
ALL = [built(name, k=3, **changed) for name, changed in VARIANTS]


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
class TestEveryMechanism:
    @pytest.mark.parametrize("dtype", [np.int32, np.uint64])
    def test_it_takes_any_integer_dtype(self, mechanism: Canonical, dtype: type) -> None:
        counts: Integers = np.array([0, 10**8, 5, 3 * 10**8, 2 * 10**8, 1], dtype)
        chosen = mechanism.select(counts, bits=SystemBits())
        assert sorted(chosen) == [1, 3, 4]
        assert all(type(item) is int for item in chosen)

    def test_it_keeps_counts_beyond_2_to_the_53_apart(self, mechanism: Canonical) -> None:
        base = 2**60
        counts = [base, base + 300, base + 1, base + 400, base + 350, base]
        assert sorted(mechanism.select(counts, bits=SystemBits())) == [1, 3, 4]

    def test_it_refuses_fewer_items_than_k(self, mechanism: Canonical) -> None:
        if type(mechanism).__name__ in LIMITED:
            return  # an unknown domain may hold fewer than k items
        with pytest.raises(ParameterError, match="at least 3 items"):
            mechanism.select([5, 4], bits=ReplayBits(b""))

    def test_a_float_epsilon_is_refused_with_advice(self, mechanism: Canonical) -> None:
        with pytest.raises(ParameterError, match=r"Fraction\(1, 10\), not 0.1"):
            type(mechanism)(**{**vars(mechanism), "epsilon": 0.5})


def test_fractions_are_scores_of_a_stated_sensitivity() -> None:
    """Scores may move both ways, so their rate is half of that of counts."""
    mechanism = Lipschitz(epsilon=1, neighbors=ONE, linf_sensitivity=Fraction(1, 7))
    assert Fraction(7, 2) == mechanism.rate
    scores: list[int | Fraction] = [Fraction(1, 3), Fraction(999, 7), 2]
    assert mechanism.select(scores, bits=SystemBits()) == (1,)


def test_monotone_scores_take_the_gain_only_where_it_holds() -> None:
    for neighbors, rate in ((ONE, Fraction(1)), (REPLACE_ONE, Fraction(1, 2))):
        scores = Lipschitz(epsilon=1, neighbors=neighbors, linf_sensitivity=1, monotone=True)
        assert scores.rate == rate


def test_a_smaller_kappa_costs_more() -> None:
    mechanism = Lipschitz(k=10, kappa=5, epsilon=1, neighbors=ONE)
    assert PureDP(Fraction(2), ONE) == mechanism.privacy_loss()


@pytest.mark.parametrize(("n", "r"), [(5, 2), (17770, 100), (17770, 17000)])
def test_log_binomials_are_within_their_bound(n: int, r: int) -> None:
    expected = log(comb(n, r))
    got = float(log_binomials(np.array([float(n)]), np.array([float(r)]))[0])
    assert abs(got - expected) < 2.0**-46 * (expected + 40)


@pytest.mark.parametrize(
    ("high", "low", "r"), [(9, 2, 3), (17000, 16990, 100), (17000, 100, 7), (60, 59, 60)]
)
def test_logs_of_runs_are_within_their_bound(high: int, low: int, r: int) -> None:
    expected = log(comb(high, r) - comb(low, r))
    arguments = (np.array([float(x)]) for x in (high, low, r))
    assert abs(float(log_runs(*arguments)[0]) - expected) < LOG_ERROR * (expected + 40) + 1e-12


@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("clipped", [True, False])
def test_qualities_have_the_probability_of_their_subsets(gamma: Fraction, clipped: bool) -> None:
    """Against the sum over all 252 subsets of ten items, for a quality that splits classes."""
    counts, k = [9, 8, 8, 6, 5, 5, 5, 4, 1, 0], 5
    mechanism = Canonical(k=k, epsilon=1, neighbors=ONE, gamma=gamma, clipped=clipped)

    def weight(subset: tuple[int, ...]) -> float:
        inside = counts[subset[-1]]
        outside = max(c for i, c in enumerate(counts) if i not in subset)
        outside = max(outside, inside) if clipped else outside
        return exp(-float((1 - gamma) * outside - gamma * inside))

    subsets = list(combinations(range(10), k))
    total = sum(map(weight, subsets))
    for quality, (must, within) in ((TOP, (5, 5)), (GREAT, (1, 5)), (GOOD, (1, 7))):
        assert (must, within) == ranks(quality, k)
        inside = [s for s in subsets if s[must - 1] == must - 1 and s[-1] < within]
        expected = sum(map(weight, inside)) / total
        measured = probability_of(mechanism, quality, np.array(counts))
        assert measured == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("k", "by_the_paper"), [(10, 0.118216427857), (50, 0.052867993749)])
def test_concentrated_peeling_spends_its_whole_budget(k: int, by_the_paper: float) -> None:
    """A sixth more per round than the paper's conversion allows.

    Planted bugs: that conversion; the share of the sum, epsilon / k.
    """
    delta = Fraction(1, 10**6)
    mechanism = ConcentratedPeeling(k=k, epsilon=1, delta=delta, neighbors=ONE)
    assert float(mechanism.epsilon_per_round) == pytest.approx(1.1808 * by_the_paper, rel=1e-4)
    spent = concentrated_epsilon(rho_of(mechanism.ranged_loss()), delta)
    assert 1 - Fraction(1, 10**9) <= spent <= 1


LOW = 1 << 16  # the table of `Tally.items_at` tells values apart by their bits below this
CROWDS = {
    "few values": np.random.default_rng(1).integers(0, 9, 300),
    "alike in their low bits": np.random.default_rng(2).integers(-4, 5, 300) * LOW,
    "some alike": np.random.default_rng(3).choice([3, 3 + LOW, 3 - LOW, 7, 7 + 2**50, -1], 300),
    "wide": np.random.default_rng(4).integers(-(2**60), 2**60, 300),
    "one value": np.full(20, 5),
}


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("asked", [1, 7, 20])
def test_items_at_ranks_are_those_of_a_stable_sort(crowd: str, asked: int) -> None:
    counts = CROWDS[crowd]
    order = np.argsort(-counts, kind="stable")
    rng = np.random.default_rng(asked)
    for places in (range(asked), *(rng.choice(len(counts), asked) for _ in range(20))):
        assert Tally(counts, 1).items_at([*places]) == tuple(order[[*places]].tolist())
