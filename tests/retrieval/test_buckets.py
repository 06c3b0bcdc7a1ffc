"""Slates for buckets at any odds: Bayes by brute force, and a floor that holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import OutOfRange, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal
from askew.retrieval.buckets import BucketRule, bucket_rule, own_share
from askew.retrieval.posterior import Prior, cover, covered, response_log_likelihood

RANGE = tuple(Fraction(odds) for odds in (2, 8, 64))
ANY_ODDS = st.integers(17, 1 << 16).map(lambda n: Fraction(n, 16))


def response_of(odds: Fraction, buckets: int = 3) -> RandomizedResponse:
    return RandomizedResponse(buckets, odds)


def sent(bucket: int, odds: Fraction, buckets: int = 3) -> Signal:
    return Signal("00" * 16, response_of(odds, buckets), (bucket,))


def made(seed: int) -> tuple[Prior, NDArray[np.int64], list[int], BucketRule]:
    """40 people in 3 buckets, 12 items of which a third are seen; the zero-information order."""
    rng = np.random.default_rng(seed)
    scores = rng.random((12, 40), dtype=np.float32)
    scores[rng.random(scores.shape) < 0.3] = 0
    ids = np.sort(rng.permutation(50)[:12])
    prior = Prior(np.zeros((40, 1)), scores, ids, rng.random(40) + 0.1)
    label = rng.integers(0, 3, 40)
    shared = prior.items[cover(scores, prior.weights.astype(np.float32), 12)].tolist()
    return prior, label, shared, bucket_rule(prior, label, 3, shared, RANGE)


def worth(
    prior: Prior, label: NDArray[np.int64], signal: Signal, items: tuple[int, ...] | list[int]
) -> float:
    """By the definition: people weighted by how likely they send this bucket at these odds."""
    assert isinstance(signal.mechanism, RandomizedResponse)
    logs = response_log_likelihood(signal.mechanism, signal.values[0], label)
    rows = np.searchsorted(prior.items, items).tolist()
    return covered(prior.scores, prior.posterior(logs).astype(np.float32), rows)


@given(st.integers(0, 10_000), st.integers(0, 2), ANY_ODDS, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_at_any_odds_an_answer_is_worth_at_least_the_slate_that_knows_nothing(
    seed: int, bucket: int, odds: Fraction, k: int
) -> None:
    prior, label, shared, rule = made(seed)
    signal = sent(bucket, odds)
    answer = rule.answer(signal, k)
    assert list(answer) == sorted(set(answer))
    assert len(answer) == k
    assert (
        worth(prior, label, signal, answer) >= worth(prior, label, signal, shared[:k]) * 0.999_999
    )


@pytest.mark.parametrize("odds", RANGE)
@pytest.mark.parametrize("bucket", range(3))
def test_at_odds_of_the_range_it_is_no_worse_than_the_greedy_choice_for_these_odds(
    bucket: int, odds: Fraction
) -> None:
    """Planted bug: slates by the odds of training, whatever odds were sent."""
    prior, label, _, rule = made(3)
    signal = sent(bucket, odds)
    weights = prior.posterior(response_log_likelihood(response_of(odds), bucket, label))
    for k in (1, 3, 6):
        greedy = prior.items[cover(prior.scores, weights.astype(np.float32), k)].tolist()
        reached = worth(prior, label, signal, rule.answer(signal, k))
        assert reached >= worth(prior, label, signal, greedy) * 0.999_999


@given(odds=ANY_ODDS, seed=st.integers(0, 100), bucket=st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_the_share_and_two_means_are_the_posteriors_objective(
    odds: Fraction, seed: int, bucket: int
) -> None:
    """t own(S) + (1 - t) all(S), against the weighted sum over every person."""
    prior, label, shared, _ = made(seed)
    signal, mine = sent(bucket, odds), label == bucket
    if not mine.any():
        return
    best = prior.scores[np.searchsorted(prior.items, shared[:4])].max(axis=0)
    own = np.average(best[mine], weights=prior.weights[mine])
    everybody = np.average(best, weights=prior.weights)
    share = own_share(float(odds), float(prior.weights[mine].sum()))
    expected = share * own + (1 - share) * everybody
    assert worth(prior, label, signal, shared[:4]) == pytest.approx(expected, rel=1e-5)


def two_tastes() -> tuple[Prior, NDArray[np.int64]]:
    """Two buckets; item 0 for the one, item 1 for the other, item 2 a little for everybody."""
    scores = np.array([[4, 4, 0, 0], [0, 0, 4, 4], [3, 3, 3, 3]], np.float32)
    return Prior(np.zeros((4, 1)), scores, np.array([5, 6, 7]), np.ones(4)), np.array([0, 0, 1, 1])


def test_small_odds_get_the_safe_item_and_great_odds_their_own() -> None:
    """A bucket's people are 3 of 4 senders at odds 3: then both are alike.

    Planted bug: the odds of the range that were trained for, whatever was sent.
    """
    prior, label = two_tastes()
    rule = bucket_rule(prior, label, 2, [7, 5, 6], [Fraction(2), Fraction(4)])
    answers = [rule.answer(sent(0, Fraction(odds), 2), 1) for odds in ("5/4", "2", "4", "4000")]
    assert answers == [(7,), (7,), (5,), (5,)]


def test_where_greed_fails_the_floor_holds() -> None:
    """Greedy takes item 0 first and then cannot have both halves; items 1 and 2 together can.

    Both buckets have the same people, so that nothing depends on the odds. Planted bug: the floor
    left out; the answer is then (0, 1).
    """
    half = np.array([[2, 2, 2, 2, 0, 0], [3, 3, 0, 0, 1, 0], [0, 0, 3, 3, 0, 1]], np.float32)
    prior = Prior(np.zeros((12, 1)), np.tile(half, 2), np.arange(3), np.ones(12))
    rule = bucket_rule(prior, np.repeat([0, 1], 6), 2, [1, 2, 0], RANGE)
    for odds in RANGE:
        assert rule.answer(sent(1, odds, 2), 2) == (1, 2)


def test_a_bucket_of_nobody_gets_the_slate_for_anybody() -> None:
    prior, label = two_tastes()
    rule = bucket_rule(prior, label, 3, [7, 5, 6], RANGE)
    assert rule.answer(sent(2, Fraction(64)), 2) == (5, 7)


def test_heavier_people_count_more() -> None:
    """Planted bug: every person of the prior counts alike."""
    prior, label = two_tastes()
    heavy = Prior(prior.points, prior.scores, prior.items, np.array([1.0, 1.0, 30.0, 30.0]))
    rule = bucket_rule(heavy, label, 2, [7, 5, 6], RANGE)
    assert rule.answer(sent(0, Fraction(2), 2), 1) == (6,)


def test_a_sample_of_many_people_serves_all_but_as_well() -> None:
    """300 of 3,000 people looked at: at most 3 % is lost, by the objective of everybody."""
    rng = np.random.default_rng(7)
    label = rng.integers(0, 2, 3000)
    tastes = label + rng.normal(0, 0.4, 3000)
    places = np.linspace(-1, 2, 40)[:, None]
    scores = np.exp(-6 * np.abs(tastes - places) + rng.normal(0, 0.1, (40, 3000)))
    prior = Prior(np.zeros((3000, 1)), scores.astype(np.float32), np.arange(40), np.ones(3000))
    shared = cover(prior.scores, prior.weights.astype(np.float32), 6)
    whole, part = (bucket_rule(prior, label, 2, shared, RANGE, limit=n) for n in (3000, 300))
    for signal in (sent(bucket, odds, 2) for bucket in (0, 1) for odds in RANGE):
        best, sampled = (
            worth(prior, label, signal, rule.answer(signal, 3)) for rule in (whole, part)
        )
        assert sampled >= 0.97 * best


def test_wrong_questions_are_refused() -> None:
    prior, label, shared, rule = made(1)
    for k in (0, 13):
        with pytest.raises(ParameterError):
            rule.answer(sent(0, Fraction(2)), k)
    for mechanism in (LatticeLaplace(1, 2), response_of(Fraction(2), 4)):
        with pytest.raises(OutOfRange):
            rule.answer(Signal("00" * 16, mechanism, (0,)), 2)
    with pytest.raises(OutOfRange):
        bucket_rule(prior, label, 3, [*shared, 51], RANGE)
