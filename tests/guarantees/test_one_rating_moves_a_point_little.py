"""One rating more, less or changed moves a point by at most the bound that a device computes.

Checked on random people, and on people built to come close to the bound. Each planted bug is a way
to encode that breaks the bound, and the same check sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_world import made_encoder, made_space

from askew.dp.privacy import DEVICE_DIAMETER, DEVICE_EPSILON
from askew.noise.lattice import LatticeLaplace
from askew.spaces.vectors import KNOTS, Encoder, fold_in
from askew_client.views.cost import Cost, Leaves

Ratings = dict[int, float]


def random_encoder(rng: np.random.Generator, kind: type[Encoder] = Encoder) -> Encoder:
    """Ranks steep in the middle and flat beside it, clips that bite and clips that do not."""
    d, ranking = int(rng.integers(1, 4)), int(rng.integers(3, 6))
    gaps = np.where(np.abs(np.arange(KNOTS) - 16) < 6, 1.0, 4.0) * rng.uniform(0.9, 1, (d, KNOTS))
    knots = np.cumsum(gaps / 40, axis=1)
    return kind(
        directions=rng.normal(size=(ranking, d)).astype(np.float32),
        origin=np.zeros(ranking, np.float32),
        knots=knots - knots[:, 16:17],
        clip=float(rng.choice([0.05, 0.2, 1.0])),
        least_likes=int(rng.choice([1, 2, 5, 20])),
        unit=float(rng.choice([0.5, 1.5, 3.0])),
    )


def moved(encoder: Encoder, vectors: NDArray[np.float32], one: Ratings, two: Ratings) -> Fraction:
    """The exact l1 distance of the points of two people."""
    space = made_space(encoder)
    points = [fold_in(ratings, vectors, space).point.tolist() for ratings in (one, two)]
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(*points, strict=True)), Fraction(0))


def neighbor(ratings: Ratings, n_items: int, rng: np.random.Generator) -> Ratings:
    """One rating added, removed or changed."""
    item = int(rng.integers(n_items))
    if item in ratings and rng.random() < 0.5 and len(ratings) > 1:
        return {other: rating for other, rating in ratings.items() if other != item}
    return {**ratings, item: float(rng.integers(1, 6))}


@given(st.integers(0, 2**32 - 1))
def test_no_neighbor_is_farther_than_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    encoder = random_encoder(rng)
    n_items = int(rng.integers(2, 40))
    vectors = rng.normal(size=(n_items, encoder.ranking_dimension)).astype(np.float32)
    rated = rng.permutation(n_items)[: rng.integers(1, n_items + 1)]
    one = {int(item): float(rng.integers(1, 6)) for item in rated}
    two = neighbor(one, n_items, rng)
    assert moved(encoder, vectors, one, two) <= encoder.one_rating


@given(st.integers(0, 2**32 - 1))
def test_a_new_rating_on_the_same_side_costs_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    encoder = random_encoder(rng)
    vectors = rng.normal(size=(6, encoder.ranking_dimension)).astype(np.float32)
    one = {item: float(rng.integers(1, 6)) for item in range(6)}
    two = {item: 9 - r if r >= 4 else 1.0 for item, r in one.items()}
    assert moved(encoder, vectors, one, two) == 0


def steep_at(
    start: float, kind: type[Encoder] = Encoder, least_likes: int = 20, clip: float = 0.02
) -> Encoder:
    """Ranks of slope 1/2 from just before `start` to 1/16 beyond it, and of slope 1/8 elsewhere."""
    gaps = np.full(KNOTS - 1, 1 / 4)
    gaps[15] = 1 / 16
    knots = np.cumsum(np.append(0.0, gaps))
    return kind(
        directions=np.eye(1, dtype=np.float32),
        origin=np.zeros(1, np.float32),
        knots=(knots - knots[15] + start - 1e-3)[None],
        clip=clip,
        least_likes=least_likes,
        unit=1.0,
    )


PULL = 0.04  # z of one item at the clip of 0.02, where the largest slope is 1/2


def against_many(
    n_likes: int, many: float = PULL, one: float = PULL
) -> tuple[NDArray[np.float32], Ratings, Ratings]:
    """n_likes items that pull one way, and one more that pulls the other way."""
    vectors = np.array([[-many]] * n_likes + [[one]], dtype=np.float32)
    likes: Ratings = dict.fromkeys(range(n_likes), 5.0)
    return vectors, likes, {**likes, n_likes: 5.0}


@pytest.mark.parametrize("least_likes", [1, 20, 500])
def test_people_at_the_floor_come_within_a_hundredth_of_the_bound(
    least_likes: int, record_property: Callable[[str, object], None]
) -> None:
    encoder = steep_at(-PULL * math.sqrt(least_likes), least_likes=least_likes)
    vectors, one, two = against_many(least_likes)
    bound = encoder.one_rating
    found = moved(encoder, vectors, one, two)
    record_property("mechanism", "Encoder, one rating")
    record_property("claimed", float(bound))
    record_property("exact", float(found))
    assert 0.99 * bound < found <= bound


class ClipsAfterTheSum(Encoder):
    """Bounds the whole sum, so that one large item can carry a person anywhere."""

    def contributions(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        return (vectors @ self.directions).astype(np.float64)

    def encode(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        total = contributions.sum(axis=0)
        most = self.clip * max(len(contributions), 1)
        total *= min(1.0, most / max(float(np.abs(total) @ self.slopes), most))
        z = total / math.sqrt(max(len(contributions), self.least_likes))
        return self.unit * self.ranks(z)


class NoFloor(Encoder):
    """Divides by sqrt(n) however few the likes are."""

    def encode(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        z = contributions.sum(axis=0) / math.sqrt(max(len(contributions), 1))
        return self.unit * self.ranks(z)


class MeanSlope(Encoder):
    """Takes a rank's mean slope for its largest."""

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        return 1 / (self.knots[:, -1] - self.knots[:, 0])


