"""Who is a client, what is in a sample, scores some people at a time, and figures by hand."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew_server.evaluation import experiment
from askew_server.evaluation.experiment import (
    QUANTILES,
    GroupScores,
    Outcome,
    PeopleGains,
    coverage_of,
    deal,
    outcome,
    sampled,
)
from askew_server.ratings import RatingTable
from askew_server.taste.measures import mean_of, ratio_of
from askew_server.taste.training.buckets import favorites


def made_table(n_people: int = 200, n_items: int = 30, each: int = 20) -> RatingTable:
    rng = np.random.default_rng(8)
    item = np.concatenate([rng.permutation(n_items)[:each] for _ in range(n_people)])
    person = np.repeat(np.arange(n_people), each)
    rating = rng.integers(1, 6, len(item)).astype(np.float64)
    return RatingTable(person, item, rating, n_people, tuple(f"i{i}" for i in range(n_items)))


def test_everybody_is_in_one_part() -> None:
    split = deal(made_table(), seed=3, min_ratings=5)
    parts = [split.server, split.validation, split.clients]
    assert [len(part) for part in parts] == [132, 34, 34]
    assert sorted(np.concatenate(parts).tolist()) == list(range(200))


def test_a_fifth_of_what_each_person_rated_is_held_out() -> None:
    split = deal(made_table(), seed=3, min_ratings=1)
    assert (np.diff(split.held_out.indptr) == 4).all()
    assert (np.diff(split.profile.indptr) == 16).all()
    assert split.profile.multiply(split.held_out).nnz == 0


def timed(table: RatingTable) -> RatingTable:
    """Made in an order that is not that of the rows, some at the same time."""
    at = np.random.default_rng(3).integers(0, 400, len(table)).astype(np.float64)
    return replace(table, time=at)


def test_what_each_person_rated_last_can_be_held_out() -> None:
    """Planted bug: the first fifth."""
    table = timed(made_table())
    split = deal(table, seed=3, min_ratings=1, held_out="latest")
    assert table.time is not None
    when = csr_array((1 + table.time, (table.person, table.item)), shape=(200, 30))
    for person in range(200):
        early = split.profile[[person]].indices
        late = split.held_out[[person]].indices
        assert (len(early), len(late)) == (16, 4)
        codes = split.item_codes
        of_early, of_late = (when[[person], codes[part]] for part in (early, late))
        assert of_early.max() <= of_late.min()


@pytest.mark.parametrize("time", [None, np.append(np.zeros(3999), np.nan)])
def test_without_times_nothing_is_the_latest(time: np.ndarray | None) -> None:
    with pytest.raises(DataError, match="not every rating has a time"):
        deal(replace(made_table(), time=time), 0, 1, "latest")


def test_the_catalog_has_the_rare_items_too() -> None:
    split = deal(made_table(), seed=3, min_ratings=85)
    assert len(split.item_codes) < split.n_catalog == 30


def test_a_rare_item_is_one_that_the_servers_people_rarely_rated() -> None:
    """Planted bug: ratings of clients counted, so that clients decide what the catalog is."""
    table = made_table()
    split = deal(table, seed=3, min_ratings=85)
    known = np.isin(table.person, split.server)
    counts = np.bincount(table.item[known], minlength=30)
    assert split.item_codes.tolist() == np.flatnonzero(counts >= 85).tolist()
    assert 2 <= len(split.item_codes) < 30


def test_the_seed_decides() -> None:
    first, again, other = (deal(made_table(), seed, 5) for seed in (1, 1, 2))
    assert first.clients.tolist() == again.clients.tolist()
    assert abs(first.profile - again.profile).max() == 0
    assert first.clients.tolist() != other.clients.tolist()


def test_too_little_to_split_is_said() -> None:
    with pytest.raises(DataError, match="too few"):
        deal(made_table(n_people=30), 0, 1)
    with pytest.raises(DataError, match="fewer than 2 items"):
        deal(made_table(), 0, 500)


PEOPLE, ITEMS = 60, 9


def table(people: int = PEOPLE) -> RatingTable:
    """Person p rates some items, each as p * 10 + item at the time -p."""
    pairs = [(p, i) for i in range(ITEMS) for p in range(people) if (p + i) % 3]
    person, item = (np.array(column) for column in zip(*pairs, strict=True))
    keys = tuple(f"item {i}" for i in range(ITEMS))
    rating = np.asarray(person * 10.0 + item, dtype=np.float64)
    return RatingTable(person, item, rating, people, keys, time=-person.astype(np.float64))


def histories(of: RatingTable) -> dict[int, Counter[tuple[int, float, float]]]:
    """What each person rated, how and when."""
    assert of.time is not None
    found: dict[int, Counter[tuple[int, float, float]]] = defaultdict(Counter)
    for person, *rated in zip(of.person, of.item, of.rating, of.time, strict=True):
        found[int(person)][(int(rated[0]), float(rated[1]), float(rated[2]))] += 1
    return found


def test_a_sample_has_whole_histories_of_so_many_people() -> None:
    """Planted bugs: ratings drawn instead of people; times left in the order of everybody's."""
    whole, part = histories(table()), sampled(table(), 17)
    assert part.n_people == 17
    assert part.item_keys == table().item_keys
    mine = histories(part)
    assert sorted(mine) == list(range(17))
    assert all(history in whole.values() for history in mine.values())
    assert len({min(history) for history in mine.values()}) == 17


