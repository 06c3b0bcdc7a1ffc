"""The rule with a prior: the likelihood of a signal, the cover of people, the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange, ParameterError
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal
from askew.retrieval.posterior import (
    PosteriorRule,
    Prior,
    cover,
    covered,
    covered_by_each,
    gains,
    lattice_log_likelihood,
    response_log_likelihood,
    systematic,
)

TERMS = 400  # (2/3)**400 < 1e-70 of either draw lies beyond
COARSE = LatticeLaplace(step_exponent=1, inverse_rate=2)  # step 1/2, r = 2/3


def geometric(n: int, q: int) -> Fraction:
    return Fraction(1, q + 1) * Fraction(q, q + 1) ** n if n >= 0 else Fraction(0)


def noise_law(n: int, q: int) -> Fraction:
    """P(G1 - G2 = n), summed over G2."""
    terms = (geometric(n + g, q) * geometric(g, q) for g in range(TERMS))
    return sum(terms, Fraction(0))


def drawn_with(z: int, u: Fraction, lattice: LatticeLaplace) -> Fraction:
    """P(Z = z | u): J is one of the two lattice points around u."""
    place = u * 2**lattice.step_exponent
    below, up = divmod(place, 1)
    q = lattice.inverse_rate
    return Fraction((1 - up) * noise_law(z - below, q) + up * noise_law(z - below - 1, q))


@pytest.mark.thin
@pytest.mark.parametrize("u", ["0", "1/2", "3/8", "15/16", "7/4", "1"])
def test_it_is_the_law_of_the_noise_on_and_off_the_lattice(u: str) -> None:
    """Planted bug: the law of the nearest lattice point alone; off by 12 % at 3/8."""
    exact = Fraction(u)
    for z in range(-6, 9):
        expected = drawn_with(z, exact, COARSE)
        found = lattice_log_likelihood(COARSE, [z], np.array([[float(exact)]]))
        assert math.exp(found[0]) == pytest.approx(float(expected), rel=1e-12)


def test_probabilities_of_all_signals_sum_to_one() -> None:
    points = np.array([[0.0, 1.3], [0.31, 0.7]])
    total = sum(
        np.exp(lattice_log_likelihood(COARSE, [a, b], points))
        for a in range(-60, 61)
        for b in range(-60, 61)
    )
    assert total == pytest.approx([1.0, 1.0], abs=1e-9)


def test_coordinates_are_independent() -> None:
    points = np.array([[0.25, 1.5], [1.0, 0.125]])
    one = [lattice_log_likelihood(COARSE, [z], points[:, [j]]) for j, z in enumerate((3, -1))]
    assert lattice_log_likelihood(COARSE, [3, -1], points) == pytest.approx(one[0] + one[1])


def test_the_end_of_the_wire_stands_for_all_that_lies_beyond() -> None:
    """P(Z >= L) = P(Z = L) / (1 - r) far out, where only the upper tail is left."""
    points = np.array([[0.25], [1.0]])
    inside = lattice_log_likelihood(COARSE, [COORDINATE_LIMIT - 1], points)
    at_end = lattice_log_likelihood(COARSE, [COORDINATE_LIMIT], points)
    log_r = math.log(2 / 3)
    # The logarithms are near -1e9, so their difference is good to 1e-7.
    assert at_end - inside == pytest.approx(log_r + math.log(3), abs=1e-5)


def test_the_farthest_signal_of_the_finest_lattice_is_finite() -> None:
    finest = LatticeLaplace.for_epsilon(Fraction(1024))
    logs = lattice_log_likelihood(finest, [COORDINATE_LIMIT], np.array([[0.0], [64.0]]))
    assert np.isfinite(logs).all()
    assert logs[1] > logs[0]


def test_points_of_another_dimension_are_refused() -> None:
    with pytest.raises(DimensionMismatch):
        lattice_log_likelihood(COARSE, [1, 2], np.zeros((3, 1)))


def test_randomized_response_is_its_table() -> None:
    response = RandomizedResponse(4, Fraction(5))  # 5/8 for one's own, 1/8 for each other
    logs = response_log_likelihood(response, 2, np.array([0, 2, 3]))
    assert np.exp(logs) == pytest.approx([1 / 8, 5 / 8, 1 / 8])
    with pytest.raises(OutOfRange):
        response_log_likelihood(response, 4, np.array([0]))


Scores = NDArray[np.float32]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 rows at a time, so that few rows are enough for several blocks."""
    monkeypatch.setattr("askew.retrieval.posterior._AT_ONCE", 1)


def plain_greedy(scores: Scores, weights: NDArray[np.float64], k: int) -> list[int]:
    """Every gain computed every time, in double precision."""
    chosen: list[int] = []
    best = np.zeros(scores.shape[1])
    while len(chosen) < k:
        gains = np.maximum(scores - best, 0).astype(np.float64) @ weights
        gains[chosen] = -1
        chosen.append(int(gains.argmax()))
        best = np.maximum(best, scores[chosen[-1]])
    return chosen


