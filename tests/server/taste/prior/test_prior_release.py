"""A prior's release: every part is noised, from fresh bits; whose it is; and what it holds for.

The laws and the sensitivities are in test_gaussian_prior. Here the object that trains is tested:
the plan with the kernel's bits, the ledger that stores its draw, and the people made of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray
from scipy.sparse import csr_array
from small_world import made_encoder, made_space

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.noise.lattice import TwoSidedGeometric
from askew.noise.randomness import RandomBits, SystemBits
from askew_server.demo.simulation import films, simulate
from askew_server.ledger import EventDigests, Ledger
from askew_server.ratings import RatingTable
from askew_server.taste.model.item_model import train
from askew_server.taste.prior import gaussian as gaussian_prior
from askew_server.taste.prior.gaussian import SHARES, GaussianPrior, PriorPlan
from askew_server.taste.prior.source import DPGaussian, PaidRelease, Trained
from askew_server.taste.training.factors import Histories, Tastes
from askew_server.taste.training.item_vectors import FixedVectors, LearnedVectors, VectorSource
from askew_server.taste.training.options import TrainingOptions

D, ITEMS = 3, 5
PLAN = PriorPlan(Fraction(1), D, ITEMS)
RELEASES = 400
PLACE, STATE = b"p" * 32, b"a" * 32


def some_tastes(seed: int = 1, people: int = 200) -> Tastes:
    rng = np.random.default_rng(seed)
    seen = csr_array((rng.random((people, ITEMS)) < 0.6).astype(np.float64))
    return Tastes(rng.normal(0.2, 0.1, (people, D)), Histories(seen, seen), 4)


def trained(seed: int = 1) -> Trained:
    vectors = np.linspace(0, 1, ITEMS * D, dtype=np.float32).reshape(ITEMS, D)
    keys = tuple(f"i{i}" for i in range(ITEMS))
    return Trained(keys, vectors, made_space(made_encoder(ranking=D)), some_tastes(seed), seed=0)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Of ratings that may cost much."""
    with Ledger(tmp_path / "ledger.sqlite", tmp_path / "mark") as opened:
        cap = PrivacyFilter(epsilon=Fraction(100))
        opened.open_dataset("ratings", "1", cap, "one person's whole history", ADD_OR_REMOVE_ONE)
        yield opened


def paid(ledger: Ledger, state: bytes = STATE, bits: RandomBits | None = None) -> PaidRelease:
    return PaidRelease(ledger, "ratings", bits or SystemBits(), PLACE, state)


def spent(ledger: Ledger) -> Fraction:
    return ledger.dataset("ratings").spent.epsilon


# -- noise -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noise() -> dict[str, NDArray[np.float64]]:
    """What 400 releases add to each part's numbers, in units of the law's inverse rate."""
    tastes = some_tastes()
    exact = gaussian_prior._sums(PLAN, tastes)
    payloads = [json.loads(PLAN.release(tastes, SystemBits())) for _ in range(RELEASES)]
    return {
        part: np.array([np.array(p[part]) - exact[part] for p in payloads])
        / PLAN.inverse_rate(part)
        for part in SHARES
    }


@pytest.mark.parametrize("part", SHARES)
def test_each_number_of_each_part_is_noised_at_its_rate(
    part: str, noise: dict[str, NDArray[np.float64]]
) -> None:
    """|noise| / rate is nearly exponential of mean 1. The mean of 400 is beyond 1.5 or below 1/1.5
    once in 10**12 runs. Planted bugs: a part without noise; with half or twice the rate.
    """
    means = np.abs(noise[part]).mean(axis=0)
    assert ((means > 1 / 1.5) & (means < 1.5)).all()