def test_a_sample_is_the_same_each_time() -> None:
    assert histories(sampled(table(), 17)) == histories(sampled(table(), 17))


def test_a_sample_of_more_than_there_are_is_everybody() -> None:
    assert histories(sampled(table(), PEOPLE + 1)) == histories(table())


def test_a_sample_is_not_the_people_who_come_first() -> None:
    """As a log is often in the order of when they came. Their places are even over all of it:
    1,000 of 10,000 lie within 5 standard errors of the middle."""
    people = np.arange(10_000)
    one = RatingTable(people, people * 0, people.astype(np.float64), len(people), ("film",))
    middle = sampled(one, 1000).rating.mean()
    assert abs(middle - 4999.5) < 5 * 10_000 / np.sqrt(12 * 1000)


N_PEOPLE, N_ITEMS, MOST = 37, 23, 100
SCORES = np.random.default_rng(0).normal(size=(N_PEOPLE, N_ITEMS)).astype(np.float32)
SLATES = np.random.default_rng(1).integers(N_ITEMS, size=(N_PEOPLE, 3))


@pytest.fixture(params=[MOST, 10**6])
def group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GroupScores:
    """The same scores, at most so many at a time, or all at once."""
    most: int = request.param
    monkeypatch.setattr(experiment, "AT_ONCE", most)

    def made(rows: slice, items: NDArray[np.int64]) -> NDArray[np.float32]:
        found = SCORES[rows][:, items]
        assert found.size <= most
        return found

    return GroupScores(N_PEOPLE, N_ITEMS, made)


def test_in_parts_or_whole_they_are_the_same(group: GroupScores) -> None:
    """Planted bugs: the last people left out; everybody's items in place of one's own; all people
    at once.
    """
    every = np.arange(N_ITEMS)
    some = np.array([[4, 2], [0, 22]])
    assert np.array_equal(SCORES, group.of_items(every))
    assert np.array_equal(SCORES[:, some], group.of_items(some))
    assert np.array_equal(np.take_along_axis(SCORES, SLATES, axis=1), group.at(SLATES))
    assert np.array_equal(np.maximum(SCORES.max(axis=1), 0), group.best())
    assert np.array_equal(np.argsort(-SCORES, axis=1, kind="stable")[:, :4], group.best_slates(4))
    assert np.array_equal(favorites(SCORES), group.favorites())


