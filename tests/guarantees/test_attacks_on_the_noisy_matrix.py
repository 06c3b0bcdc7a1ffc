"""Whoever knows all of a noisy matrix but one person: no guess is better than the proof allows.

The attacker has the noisy matrix, everybody else's likes and those of the person, and asks whether
that person was counted. Noise is independent and (nearly) Gaussian, so the best score of all
(Neyman, Pearson 1933) is the likelihood ratio

    score = sum over the upper triangle of (what is left) * (what the person adds) / variance

which is normal with variance mu**2 and mean 0 for a person who is not there, mu**2 for one who is,
mu = sqrt(2 rho). No membership attack on a model that is made of the matrix does better. Hence:

    hits at a false alarm rate a     Phi(Phi^-1(a) + mu)
    area under the curve             Phi(mu / sqrt 2): .56 at epsilon 1, delta 1e-6

People in blocks of items of their own do not disturb each other, so one matrix is as many trials as
it has blocks (Steinke, Nasr, Jagielski 2023: audits with one training). Bits and coins are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp, sqrt

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray
from scipy import optimize, stats

from askew.mechanisms.covariance import UNIT, Matrix, NoisyCovariance, covariance

DELTA = Fraction(1, 10**6)
FOUR = NoisyCovariance(Fraction(4), DELTA)
MU = sqrt(2 * float(FOUR.rho))
V = float(Fraction(UNIT**2, 4) / FOUR.rho)  # of the noise off the diagonal, as it is stated
FALSE_ALARM = 1e-6  # of each side of a bound
TRIALS, BLOCKS = 6000, 20  # people in all, and in one matrix
LENGTHS = [*(pytest.param(length, marks=pytest.mark.audit) for length in (1, 2)), 7]
ERROR = 2 / sqrt(TRIALS)  # the standard error of mu: half of the trials are of each kind
OTHERS = 3
"""People beside each, whom the attacker knows."""

Made = Callable[[Matrix, str], Matrix]
Scores = NDArray[np.float64]


def as_released(matrix: Matrix, seed: str) -> Matrix:
    return FOUR.perturb(matrix, bits=ShakeBits(seed))


def with_half_the_noise(matrix: Matrix, seed: str) -> Matrix:
    """Planted: half the variance."""
    return _plain(matrix, seed, V / 2, V)


def with_asymmetric_noise(matrix: Matrix, seed: str) -> Matrix:
    """Planted: noise drawn for the whole square."""
    noisy = _plain(matrix, seed, V, 2 * V)
    return np.tril(noisy, -1) + np.triu(_plain(matrix, seed + "again", V, 2 * V))


def with_noise_of_the_last_time(matrix: Matrix, _: str) -> Matrix:
    """Planted: a generator that starts anew, whose first matrix is known."""
    return _plain(matrix, "always", V, 2 * V) - _plain(np.zeros_like(matrix), "always", V, 2 * V)


def _plain(matrix: Matrix, seed: str, beside: float, on: float) -> Matrix:
    """Rounded floats of these variances."""
    rng = np.random.default_rng(np.frombuffer(seed.encode(), np.uint8))
    drawn = np.triu(rng.normal(size=matrix.shape) * sqrt(beside), 1)
    drawn += drawn.T + np.diag(rng.normal(size=len(matrix)) * sqrt(on))
    return matrix + np.rint(drawn).astype(np.int64)


@dataclass(frozen=True)
class Attack:
    """The scores of people who were counted, and of people who were not."""

    there: Scores
    absent: Scores

    @property
    def mu(self) -> float:
        """As the two means say."""
        spread = np.concatenate([self.there - self.there.mean(), self.absent - self.absent.mean()])
        return float((self.there.mean() - self.absent.mean()) / spread.std())

    @property
    def mu_at_least(self) -> float:
        """A lower bound that is wrong in fewer than two of 10**6 runs: hits and false alarms of
        the guess "there" above mu**2 / 2, by Clopper and Pearson's bounds of both.
        """
        hits, alarms = (int((each > MU**2 / 2).sum()) for each in (self.there, self.absent))
        low = stats.beta.ppf(FALSE_ALARM, hits, len(self.there) - hits + 1)
        high = stats.beta.ppf(1 - FALSE_ALARM, alarms + 1, len(self.absent) - alarms)
        return float(stats.norm.ppf(low) - stats.norm.ppf(high))


@cache
def attacked(made: Made, length: int) -> Attack:
    """On people of so many likes each."""
    coins = np.random.default_rng(length)
    scores: dict[bool, list[float]] = {True: [], False: []}
    for at in range(TRIALS // BLOCKS):
        blocks = [range(length * b, length * (b + 1)) for b in range(BLOCKS)]
        known = covariance([block for block in blocks for _ in range(OTHERS)], length * BLOCKS)
        here = (coins.random(BLOCKS) < 0.5).tolist()
        matrix = known + covariance(
            [block for block, there in zip(blocks, here, strict=True) if there], len(known)
        )
        left = (made(matrix, f"{length} {at}") - known).astype(np.float64)
        left = (left + left.T) / 2  # as good as one triangle, unless they differ
        for block, there in zip(blocks, here, strict=True):
            scores[there].append(_score(left[np.ix_(block, block)]))
    return Attack(np.array(scores[True]), np.array(scores[False]))


def _score(left: Scores) -> float:
    """The likelihood ratio's logarithm, up to a constant."""
    moved = UNIT // len(left)
    return float(moved * (np.triu(left, 1).sum() / V + np.trace(left) / (2 * V)))


