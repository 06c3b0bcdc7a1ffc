"""The noisy matrix of likes keeps its promise: small users by enumeration, its noise by law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import exp, sqrt

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray
from scipy import stats

from askew.dp.composition import concentrated_epsilon
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP
from askew.errors import ParameterError
from askew.mechanisms.covariance import UNIT, Matrix, NoisyCovariance, covariance
from askew.noise.randomness import SystemBits

FALSE_ALARM = 1e-9  # of each test that draws
DELTA = Fraction(1, 10**6)
ONE = NoisyCovariance(Fraction(1), DELTA)
OTHERS = ((0, 2), (1,), (0, 1, 2, 3), ())  # who is in both data sets
ITEMS = 6


def users(items: int) -> list[tuple[int, ...]]:
    """All sets of likes but the empty one."""
    return [each for m in range(1, items + 1) for each in combinations(range(items), m)]


def loss(move: Matrix, mechanism: NoisyCovariance) -> Fraction:
    """The sum of d**2 / (2 variance) over the upper triangle: variance v, on the diagonal 2 v."""
    v = Fraction(UNIT**2, 4) / mechanism.rho
    places = zip(*np.triu_indices(len(move)), strict=True)
    return sum(
        (Fraction(int(move[i, j]) ** 2) / (2 * v * (2 if i == j else 1)) for i, j in places),
        Fraction(0),
    )


@pytest.mark.parametrize("likes", users(ITEMS), ids=str)
def test_every_small_user_costs_rho_and_no_more(
    likes: tuple[int, ...], record_property: Callable[[str, object], None]
) -> None:
    """And exactly rho where 2**24 can be parted among the likes. Planted bug: weights that are not
    floored.
    """
    move = covariance([*OTHERS, likes], ITEMS) - covariance(OTHERS, ITEMS)
    cost = loss(move, ONE)
    record_property("mechanism", "NoisyCovariance")
    record_property("claimed", float(ONE.rho))
    record_property("exact", float(cost))
    assert cost <= ONE.rho
    assert (cost == ONE.rho) == (len(likes) in (1, 2, 4))
    assert cost >= ONE.rho * (1 - Fraction(2 * len(likes), UNIT))


@pytest.mark.parametrize("m", [1, 3, 777, 1500])
def test_a_user_of_any_length_costs_rho(m: int) -> None:
    """The count of the places is the only thing that a user's loss depends on."""
    move = covariance([range(m)], 1500)
    w = UNIT // m
    assert np.array_equal(move[:m, :m], np.full((m, m), w))
    assert move.sum() == m**2 * w
    v = Fraction(UNIT**2, 4) / ONE.rho
    cost = (m * w**2 / (4 * v)) + (m * (m - 1) // 2 * w**2 / (2 * v))
    assert ONE.rho * (1 - Fraction(2 * m, UNIT)) <= cost <= ONE.rho


def test_a_matrix_counts_each_like_of_a_user_once_and_in_any_order() -> None:
    third = UNIT // 3
    expected = np.array(
        [[third, third, third], [third, third, third], [third, third, third + UNIT]]
    )
    assert np.array_equal(covariance([(2, 0, 1, 0), (2, 2)], 3), expected)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(4)])
def test_what_it_states_is_what_its_noise_costs(epsilon: Fraction) -> None:
    """Converted, it is at most epsilon; the variance is no wider than the next integer needs."""
    mechanism = NoisyCovariance(epsilon, DELTA)
    assert mechanism.privacy_loss() == ApproximateDP(epsilon, DELTA, ADD_OR_REMOVE_ONE)
    assert concentrated_epsilon(mechanism.rho, DELTA) <= epsilon
    assert concentrated_epsilon(mechanism.rho * (1 + Fraction(1, 2**20)), DELTA) > epsilon
    assert mechanism.sigma == pytest.approx(1 / sqrt(4 * mechanism.rho))


def delta_of_gaussian(rho: float, epsilon: float) -> float:
    """The least delta of Gaussian noise of this rho: Balle, Wang 2018, Theorem 8."""
    mu = sqrt(2 * rho)
    upper = stats.norm.sf(epsilon / mu - mu / 2)
    return float(upper - exp(epsilon) * stats.norm.sf(epsilon / mu + mu / 2))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(4)])
def test_no_set_of_outputs_needs_more_than_delta(epsilon: Fraction) -> None:
    """And with half the variance one would, by a factor of 20 at least."""
    rho = float(NoisyCovariance(epsilon, DELTA).rho)
    assert DELTA / 10 < delta_of_gaussian(rho, float(epsilon)) <= DELTA
    assert delta_of_gaussian(2 * rho, float(epsilon)) > 20 * DELTA


