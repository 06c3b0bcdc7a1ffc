"""The device plays the server's rule at home: its figures equal a recomputation by brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from askew.errors import OutOfRange, ProfileError
from askew.lattice import Lattice
from askew.placement import OffsetRule, SharedSlate
from askew.randomness import ReplayBits
from askew.signal import Signal
from askew_client.exchange import Exchange
from askew_client.expectation import Comparison, Expectation, Quality, played_rule
from askew_client.settings import ClientSettings

if TYPE_CHECKING:
    from client.conftest import Pair

    Replay = Callable[[str], ReplayBits]

DRAWS = 40
K4 = ClientSettings(epsilon=Fraction(2), k=4, lifetime_cap=Fraction(96), max_diameter=32.0)
PEOPLE: dict[str, dict[int, float]] = {
    "one who likes a corner": {11: 5.0},
    "one of two likes": {8: 4.0, 10: 4.0},
    "one of mixed taste": {0: 5.0, 3: 4.0, 9: 1.0, 10: 2.0},
    "one who has seen all but two": {item: 2.0 + item % 3 for item in range(10)},
}


def compare(exchange: Exchange, draws: int, bits: ReplayBits) -> Comparison:
    expectation = Expectation(exchange, bits)
    for _ in range(draws):
        expectation.draw()
    return expectation.comparison()


class BruteForce:
    """Every figure again, item by item, in plain Python."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.vectors = [tuple(map(float, row)) for row in exchange.catalog.vectors]
        self.taste = tuple(map(float, exchange.profile.taste))
        self.rated = set(exchange.ratings)
        self.k = exchange.settings.k
        self.lattice = Lattice.for_epsilon(exchange.settings.epsilon)
        self.rule = OffsetRule(exchange.card.space.encoder, exchange.catalog.scoring)

    def score(self, item: int) -> float:
        return sum(a * b for a, b in zip(self.taste, self.vectors[item], strict=True))

    def unrated(self, items: Iterable[int]) -> list[float]:
        return sorted((self.score(item) for item in set(items) - self.rated), reverse=True)

    def pick(self, items: Iterable[int]) -> float:
        """How good the pick is; a middling score where everything offered is rated."""
        everything = self.unrated(range(len(self.vectors)))
        return next(iter(self.unrated(items)), everything[len(everything) // 2])

    def quality(self, picks: list[float]) -> tuple[float, float]:
        unrated = self.unrated(range(len(self.vectors)))
        better = [sum(other > each for other in unrated) for each in picks]
        return sum(picks) / len(picks) / unrated[0], 1 + sum(better) / len(better)

    def comparison(self, bits: ReplayBits, shared: tuple[int, ...]) -> list[tuple[float, float]]:
        many, one = [], []
        for _ in range(DRAWS):
            noisy = self.lattice.perturb(self.exchange.profile.point, bits)
            signal = Signal(self.exchange.card.space.version, self.lattice, noisy)
            many.append(self.pick(self.rule.answer(signal, self.k)))
            one.append(self.pick(self.rule.answer(signal, 1)))
        everything = range(len(self.vectors))
        picks = [self.pick(everything)], many, one, [self.pick(shared[: self.k])]
        return [self.quality(each) for each in picks]


def figures(comparison: Comparison) -> list[tuple[float, float]]:
    rows = (comparison.no_privacy, comparison.many, comparison.one, comparison.nothing_sent)
    return [(row.relative_score, row.place) for row in rows]


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("k", [1, 4, 6])
def test_the_figures_equal_brute_force(pair: Pair, replay: Replay, person: str, k: int) -> None:
    """Planted bugs: picking rated items, places counted among all items, fresh noise for k = 1."""
    exchange = pair.exchange(PEOPLE[person], replace(K4, k=k))
    expected = BruteForce(exchange).comparison(replay("noise"), pair.catalog.shared_slate)
    found = figures(compare(exchange, DRAWS, replay("noise")))
    assert found == [pytest.approx(row, rel=1e-9, abs=1e-12) for row in expected]


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(2), Fraction(64)])
def test_nobody_does_better_than_no_privacy(
    pair: Pair, replay: Replay, person: str, epsilon: Fraction
) -> None:
    exchange = pair.exchange(PEOPLE[person], replace(K4, epsilon=epsilon))
    best, *others = figures(compare(exchange, DRAWS, replay("noise")))
    assert best == (1, 1)
    assert max(score for score, _ in others) <= 1


def test_who_has_rated_everything_is_told_so(pair: Pair, replay: Replay) -> None:
    exchange = pair.exchange(dict.fromkeys(range(12), 5.0), K4)
    with pytest.raises(ProfileError, match="nothing left to recommend"):
        compare(exchange, DRAWS, replay("noise"))


def test_who_likes_nothing_is_told_so(pair: Pair, replay: Replay) -> None:
    exchange = pair.exchange({3: 1.0}, K4)
    with pytest.raises(ProfileError, match="nothing to compare with"):
        compare(exchange, DRAWS, replay("noise"))


def test_k_and_one_see_the_same_noise(pair: Pair, replay: Replay) -> None:
    """Planted bug: the row of k = 1 under noise of its own, so that luck tells them apart."""
    mixed = PEOPLE["one of mixed taste"]
    four = compare(pair.exchange(mixed), DRAWS, replay("noise"))
    one = compare(pair.exchange(mixed, replace(K4, k=1)), DRAWS, replay("noise"))
    assert four.one == one.many == one.one
    assert four.many != four.one


def test_more_results_under_the_same_noise_are_better_on_average(
    pair: Pair, replay: Replay
) -> None:
    exchange = pair.exchange(PEOPLE["one of two likes"], replace(K4, k=4))
    found = compare(exchange, 300, replay("noise"))
    assert found.no_privacy.relative_score > found.many.relative_score > found.one.relative_score


def test_comparing_sends_nothing_and_charges_nothing(pair: Pair, replay: Replay) -> None:
    compare(pair.exchange({11: 5.0}), DRAWS, replay("noise"))
    assert pair.requests == []


def test_a_place_of_one_is_the_best_unrated_item(pair: Pair, replay: Replay) -> None:
    found = compare(pair.exchange({11: 5.0}), 1, replay("noise"))
    assert found.no_privacy == Quality(relative_score=1.0, place=1.0)


def test_a_rule_that_needs_a_prior_is_played_without_one(pair: Pair) -> None:
    kinds: dict[str, type] = {}
    for name in ("offsets", "codebook", "posterior", "buckets", "none"):
        rule = replace(pair.card.rule, name=name)
        pair.card = replace(pair.card, rule=rule)
        kinds[name] = type(played_rule(pair.exchange({11: 5.0})))
    assert kinds == {**dict.fromkeys(kinds, OffsetRule), "none": SharedSlate}


def test_slates_of_buckets_are_the_servers_secret(pair: Pair, replay: Replay) -> None:
    exchange = pair.exchange({11: 5.0}, replace(K4, mechanism="bucket_rr"))
    with pytest.raises(OutOfRange, match="the mechanism of this signal"):
        compare(exchange, 1, replay("noise"))


def test_the_figures_are_not_printed() -> None:
    assert "0.25" not in repr(Quality(0.25, 3.0))