def epsilon_of(mu: float) -> float:
    """The epsilon of a Gaussian mechanism at `DELTA`: Balle, Wang 2018, Theorem 8."""

    def beyond(epsilon: float) -> float:
        upper = stats.norm.sf(epsilon / mu - mu / 2)
        lower = stats.norm.sf(epsilon / mu + mu / 2)
        return float(upper - exp(epsilon) * lower - DELTA)

    return float(optimize.brentq(beyond, 1e-6, 100))


@pytest.mark.parametrize("length", LENGTHS)
def test_the_best_guess_is_as_good_as_the_proof_says_and_no_better(length: int) -> None:
    """Means, spreads and hits at three rates of false alarms, for short and long histories."""
    found = attacked(as_released, length)
    assert found.mu == pytest.approx(MU, abs=6 * ERROR)
    assert found.absent.std() == pytest.approx(MU, rel=6 / sqrt(TRIALS))
    for rate in (0.01, 0.1, 0.5):
        threshold = MU * stats.norm.isf(rate)
        expected = stats.norm.cdf(stats.norm.ppf(rate) + MU)
        hits = float((found.there > threshold).mean())
        assert hits == pytest.approx(expected, abs=6 * sqrt(expected / len(found.there)))


@pytest.mark.parametrize("length", LENGTHS)
def test_no_lower_bound_on_epsilon_is_above_what_is_charged(
    length: int, record_property: Callable[[str, object], None]
) -> None:
    """The exact epsilon of this noise is 3.74, below the 4 that zCDP states. Bounds: 2.3 to 2.9."""
    found = attacked(as_released, length)
    record_property("mechanism", "NoisyCovariance")
    record_property("claimed", float(FOUR.epsilon))
    record_property("measured", epsilon_of(found.mu_at_least))
    record_property("seed", length)
    assert 0.6 * MU < found.mu_at_least <= MU
    assert epsilon_of(found.mu_at_least) <= epsilon_of(MU) <= FOUR.epsilon


PLANTED = [(with_half_the_noise, 7), (with_asymmetric_noise, 16), (with_noise_of_the_last_time, 7)]


@pytest.mark.slow
@pytest.mark.parametrize(("made", "length"), PLANTED, ids=[made.__name__ for made, _ in PLANTED])
def test_an_audit_sees_noise_that_is_too_small(made: Made, length: int) -> None:
    """Each of these planted bugs shows at the history that it hurts, by six standard errors."""
    assert attacked(made, length).mu > MU + 6 * ERROR


def test_a_bound_from_hits_and_false_alarms_alone_sees_half_the_noise() -> None:
    """The power of a black box: it proves epsilon 4.49 where 4 is charged; exact 5.54."""
    bound = attacked(with_half_the_noise, 7).mu_at_least
    assert epsilon_of(bound) > FOUR.epsilon


def test_a_person_who_is_replaced_costs_twice_rho() -> None:
    """Of two people with nothing in common one is there: the best score is their difference."""
    found = attacked(as_released, 2)
    pairs = min(len(found.there), len(found.absent))
    first = found.there[:pairs] - found.absent[:pairs]
    either = Attack(first[::2], -first[1::2])
    assert either.mu == pytest.approx(sqrt(2) * MU, abs=6 * 2 / sqrt(pairs))
