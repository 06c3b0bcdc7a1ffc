"""The rule with a prior: Bayes by brute force, a floor that holds, and what sampling costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import OutOfRange, ParameterError
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal
from askew.retrieval.posterior import (
    PosteriorRule,
    Prior,
    cover,
    covered,
    lattice_log_likelihood,
    systematic,
)

VERSION = "00" * 16
LATTICE = LatticeLaplace.for_epsilon(Fraction(2))
COARSE = LatticeLaplace(step_exponent=1, inverse_rate=2)


def made_prior(seed: int = 0, people: int = 40, items: int = 12, d: int = 2) -> Prior:
    rng = np.random.default_rng(seed)
    scores = rng.random((items, people), dtype=np.float32)
    scores[rng.random((items, people)) < 0.3] = 0  # seen
    ids = np.sort(rng.permutation(50)[:items])
    return Prior(2 * rng.random((people, d)), scores, ids, rng.random(people) + 0.1)


def signal(*values: int, lattice: LatticeLaplace = LATTICE) -> Signal:
    return Signal(VERSION, lattice, values)


def test_weights_are_bayes_rule_in_fractions() -> None:
    """P(Z = z | J = j) = r**|z - j| / (2 q + 1); the point 1/4 is half way between two."""
    prior = Prior(
        np.array([[0.0], [0.25], [1.5]]),
        np.ones((1, 3), np.float32),
        np.array([0]),
        np.array([1.0, 2.0, 1.0]),
    )
    r = Fraction(2, 3)
    # z = 1: from j = 0 r, from 0 or 1 evenly (r + 1) / 2, from j = 3 r**2
    joint = [r, 2 * (r + 1) / 2, r**2]
    expected = [float(each / sum(joint)) for each in joint]
    logs = lattice_log_likelihood(COARSE, [1], prior.points)
    assert prior.posterior(logs) == pytest.approx(expected, rel=1e-12)


def test_a_faraway_signal_still_has_a_posterior() -> None:
    """Every likelihood underflows; their ratios do not."""
    prior = made_prior()
    logs = lattice_log_likelihood(LATTICE, [COORDINATE_LIMIT, 0], prior.points)
    weights = prior.posterior(logs)
    assert weights.sum() == pytest.approx(1.0)
    assert np.isfinite(weights).all()


def test_a_signal_near_one_half_of_the_people_gets_what_they_like() -> None:
    """Checkerboard: people at 0 like the even items, people at 2 the odd ones."""
    points = np.array([[0.0], [0.1], [1.9], [2.0]])
    likes = np.array([[3, 3, 0, 0], [0, 0, 3, 3], [2, 2, 0, 0], [0, 0, 2, 2]], np.float32)
    prior = Prior(points, likes, np.array([4, 5, 6, 7]), np.ones(4))
    rule = PosteriorRule(prior, [4, 5, 6, 7])
    sharp = LatticeLaplace.for_epsilon(Fraction(16))
    at = round(2.0 / sharp.step)
    assert rule.answer(signal(0, lattice=sharp), 1) == (4,)
    assert rule.answer(signal(at, lattice=sharp), 1) == (5,)
    assert rule.answer(signal(at // 2, lattice=sharp), 2) == (4, 5)


def test_what_everybody_nearby_has_seen_is_not_offered() -> None:
    """The mask of seen items is a score of 0. Planted bug: masks dropped, so item 0 comes back."""
    points = np.zeros((3, 1))
    unmasked = np.array([[9, 9, 9], [1, 1, 1]], np.float32)
    masked = np.array([[0, 0, 0], [1, 1, 1]], np.float32)
    answers = [
        PosteriorRule(Prior(points, s, np.array([0, 1]), np.ones(3)), [0]).answer(signal(0), 1)
        for s in (unmasked, masked)
    ]
    assert answers == [(0,), (1,)]


@given(
    st.integers(0, 10_000),
    st.tuples(*[st.integers(-COORDINATE_LIMIT, COORDINATE_LIMIT)] * 2),
    st.integers(1, 12),
)
@settings(max_examples=60, deadline=None)
def test_the_objective_is_never_below_that_of_the_slate_that_knows_nothing(
    seed: int, values: tuple[int, int], k: int
) -> None:
    prior = made_prior(seed)
    order = cover(prior.scores, prior.weights.astype(np.float32), 12)
    rule = PosteriorRule(prior, prior.items[order].tolist())
    answer = rule.answer(signal(*values), k)
    assert len(answer) == k
    assert list(answer) == sorted(set(answer))
    logs = lattice_log_likelihood(LATTICE, values, prior.points)
    weights = prior.posterior(logs).astype(np.float32)
    rows = np.searchsorted(prior.items, answer).tolist()
    assert covered(prior.scores, weights, rows) >= covered(prior.scores, weights, order[:k])


def test_where_greed_fails_the_floor_holds() -> None:
    """Greedy takes item 0 first and then cannot have both halves; items 1 and 2 together can.

    Planted bug: the floor left out; the answer is then (0, 1).
    """
    scores = np.array([[2, 2, 2, 2, 0, 0], [3, 3, 0, 0, 1, 0], [0, 0, 3, 3, 0, 1]], np.float32)
    prior = Prior(np.zeros((6, 1)), scores, np.arange(3), np.ones(6))
    assert cover(scores, np.full(6, 1 / 6, np.float32), 2) != [1, 2]
    assert PosteriorRule(prior, [1, 2, 0]).answer(signal(0), 2) == (1, 2)


def test_a_sample_of_the_posterior_changes_no_weight_by_a_whole_share() -> None:
    weights = np.random.default_rng(4).random(1000) ** 4
    weights /= weights.sum()
    rows, shares = systematic(weights, 64)
    dealt = np.zeros(1000)
    dealt[rows] = shares
    assert dealt.sum() == pytest.approx(1.0)
    assert (np.abs(dealt - weights) < 1 / 64).all()


def test_a_tenth_of_a_large_prior_serves_all_but_as_well() -> None:
    """The loss of looking at 400 of 4,000 points, measured by the whole: at most 2 %, a quarter of
    what it is for 400 points without regard to the signal.
    """
    rng = np.random.default_rng(9)
    points = 2 * rng.random((4000, 1))
    tastes = np.linspace(0, 2, 60)[:, None]
    scores = np.exp(-4 * np.abs(points.T - tastes) + rng.normal(0, 0.2, (60, 4000)))
    prior = Prior(points, scores.astype(np.float32), np.arange(60), np.ones(4000))
    shared = cover(prior.scores, prior.weights.astype(np.float32), 5)
    whole, part = (PosteriorRule(prior, shared, limit=size) for size in (4000, 400))
    lattice = LatticeLaplace.for_epsilon(Fraction(16))
    losses, blind = [], []
    for value in np.linspace(0, 2 / lattice.step, 21).astype(int).tolist():
        weights = prior.posterior(lattice_log_likelihood(lattice, [value], prior.points))
        few = np.where(np.arange(4000) < 400, weights, 0)
        chosen = [whole.choose(weights, 5), part.choose(weights, 5), whole.choose(few, 5)]
        light = weights.astype(np.float32)
        best, sampled, first = (covered(prior.scores, light, rows) for (rows,) in chosen)
        losses.append(1 - sampled / best)
        blind.append(1 - first / best)
    assert max(losses) < 0.02
    assert np.mean(losses) < np.mean(blind) / 4


def test_wrong_questions_are_refused() -> None:
    prior = made_prior()
    rule = PosteriorRule(prior, prior.items[:5].tolist())
    for k in (0, 6):
        with pytest.raises(ParameterError):
            rule.answer(signal(0, 0), k)
    bucket = Signal(VERSION, RandomizedResponse(4, Fraction(5)), (1,))
    with pytest.raises(OutOfRange):
        rule.answer(bucket, 2)
    with pytest.raises(OutOfRange):
        PosteriorRule(prior, [51])


@pytest.mark.parametrize(
    "broken",
    [
        {"scores": np.full((2, 3), -1, np.float32)},
        {"scores": np.full((2, 3), np.nan, np.float32)},
        {"scores": np.ones((2, 3))},
        {"points": np.full((3, 1), np.inf)},
        {"items": np.array([1, 1])},
        {"weights": np.array([1.0, 0.0, 1.0])},
        {"weights": np.ones(2)},
    ],
)
def test_a_prior_that_does_not_fit_together_is_refused(broken: dict[str, object]) -> None:
    parts = {
        "points": np.zeros((3, 1)),
        "scores": np.ones((2, 3), np.float32),
        "items": np.array([0, 1]),
        "weights": np.ones(3),
    }
    with pytest.raises(OutOfRange):
        Prior(**{**parts, **broken})  # type: ignore[arg-type]