def made(seed: int, rows: int, people: int) -> tuple[Scores, NDArray[np.float32]]:
    """Multiples of 1/16, weights of 1/64: every sum is exact, so that ties are ties."""
    rng = np.random.default_rng(seed)
    scores = (rng.integers(0, 9, (rows, people)) / 16).astype(np.float32)
    weights = (rng.integers(1, 5, people) / 64).astype(np.float32)
    return scores, weights


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 12), st.data())
@settings(deadline=None)
def test_lazy_choice_is_greedy_choice_ties_included(
    seed: int, rows: int, people: int, data: st.DataObject
) -> None:
    """Planted bugs: only the first block looked at; a tie to the higher row."""
    scores, weights = made(seed, rows, people)
    k = data.draw(st.integers(1, rows))
    assert cover(scores, weights, k) == plain_greedy(scores, weights.astype(float), k)


@pytest.mark.parametrize("k", [1, 2, 3])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_it_is_within_its_factor_of_the_best_of_all_subsets(seed: int, k: int) -> None:
    scores, weights = made(seed, 8, 6)
    best = max(covered(scores, weights, rows) for rows in combinations(range(8), k))
    reached = covered(scores, weights, cover(scores, weights, k))
    assert (1 - np.exp(-1)) * best - 1e-6 <= reached <= best + 1e-6


def test_equal_rows_tie_to_the_lower_wherever_they_stand() -> None:
    """Row sums of awkward lengths round alike for equal rows: the block does not matter."""
    rng = np.random.default_rng(3)
    row = rng.random(1237, dtype=np.float32)
    scores = np.tile(row, (53, 1))
    weights = rng.random(1237, dtype=np.float32)
    assert cover(scores, weights, 4) == [0, 1, 2, 3]


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 12))
@settings(deadline=None)
def test_what_is_held_already_is_no_gain(seed: int, rows: int, people: int) -> None:
    """Greedy on gains is greedy on the best of what is held and chosen, every gain computed anew.

    Planted bug: the scores themselves, as if nothing were held.
    """
    scores, weights = made(seed, rows, people)
    held = (np.random.default_rng(seed).integers(0, 9, people) / 16).astype(np.float32)
    chosen: list[int] = []
    best = held.astype(float)
    for _ in range(rows):
        added = np.maximum(scores, best) @ weights.astype(float) - best @ weights
        added[chosen] = -1
        chosen.append(int(added.argmax()))
        best = np.maximum(best, scores[chosen[-1]])
    assert cover(gains(scores, held), weights, rows) == chosen


@pytest.mark.parametrize("k", [1, 2, 3])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_gains_are_within_the_factor_of_the_best_complement(seed: int, k: int) -> None:
    """Of all subsets, in what people have in the end less what they had."""
    scores, weights = made(seed, 8, 6)
    held = (np.random.default_rng(seed).integers(0, 9, 6) / 16).astype(np.float32)

    def added(rows: Sequence[int]) -> float:
        return float((np.maximum(scores[list(rows)].max(axis=0), held) - held) @ weights)

    best = max(added(rows) for rows in combinations(range(8), k))
    reached = added(cover(gains(scores, held), weights, k))
    assert (1 - np.exp(-1)) * best - 1e-6 <= reached <= best + 1e-6


def test_every_beginning_is_worth_what_it_is_worth_alone() -> None:
    scores, weights = made(4, 9, 20)
    each = covered_by_each(scores, weights, [3, 1, 8])
    assert each.tolist() == [covered(scores, weights, rows) for rows in ([3], [3, 1], [3, 1, 8])]


def test_opposite_tastes_get_one_item_each() -> None:
    """A checkerboard: the right answer is visible. The item that all like a little comes last."""
    scores = np.array([[6, 6, 0, 0], [5, 5, 0, 0], [0, 0, 6, 6], [2, 2, 2, 2]], np.float32)
    weights = np.full(4, 0.25, np.float32)
    assert cover(scores, weights, 2) == [0, 2]


def test_prefixes_are_the_choices_for_fewer() -> None:
    scores, weights = made(5, 30, 50)
    order = cover(scores, weights, 12)
    assert [cover(scores, weights, k) for k in (1, 4, 9)] == [order[:1], order[:4], order[:9]]


def test_more_items_than_there_are_is_refused() -> None:
    scores, weights = made(1, 3, 3)
    for k in (0, 4):
        with pytest.raises(ParameterError):
            cover(scores, weights, k)


VERSION = "00" * 16
LATTICE = LatticeLaplace.for_epsilon(Fraction(2))


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
