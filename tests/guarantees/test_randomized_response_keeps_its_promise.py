"""Randomized response is exactly pure local DP for every pair, proved by enumeration.

Every choice is branched on with its exact probability; the law is known as fractions, and there
are no false alarms.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import factorial, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.dp.intervals import log_ratio
from askew.dp.privacy import Reach, SignalLoss
from askew.errors import ParameterError
from askew.limits import MAX_BUCKETS
from askew.noise.randomized_response import RandomizedResponse
from askew.noise.randomness import Coins, RandomBits, RationalOdds, SystemBits

Law = dict[int, Fraction]
EPSILONS = st.fractions(Fraction(1, 1024), Fraction(20), max_denominator=10**6)


class Branch(RandomBits):
    """One path through every coin and integer, with its probability."""

    def __init__(self, heads: bool, integer: int) -> None:
        self.heads, self.integer, self.probability = heads, integer, Fraction(1)
        self.limits: list[int] = []

    def read(self, count: int) -> bytes:
        raise AssertionError("enumerated code must throw coins and draw integers")

    def throw(self, coins: Coins, times: int = 1) -> list[list[bool]]:
        (odds,) = coins.odds
        assert isinstance(odds, RationalOdds)
        self.probability *= odds.probability if self.heads else 1 - odds.probability
        return [[self.heads]]

    def below(self, limit: int) -> int:
        self.limits.append(limit)
        if self.integer >= limit:
            self.probability = Fraction(0)
            return 0
        self.probability *= Fraction(1, limit)
        return self.integer


def law_of(response: RandomizedResponse, bucket: int) -> Law:
    """The exact law of what is sent for a true bucket."""
    law: Law = defaultdict(Fraction)
    for heads, integer in itertools.product((True, False), range(response.buckets + 1)):
        branch = Branch(heads, integer)
        (sent,) = response.perturb(bucket, branch)
        assert len(branch.limits) == 1, "the same draws whatever the coin says"
        law[sent] += branch.probability
    return dict(law)


def worst_ratio(response: RandomizedResponse) -> Fraction:
    laws = [law_of(response, bucket) for bucket in range(response.buckets)]
    pairs = itertools.product(laws, laws)
    return max(p / q[sent] for one, q in pairs for sent, p in one.items() if p)


def exponential_from_below(x: Fraction) -> Fraction:
    return sum((x**n / factorial(n) for n in range(80)), Fraction(0))


@pytest.mark.parametrize("buckets", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1024), Fraction(1, 3), Fraction(1), Fraction(4)])
def test_the_enumerated_law_is_the_formula(buckets: int, epsilon: Fraction) -> None:
    response = RandomizedResponse.for_epsilon(buckets, epsilon)
    lie = 1 / (response.odds + buckets - 1)
    for bucket in range(buckets):
        law = law_of(response, bucket)
        expected = dict.fromkeys(range(buckets), lie) | {bucket: response.odds * lie}
        assert law == expected
        assert sum(law.values()) == 1


@pytest.mark.parametrize("buckets", [2, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(2), Fraction(4)])
def test_no_pair_of_people_and_no_output_breaks_the_promise(
    buckets: int, epsilon: Fraction, record_property: Callable[[str, object], None]
) -> None:
    response = RandomizedResponse.for_epsilon(buckets, epsilon)
    record_property("mechanism", "RandomizedResponse")
    record_property("claimed", float(epsilon))
    record_property("exact", log(worst_ratio(response)))
    assert worst_ratio(response) == response.odds <= exponential_from_below(epsilon)


class OddsOfTwiceEpsilon(RandomizedResponse):
    def perturb(self, bucket: int, bits: RandomBits) -> tuple[int]:
        double = Fraction(int(self.odds**2 * 2**32), 2**32)
        return RandomizedResponse(self.buckets, double).perturb(bucket, bits)


class AnyBucketForALie(RandomizedResponse):
    """Draws the lie from all M buckets instead of the M - 1 others, so that it is often true."""

    def perturb(self, bucket: int, bits: RandomBits) -> tuple[int]:
        probability = self.odds / (self.odds + self.buckets - 1)
        truth = bits.throw(Coins([RationalOdds(probability)]))[0][0]
        other = bits.below(self.buckets)
        return (bucket if truth else other,)


class NeverNamesTheLast(RandomizedResponse):
    def perturb(self, bucket: int, bits: RandomBits) -> tuple[int]:
        (sent,) = super().perturb(bucket, bits)
        return (min(sent, max(bucket, self.buckets - 2)),)


@pytest.mark.parametrize("broken", [OddsOfTwiceEpsilon, AnyBucketForALie, NeverNamesTheLast])
def test_a_planted_bug_breaks_the_promise(broken: type[RandomizedResponse]) -> None:
    response = broken(3, Fraction(7, 2))
    laws = [law_of(response, bucket) for bucket in range(3)]
    assert any(
        p > response.odds * q.get(sent, Fraction(0))
        for one, q in itertools.product(laws, laws)
        for sent, p in one.items()
    )


@given(EPSILONS)
def test_odds_are_rounded_down_and_by_less_than_two_to_the_minus_thirty(epsilon: Fraction) -> None:
    """Planted bug: odds rounded up, or to the nearest, which spends more than epsilon."""
    response = RandomizedResponse.for_epsilon(2, epsilon)
    low, high = log_ratio(response.odds.numerator, response.odds.denominator, 100)
    assert Fraction(high, 2**100) <= epsilon
    assert Fraction(low, 2**100) >= epsilon - Fraction(1, 2**30)
    assert Fraction(high, 2**100) <= response.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 1024), Fraction(1), Fraction(4), Fraction(20)])
def test_odds_rounded_up_would_be_caught(epsilon: Fraction) -> None:
    response = RandomizedResponse.for_epsilon(2, epsilon)
    up = response.odds + Fraction(2, 2**32)
    low, _ = log_ratio(up.numerator, up.denominator, 100)
    assert Fraction(low, 2**100) > epsilon


def test_the_loss_is_the_same_in_every_unit_that_it_has() -> None:
    response = RandomizedResponse.for_epsilon(8, Fraction(4))
    loss = response.privacy_loss(Reach(Fraction(1, 2), Fraction(3)))
    assert loss == SignalLoss(response.epsilon, response.epsilon, None)
    assert 4 - Fraction(1, 2**29) <= loss.charge.epsilon <= 4
    assert loss.charge.epsilon_per_distance is None


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(1, 1025), Fraction(21), Fraction(-1)])
def test_an_epsilon_out_of_range_is_refused(bad: Fraction) -> None:
    with pytest.raises(ParameterError, match="between 1/1024 and 20"):
        RandomizedResponse.for_epsilon(4, bad)


@pytest.mark.parametrize("buckets", [0, 1, MAX_BUCKETS + 1])
def test_a_number_of_buckets_out_of_range_is_refused(buckets: int) -> None:
    with pytest.raises(ParameterError, match="from 2 to 4096"):
        RandomizedResponse(buckets, Fraction(2))


@pytest.mark.parametrize("odds", [Fraction(1), Fraction(1, 2), Fraction(4, 3), Fraction(2**40)])
def test_odds_out_of_range_are_refused(odds: Fraction) -> None:
    with pytest.raises(ParameterError, match="a multiple of"):
        RandomizedResponse(4, odds)


def sent_by(draw: Callable[[], tuple[int]], times: int) -> Iterator[int]:
    for _ in range(times):
        (sent,) = draw()
        yield sent


def test_the_system_draws_what_the_law_says() -> None:
    """2,000 draws at odds 9 of 10 buckets: the truth 1000 times, off by 8 standard deviations with
    probability below 1e-14."""
    response = RandomizedResponse(10, Fraction(9))
    bits = SystemBits()
    sent = list(sent_by(lambda: response.perturb(3, bits), 2000))
    assert abs(sent.count(3) - 1000) < 8 * 22.4
    assert set(sent) <= set(range(10))