@pytest.mark.parametrize("part", SHARES)
def test_no_release_repeats_the_noise_of_another(
    part: str, noise: dict[str, NDArray[np.float64]]
) -> None:
    """Nor does one number that of its neighbor. Planted bug: noise of `default_rng(0)`, one draw
    for all numbers of a part. The count's noise is a few steps wide: it repeats now and then.
    """
    drawn = noise[part]
    values = [len(np.unique(column)) for column in drawn.T]
    assert min(values) > (30 if part == "count" else RELEASES // 2)
    for left in range(drawn.shape[1]):
        for right in range(left):
            assert (drawn[:, left] != drawn[:, right]).any()


def test_all_noise_comes_from_the_bits_that_were_given(ledger: Ledger) -> None:
    """Also of the release that the ledger stores. Planted bugs: another source for the count or
    for the mean; a payload that is not what was drawn.
    """
    told = trained()
    payload = json.loads(paid(ledger, bits=ShakeBits("a"))(PLAN, told))
    exact, bits = gaussian_prior._sums(PLAN, told.tastes), ShakeBits("a")
    for part in SHARES:
        law = TwoSidedGeometric.with_constant_work(PLAN.inverse_rate(part))
        assert payload[part] == (exact[part] + law.draw(len(exact[part]), bits)).tolist()


# -- whose release it is ---------------------------------------------------------------------------


def other_vectors(told: Trained) -> Trained:
    return replace(told, vectors=told.vectors + np.float32(0.25))


def other_items(told: Trained) -> Trained:
    return replace(told, keys=told.keys[::-1])


def other_seed(told: Trained) -> Trained:
    return replace(told, seed=told.seed + 1)


def other_least_likes(told: Trained) -> Trained:
    return replace(told, tastes=replace(told.tastes, least_likes=told.tastes.least_likes + 1))


def other_likes(told: Trained) -> Trained:
    scale = replace(told.space.scale, like_from=told.space.scale.like_from - 1)
    return replace(told, space=replace(told.space, scale=scale))


OTHERS = [other_vectors, other_items, other_seed, other_least_likes, other_likes]


@pytest.mark.parametrize("other", OTHERS)
def test_a_stored_release_is_not_found_for_other_profiles(
    other: Callable[[Trained], Trained], ledger: Ledger
) -> None:
    """It would be a prior of other people than the model's. Each is charged, and drawn, anew.

    Planted bugs: a key without the vectors; without least_likes.
    """
    release = paid(ledger)
    first, second = (release(PLAN, each) for each in (trained(), other(trained())))
    assert first != second
    assert spent(ledger) == 2 * PLAN.epsilon
    keys = [charge.request.key for charge in ledger.charges()]
    assert all(key.startswith("prior given item vectors ") for key in keys)


def test_a_release_is_of_its_ratings(ledger: Ledger) -> None:
    """Fixed vectors say nothing of who is there: their digest does, under the operator's key.
    Planted bug: the people named by the version alone, which they were.
    """
    first = paid(ledger)(PLAN, trained())
    assert paid(ledger)(PLAN, trained()) == first
    assert spent(ledger) == PLAN.epsilon
    assert paid(ledger, state=b"b" * 32)(PLAN, trained(seed=2)) != first
    assert spent(ledger) == 2 * PLAN.epsilon


def test_other_budgets_know_what_a_prior_was_made_from(ledger: Ledger) -> None:
    """By its place or by its content. Planted bug: releases of counts alone say so."""
    paid(ledger)(PLAN, trained())
    for place, state in ((PLACE, bytes(32)), (bytes(32), STATE)):
        assert ledger.sharers("films", EventDigests(bytes(32), place, state)) == ("ratings",)
    assert ledger.sharers("films", EventDigests(bytes(32), bytes(32), bytes(32))) == ()


# -- nothing but the release -----------------------------------------------------------------------


def test_the_people_of_a_prior_are_made_of_the_release_alone() -> None:
    """The same stored release for two sets of people: the same made-up people, to the bit, in what
    they have seen too. Planted bugs: raw seen rates, a raw mean, as many people as there are.
    """
    payload = PLAN.release(some_tastes(people=500), SystemBits())
    prior = DPGaussian(PLAN.epsilon, lambda _plan, _trained: payload)
    first, second = (prior.people(trained(seed)) for seed in (1, 2))
    assert first.tastes.tobytes() == second.tastes.tobytes()
    assert first.points.tobytes() == second.points.tobytes()
    assert first.seen.toarray().tobytes() == second.seen.toarray().tobytes()
    assert first.origin == second.origin


def test_rates_of_seen_items_are_those_of_the_noisy_counts() -> None:
    """seen / count, 0 where the noise drowns it, and at most 1."""
    floor = 2 * PLAN.inverse_rate("seen")
    payload = json.loads(PLAN.release(some_tastes(), SystemBits()))
    count = 8 * floor
    payload |= {"count": [count], "seen": [-floor, floor, floor + 1, 4 * floor, 2 * count]}
    rates = GaussianPrior.of_release(PLAN, json.dumps(payload).encode()).seen_rates
    assert rates.tolist() == [0.0, 0.0, (floor + 1) / count, 0.5, 1.0]


# -- what it holds for -----------------------------------------------------------------------------


class Asked(Exception):
    def __init__(self, plan: PriorPlan, told: Trained) -> None:
        self.plan, self.told = plan, told

    def sums(self) -> dict[str, NDArray[np.int64]]:
        return gaussian_prior._sums(self.plan, self.told.tastes)


def stop(plan: PriorPlan, told: Trained) -> bytes:
    """In place of a release: the training ends here."""
    raise Asked(plan, told)


OPTIONS = TrainingOptions(dimension=2, ranking_dimension=16, min_ratings=5, rule="none")
FILMS = films()[:60]


def people(first: int, last: int, *newcomer: int) -> RatingTable:
    """Some of a crowd of 400 simulated people, and one more who loves these items, if any."""
    ratings = simulate(FILMS, n_people=400)
    own = (first <= ratings.person) & (ratings.person < last)
    more = np.array(newcomer, dtype=np.int64)
    return RatingTable(
        np.append(ratings.person[own] - first, np.full_like(more, last - first)),
        np.append(ratings.item[own], more),
        np.append(ratings.rating[own], np.full(len(more), 5.0)),
        last - first + (len(more) > 0),
        tuple(film.title for film in FILMS),
    )


@cache
def elsewhere() -> FixedVectors:
    """The vectors of a model of the first half of the crowd."""
    model = train(people(0, 200), {}, OPTIONS, source="s")
    catalog = model.catalog
    return FixedVectors(tuple(model.keys), catalog.vectors, catalog.boosts, model.card.space)


def asked(table: RatingTable, vectors: VectorSource, options: TrainingOptions = OPTIONS) -> Asked:
    """What a training on these people and vectors asks to be released."""
    prior = DPGaussian(Fraction(1), stop)
    with pytest.raises(Asked) as caught:
        train(table, {}, options, source="s", prior=prior, vectors=vectors)
    return caught.value


def moved(vectors: VectorSource, options: TrainingOptions = OPTIONS) -> dict[str, float]:
    """How far each part moves with a person who loves every other film, relative to what it may."""
    tables = people(200, 400), people(200, 400, *range(0, len(FILMS), 2))
    before, after = (asked(table, vectors, options) for table in tables)
    assert before.plan == after.plan
    bounds = before.plan.sensitivities
    changes = {part: np.abs(after.sums()[part] - before.sums()[part]).sum() for part in SHARES}
    return {part: float(change) / bounds[part] for part, change in changes.items()}


@pytest.mark.slow
def test_with_vectors_fixed_in_advance_one_person_moves_no_more_than_is_charged() -> None:
    """The whole training, with and without the person. Planted bug: vectors fitted again."""
    told = moved(elsewhere())
    assert max(told.values()) <= 1
    assert min(told.values()) > 0


@pytest.mark.slow
def test_items_that_are_fixed_keep_their_order_whatever_devices_hold() -> None:
    """The order decides which ratings make profiles, and what counts at which place. Planted bug:
    items in the order of these people's likes, where devices hold some of them.
    """
    told = moved(elsewhere(), replace(OPTIONS, default_items=5))
    assert max(told.values()) <= 1
    assert min(told.values()) > 0


@pytest.mark.slow
def test_with_learned_vectors_the_promise_needs_its_condition() -> None:
    """The words "given the item vectors" stand on the card for a reason: the mean moves five times
    as far as the noise hides, since everybody's taste is told in other vectors.
    """
    assert moved(LearnedVectors())["mean"] > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vectors_fixed", "condition"),
    [
        (False, "given the item vectors, which are learned from the same people without it"),
        (True, "with item vectors of another model, which must not be made of the same people"),
    ],
)
def test_the_card_says_what_the_release_is_conditional_on(
    vectors_fixed: bool, condition: str
) -> None:
    """A training says it to its prior; the prior's words are the card's, and `train` shows them."""
    source = elsewhere() if vectors_fixed else LearnedVectors()
    assert asked(people(200, 400), source).told.vectors_fixed == vectors_fixed
    prior = DPGaussian(PLAN.epsilon, lambda plan, told: plan.release(told.tastes, SystemBits()))
    origin = prior.people(replace(trained(), vectors_fixed=vectors_fixed)).origin
    assert f"differential privacy (add or remove one person), {condition}, paid for" in origin
    assert "It does not cover the space, rule, buckets, figures and shared slate" in origin