@pytest.mark.parametrize(
    ("broken", "start", "n_likes", "pulls"),
    [
        pytest.param(ClipsAfterTheSum, -PULL * math.sqrt(20), 20, (PULL, 40.0), id="a large item"),
        pytest.param(NoFloor, -PULL, 1, (PULL, PULL), id="few likes"),
        # The mean slope is 16/125, so contributions reach 0.02 * 125 / 16.
        pytest.param(MeanSlope, -0.15625 * math.sqrt(20), 20, (1.0, 1.0), id="the steep part"),
    ],
)
def test_a_planted_bug_is_caught(
    broken: type[Encoder], start: float, n_likes: int, pulls: tuple[float, float]
) -> None:
    honest, wrong = steep_at(start), steep_at(start, broken)
    people = against_many(n_likes, *pulls)
    assert moved(honest, *people) <= honest.one_rating
    assert moved(wrong, *people) > wrong.one_rating


@pytest.mark.slow
@pytest.mark.parametrize("broken", [ClipsAfterTheSum, NoFloor, MeanSlope])
def test_random_people_find_each_planted_bug_too(broken: type[Encoder]) -> None:
    """The property test itself has power: 2,000 random neighbors are enough."""
    found = 0
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        encoder = random_encoder(rng, broken)
        vectors = rng.normal(size=(12, encoder.ranking_dimension)).astype(np.float32)
        one = {int(item): 5.0 for item in rng.permutation(12)[: rng.integers(1, 12)]}
        two = neighbor(one, 12, rng)
        found += moved(encoder, vectors, one, two) > encoder.one_rating
    assert found > 0


@given(st.integers(0, 30), st.integers(1, 30))
def test_the_growth_is_the_largest_move_of_a_sum_of_unit_pulls(n: int, least: int) -> None:
    """The closed form against the two cases of the proof, on both sides of the floor."""
    before, after = math.sqrt(max(n, least)), math.sqrt(max(n + 1, least))
    worst = abs(-n / before - (-n + 1) / after)
    bound = math.sqrt(least) - (least - 1) / math.sqrt(least + 1)
    assert worst <= bound * (1 + 1e-12)
    assert n != least or worst >= bound * (1 - 1e-12)


def test_a_title_in_place_of_another_is_told_as_what_two_ratings_tell() -> None:
    """By the law of the noise, exactly: a person of one like, and one of another that pulls the
    other way. Planted bug: it is said to cost what one rating costs.
    """
    encoder = made_encoder(d=1, ranking=1, width=2.0, clip=0.5, least_likes=1)
    unit = float(encoder.unit_within(DEVICE_DIAMETER))
    vectors = np.array([[-2.0], [2.0]], dtype=np.float32)
    apart = moved(replace(encoder, unit=unit), vectors, {0: 5.0}, {1: 5.0})
    lattice = LatticeLaplace.for_epsilon(DEVICE_EPSILON)
    cost = Cost(Leaves.FRESH, lattice.charge)
    # Far beyond both points, one is likelier than the other by (1 + 1/q) ** steps.
    lost = math.log1p(1 / lattice.inverse_rate) * float(apart) / lattice.step
    assert 1.99 * cost.epsilon < lost <= cost.replaced_title
