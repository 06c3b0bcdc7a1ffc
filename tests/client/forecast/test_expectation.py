"""The device plays the server's rule at home: its figures equal a recomputation by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from small_world import made_buckets, made_card, made_catalog, made_encoder, made_space

from askew.errors import ProfileError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.noise.randomness import ReplayBits
from askew.protocol.rule_kind import RuleKind
from askew.protocol.signal import Signal
from askew.retrieval import OffsetRule, SharedSlate
from askew.retrieval import buckets as bucket_rule
from askew.retrieval.buckets import BucketRule
from askew.retrieval.cover import cover
from askew.retrieval.posterior import PosteriorRule
from askew.sizes import MAX_BUCKETS
from askew.spaces.buckets import Buckets
from askew_client.device.what_if import forecast_of
from askew_client.forecast import synthetic_people
from askew_client.forecast.forecast import Comparison, Expectation, Quality, played_rule
from askew_client.forecast.synthetic_people import LIKES, buckets_of, posterior_of, stand_ins
from askew_client.settings.settings import ClientSettings, MechanismName
from askew_client.taste.exchange import Exchange

if TYPE_CHECKING:
    from client.conftest import Pair

    Replay = Callable[[str], ReplayBits]

DRAWS = 40
K4 = ClientSettings(
    way="signal",
    epsilon=Fraction(2),
    k=4,
    lifetime_cap=Fraction(96),
    max_diameter=32.0,
    max_one_rating=32.0,
)
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
        self.lattice = LatticeLaplace.for_epsilon(exchange.settings.epsilon)
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


def ruled(pair: Pair, name: RuleKind, prior: str, mechanism: MechanismName) -> Exchange:
    """A person who asks a server with this rule and this prior."""
    pair.card = replace(pair.card, rule=replace(pair.card.rule, kind=name, prior=prior))
    return pair.exchange({11: 5.0, 2: 4.0}, replace(K4, mechanism=mechanism))


@pytest.mark.parametrize(
    ("name", "prior", "mechanism", "kind", "estimated"),
    [
        (RuleKind.OFFSETS, "none", "geo_laplace", OffsetRule, False),
        (RuleKind.CODEBOOK, "a cohort", "geo_laplace", OffsetRule, False),
        (RuleKind.NONE, "none", "geo_laplace", SharedSlate, False),
        (RuleKind.POSTERIOR, "a cohort", "geo_laplace", PosteriorRule, True),
        (RuleKind.BUCKETS, "a cohort", "geo_laplace", PosteriorRule, True),
        (RuleKind.CODEBOOK, "none", "bucket_rr", SharedSlate, False),
        (RuleKind.CODEBOOK, "a cohort", "bucket_rr", BucketRule, True),
        (RuleKind.BUCKETS, "a cohort", "bucket_rr", BucketRule, True),
        (RuleKind.POSTERIOR, "a cohort", "bucket_rr", BucketRule, True),
    ],
)
def test_the_rule_that_is_played_is_the_one_that_answers_this_mechanism(  # noqa: PLR0917
    pair: Pair,
    replay: Replay,
    name: RuleKind,
    prior: str,
    mechanism: MechanismName,
    kind: type,
    estimated: bool,
) -> None:
    """As `Retriever` chooses. Planted bugs: codebook for a prior; an estimate that is not called
    one; the card's rule for the other mechanism.
    """
    exchange = ruled(pair, name, prior, mechanism)
    assert type(played_rule(exchange)) is kind
    found = forecast_of(exchange, exchange.settings, 5, replay("noise"))
    assert found.estimated is estimated


def test_buckets_are_played_by_their_own_odds(pair: Pair, replay: Replay) -> None:
    """At the least epsilon every bucket is about as likely; at 20 the person's own always comes."""
    sent = []
    for epsilon in (Fraction(1, 1024), Fraction(20)):
        exchange = ruled(pair, RuleKind.BUCKETS, "a cohort", "bucket_rr")
        changed = replace(exchange, settings=replace(exchange.settings, epsilon=epsilon))
        bits = replay("odds")
        sent.append([changed.perturb(bits).values[0] for _ in range(100)])
    assert set(sent[0]) == {0, 1, 2, 3}  # misses one of four with probability under 4 * .76^100
    assert set(sent[1]) == {exchange.profile.bucket}  # and another comes once in e^20 / 3 draws


def test_a_buckets_slate_is_the_greedy_choice_for_who_is_in_it(
    pair_with_films: Callable[[list[tuple[float, ...]]], Pair],
) -> None:
    """By the definition. Planted bug: slates by the card's odds in place of the device's."""
    angles = [6.28 * i / 60 for i in range(60)]
    circle = [(round(7 * math.cos(a)) / 4, round(7 * math.sin(a)) / 4) for a in angles]
    exchange = ruled(pair_with_films([*circle]), RuleKind.BUCKETS, "a cohort", "bucket_rr")
    plain = replace(exchange.settings, epsilon=Fraction(12))  # the card's is 2
    exchange = replace(exchange, settings=plain)
    rule, card, catalog = played_rule(exchange), exchange.card, exchange.catalog
    people, buckets = stand_ins(card, catalog, 4), exchange.card.space.buckets
    assert isinstance(buckets, Buckets)
    assert isinstance(exchange.mechanism, RandomizedResponse)
    odds = float(exchange.mechanism.odds)
    own = np.array([buckets.of(taste) for taste in people.tastes])
    for bucket in range(4):
        weights = np.where(own == bucket, odds, 1.0)
        worth = people.prior.scores.astype(np.float64) @ weights
        signal = Signal(card.space.version, exchange.mechanism, (bucket,))
        (first,) = rule.answer(signal, 1)
        row = people.prior.items.tolist().index(first)
        assert worth[row] == pytest.approx(worth.max(), rel=1e-5)