@cache
def noise(items: int) -> Matrix:
    """What is added to a matrix that is not zero, by the kernel's bits."""
    matrix = covariance([range(0, items, 2), range(items), (1, 2)], items)
    kept = matrix.copy()
    noisy = ONE.perturb(matrix, bits=SystemBits())
    assert np.array_equal(matrix, kept)
    return noisy - kept


def fits(draws: NDArray[np.int64], variance: float) -> bool:
    """The sum of squares, and 32 cells that are equally likely: a false alarm each in 10**9."""
    edges = stats.norm.ppf(np.arange(1, 32) / 32) * sqrt(variance)
    found = np.bincount(np.searchsorted(edges, draws), minlength=32)
    squares = stats.chi2.cdf(((draws / sqrt(variance)) ** 2).sum(), len(draws))
    p = min(stats.chisquare(found).pvalue, 2 * squares, 2 * (1 - squares))
    return bool(p > FALSE_ALARM)


V = float(Fraction(UNIT**2, 4) / ONE.rho)


@pytest.mark.parametrize(
    ("offset", "variance"),
    [(0, 2 * V), (1, V), (2, V), (700, V)],
    ids=["diagonal", "1", "2", "700"],
)
def test_each_place_has_the_noise_that_the_proof_says(offset: int, variance: float) -> None:
    """Along a diagonal, 800 to 1,500 draws. Power: half, or twice, the variance is missed in fewer
    than one of 10**13 runs. Planted bugs: plain noise on the diagonal; half the noise.
    """
    along = np.diagonal(noise(1500), offset)
    assert fits(along, variance)
    assert not fits(along, variance / 2)
    assert not fits(along, variance * 2)


def test_a_row_and_the_whole_have_the_law_and_a_tenth_more_is_seen() -> None:
    """A million draws. Planted bug: rows that share a draw."""
    everything = noise(1500)
    beside = everything[np.triu_indices(1500, 1)]
    assert fits(beside, V)
    assert not fits(beside, 1.1 * V)
    assert not fits(beside, V / 1.1)
    for row in (0, 1, 100, 600):
        assert fits(everything[row, row + 1 :], V)


def test_the_noisy_matrix_is_symmetric() -> None:
    """Both triangles apart would have half the variance in their mean. Planted bug: noise drawn for
    the whole square.
    """
    assert np.array_equal(noise(1500), noise(1500).T)


def test_no_two_places_share_a_draw() -> None:
    """At sigma = 2**11 the draws spread over 2**36 integers: of 20,100, two are equal by chance in
    one run of 300, and these bits are the same in every run. Planted bug: a row used again.
    """
    wide = NoisyCovariance(Fraction(1, 1000), DELTA)
    noisy = wide.perturb(np.zeros((200, 200), np.int64), bits=ShakeBits("no draw is shared"))
    drawn = np.abs(noisy[np.triu_indices(200)])
    assert len(np.unique(drawn)) == len(drawn)


def test_two_noisy_matrices_have_nothing_in_common() -> None:
    """The noise of a place says nothing of its neighbor's, nor of the second release."""
    once, again = noise(1500), ONE.perturb(np.zeros((1500, 1500), np.int64), bits=SystemBits())
    rows, columns = np.triu_indices(1500, 2)
    assert fits(once[rows, columns] + again[rows, columns], 2 * V)
    even = columns % 2 == 0  # so that no draw is in two sums
    assert fits((once[rows, columns] + once[rows, columns - 1])[even], 2 * V)
    even = rows % 2 == 0
    assert fits((once[rows, columns] + once[rows + 1, columns])[even], 2 * V)


def test_a_like_outside_the_catalog_is_refused_and_not_repeated() -> None:
    for likes in ((-1,), (ITEMS,), (0, 6_543_210)):
        with pytest.raises(ParameterError, match="places from 0 to 5") as refused:
            covariance([likes], ITEMS)
        assert "6543210" not in str(refused.value)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((2, 3), np.int64),
        np.zeros((0, 0), np.int64),
        np.zeros((2, 2)),
        np.array([[4_321, 5], [6, 7]]),
        -np.eye(2, dtype=np.int64),
        np.full((2, 2), 2**62),
    ],
    ids=["no square", "empty", "floats", "asymmetric", "negative", "too large"],
)
def test_what_is_no_such_matrix_is_refused_and_not_repeated(matrix: Matrix) -> None:
    with pytest.raises(ParameterError, match="a symmetric square of 64-bit integers") as refused:
        ONE.perturb(matrix, bits=SystemBits())
    assert "4321" not in str(refused.value)


def test_an_epsilon_whose_noise_would_be_too_wide_is_refused() -> None:
    for epsilon in (Fraction(1, 10**6), Fraction(1, 10**30)):
        with pytest.raises(ParameterError, match="epsilon must be large"):
            replace(ONE, epsilon=epsilon)