# Person 0 has seen item 0; person 1 likes nothing but item 1; person 2 has seen 0 and 1.
THREE_PEOPLE = np.array([[-1, 2, 4, 1], [0, 3, 0, 0], [-1, -1, 2, 2]], dtype=np.float32)
# Held out and liked: item 1 of person 0; items 0 and 1 of person 1; nothing of person 2.
HELD = csr_array(np.array([[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=np.float64))


def got(*slates: list[int]) -> Outcome:
    chosen = np.array(slates)
    return outcome(np.take_along_axis(THREE_PEOPLE, chosen, axis=1), chosen, HELD)


def test_a_person_gets_the_best_unseen_item_of_the_slate() -> None:
    found = got([1, 3], [0, 1], [2, 3])
    assert found.score.tolist() == [2, 3, 2]
    assert found.pick.tolist() == [1, 1, 2]  # ties to the lower item


def test_a_slate_of_seen_items_is_worth_nothing() -> None:
    """Planted bug: the score of a seen item counted, -1 or what it was before."""
    assert got([0, 1], [2, 3], [0, 1]).score.tolist() == [2, 0, 0]


def test_the_order_in_which_a_slate_comes_says_nothing() -> None:
    assert got([3, 1], [1, 0], [3, 2]).pick.tolist() == got([1, 3], [0, 1], [2, 3]).pick.tolist()


def test_a_hit_is_a_pick_that_was_liked_among_what_was_held_out() -> None:
    hits = got([1, 3], [1, 3], [2, 3]).hit
    assert hits[:2].tolist() == [1, 1]
    assert math.isnan(hits[2])  # nothing was held out that they liked
    assert got([2, 1], [0, 3], [2, 3]).hit[:2].tolist() == [0, 1]


def test_ndcg_is_the_gain_of_the_order_over_the_best_order() -> None:
    """Person 0: item 2 then 1, so the liked one is second: (1 / log2 3) / 1. Person 1: item 1, then
    item 0: both liked ones in front, 1.
    """
    found = got([1, 2], [0, 1], [2, 3]).ndcg
    assert found[0] == pytest.approx(1 / math.log2(3))
    assert found[1] == pytest.approx(1.0)
    assert math.isnan(found[2])


def test_a_short_slate_is_measured_by_the_best_slate_as_short() -> None:
    """One of two liked items in a slate of one is all that one item can do; half of recall."""
    found = got([1], [1], [2])
    assert (found.ndcg[1], found.recall[1]) == (1.0, 0.5)


def test_recall_is_the_share_of_what_was_liked_that_is_in_the_slate() -> None:
    """Planted bug: divided by k."""
    found = got([1, 3], [0, 1], [2, 3]).recall
    assert found[:2].tolist() == [1, 1]
    assert math.isnan(found[2])
    assert got([2, 3], [0, 3], [2, 3]).recall[:2].tolist() == [0, 0.5]


def test_gains_are_shares_of_ones_own_best() -> None:
    """Gains 1/2, -1/4, 0, and one for whom nothing is possible. Planted bug: worse off counted
    from those who gain nothing.
    """
    found = PeopleGains.of(
        np.array([3.0, 1, 2, 0]), np.array([1.0, 2, 2, 0]), np.array([4.0, 4, 2, 0])
    )
    assert (found.worse, found.better) == (1, 1)
    middle = dict(zip(QUANTILES, found.quantiles, strict=True))
    assert middle[0.5] == 0
    assert middle[0.05] == pytest.approx(-9 / 40)
    assert middle[0.95] == pytest.approx(9 / 20)


def test_coverage_is_of_the_whole_catalog() -> None:
    assert coverage_of(np.array([7, 7, 2]), 10) == 0.2


def test_who_gets_nothing_new_picks_nothing() -> None:
    """Planted bug: the first seen item of a slate counted as a pick."""
    assert got([0, 1], [2, 3], [0, 1]).picked.tolist() == [1]


def test_a_ratio_is_of_sums_and_its_error_is_linearized() -> None:
    """10 of 16; the residuals 1 - 2.5, 3 - 2.5, 6 - 5 have root mean square 1.0801 around 0."""
    estimate = ratio_of(np.array([1.0, 3.0, 6.0]), np.array([4.0, 4.0, 8.0]))
    assert estimate.mean == pytest.approx(10 / 16)
    spread = math.sqrt((1.5**2 + 0.5**2 + 1.0**2) / 3)
    assert estimate.error == pytest.approx(spread / math.sqrt(3) / (16 / 3))


def test_an_unknown_value_is_left_out_of_a_mean() -> None:
    estimate = mean_of(np.array([1.0, np.nan, 0.0]))
    assert estimate.mean == 0.5
    assert estimate.error == pytest.approx(0.5 / math.sqrt(2))
    assert math.isnan(mean_of(np.array([np.nan])).mean)