def test_stand_ins_are_made_of_the_catalog_alone(pair: Pair) -> None:
    """Planted bug: people in place of the prior's who are like the person who asks."""
    one = pair.exchange({11: 5.0}, replace(K4, mechanism="bucket_rr"))
    people = [stand_ins(each.card, each.catalog, 4) for each in (one, pair.exchange({0: 5.0}))]
    assert (people[0].tastes == people[1].tastes).all()
    assert len(people[0].prior) == len(pair.catalog)  # one for each of so few films
    liked = (people[0].prior.scores == 0).sum(axis=0)
    assert (liked >= LIKES).all()  # what they like they have seen


def test_stand_ins_like_what_is_most_alike_and_weigh_what_they_have_not_seen(
    pair_with_films: Callable[[list[tuple[float, ...]]], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the definition, one person and one item at a time. Planted bugs: a block of items is not
    looked at; a person gets another one's likes; what is liked counts as unseen.
    """
    monkeypatch.setattr(synthetic_people, "_FAVORITES", 5)
    monkeypatch.setattr(synthetic_people, "_BLOCK", 3)
    monkeypatch.setattr(synthetic_people, "_AT_ONCE", 7)
    made: list[tuple[float, ...]] = [
        (x / 4, y / 4) for x in range(-7, 8) for y in range(-7, 8) if (3 * x + y) % 2
    ]
    exchange = pair_with_films(made).exchange({11: 5.0})
    catalog, card = exchange.catalog.decoded(), exchange.card
    people = stand_ins(card, exchange.catalog, 4)
    pool = people.prior.items.tolist()
    vectors, plain = catalog.vectors.astype("f8"), 0
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    for person in range(len(catalog)):
        alike = vectors @ vectors[person] / lengths / lengths[person]
        liked = np.flatnonzero(alike >= np.sort(alike)[-LIKES] - 1e-6)
        root = math.sqrt(max(LIKES, card.space.encoder.least_likes))
        if len(liked) > LIKES:
            continue  # some are as much alike: any of them may be liked
        plain += 1
        taste = vectors[liked].sum(axis=0) / root
        assert people.tastes[person] == pytest.approx(taste)
        worth = np.maximum(catalog.scoring @ taste, 0)
        worth[liked] = 0
        assert people.prior.scores[:, person] == pytest.approx(worth[pool], rel=1e-5, abs=1e-6)
        best = np.sort(worth)[-5:]
        assert np.sort(worth[pool])[-5:] == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert plain > 40


@pytest.mark.parametrize("k", [1, 8])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(4)])
def test_a_few_favorites_of_each_make_the_slates_that_all_items_make(
    monkeypatch: pytest.MonkeyPatch, replay: Replay, epsilon: Fraction, k: int
) -> None:
    """Of 2,000 items in 6 directions, by both rules that weigh people: what serves made-up people
    best together is among the favorites of some. Planted bug: one favorite of each.
    """
    rng = np.random.default_rng(3)
    rows = [tuple(row) for row in rng.normal(size=(2000, 6)).tolist()]
    space = made_space(made_encoder(d=2, ranking=6), made_buckets(8, 6))
    catalog = made_catalog(rows, tuple(range(k)))
    card = made_card(space, catalog, k)
    lattice = LatticeLaplace.for_epsilon(epsilon)
    response = RandomizedResponse.for_epsilon(8, epsilon)
    points = [lattice.perturb(rng.uniform(0, 2, 2), replay("noise")) for _ in range(5)]
    signals = [Signal(space.version, lattice, values) for values in points]
    sent = [Signal(space.version, response, (bucket,)) for bucket in range(8)]

    def answers() -> list[tuple[int, ...]]:
        posterior = posterior_of(card, catalog, k)
        buckets = buckets_of(card, catalog, k, response.odds)
        return [posterior.answer(signal, k) for signal in signals] + [
            buckets.answer(signal, k) for signal in sent
        ]

    few = answers()
    monkeypatch.setattr(synthetic_people, "_FAVORITES", len(catalog) - LIKES)
    assert few == answers()


def test_how_much_a_forecast_computes_is_not_a_servers_to_say(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: for each of 4096 buckets a slate of the card's size, for hours."""
    chosen: list[int] = []

    def counted(scores: NDArray[np.float32], weights: NDArray[np.float32], k: int) -> list[int]:
        chosen.append(k)
        return cover(scores, weights, k)

    monkeypatch.setattr(bucket_rule, "cover", counted)
    buckets = made_buckets(MAX_BUCKETS, pair.card.space.encoder.ranking_dimension)
    space = replace(pair.card.space, buckets=buckets)
    pair.card = replace(pair.card, space=space, max_slate_size=12)
    played_rule(ruled(pair, RuleKind.BUCKETS, "a cohort", "bucket_rr"))
    assert set(chosen) == {K4.k}
    assert len(chosen) <= len(pair.catalog) + 1  # a made-up person for each of so few films


def test_buckets_of_nobody_have_the_slate_of_everybody() -> None:
    """By the definition, bucket by bucket."""
    scores = np.arange(24, dtype=np.float32).reshape(6, 4) % 7
    label = np.array([0, 3, 3, 5])
    response = RandomizedResponse.for_epsilon(7, Fraction(3))
    expected = []
    for bucket in range(7):
        weights = np.where(label == bucket, float(response.odds), 1.0)
        expected.append(cover(scores, (weights / weights.sum()).astype(np.float32), 3))
    assert bucket_rule.slates_of(label, scores, response, 3).tolist() == expected


def test_the_figures_are_not_printed() -> None:
    assert "0.25" not in repr(Quality(0.25, 3.0))
