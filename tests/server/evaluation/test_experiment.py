"""Who is a client, what is held out of them, what is in a sample, and estimates by hand."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from askew.errors import DataError
from askew_server.evaluation.experiment import Experiment, deal, sampled, shown_and_liked
from askew_server.ratings import RatingTable
from askew_server.taste.measures import mean_of, ratio_of
from askew_server.taste.model.item_model import Draft
from askew_server.taste.training.item_vectors import LearnedVectors
from askew_server.taste.training.options import TrainingOptions


def made_table(n_people: int = 200, n_items: int = 30, each: int = 20) -> RatingTable:
    rng = np.random.default_rng(8)
    item = np.concatenate([rng.permutation(n_items)[:each] for _ in range(n_people)])
    person = np.repeat(np.arange(n_people), each)
    rating = rng.integers(1, 6, len(item)).astype(np.float64)
    return RatingTable(person, item, rating, n_people, tuple(f"i{i}" for i in range(n_items)))


def test_everybody_is_in_one_part() -> None:
    parts = deal(200, seed=3)
    assert [len(part) for part in parts] == [132, 34, 34]
    assert sorted(np.concatenate(parts).tolist()) == list(range(200))


def test_the_seed_decides() -> None:
    first, again, other = (deal(200, seed)[2].tolist() for seed in (1, 1, 2))
    assert first == again != other


def timed(table: RatingTable) -> RatingTable:
    """Made in an order that is not that of the rows, some at the same time."""
    at = np.random.default_rng(3).integers(0, 400, len(table)).astype(np.float64)
    return replace(table, time=at)


@cache
def draft() -> Draft:
    options = TrainingOptions(min_ratings=5, dimension=1, ranking_dimension=4)
    return Draft.of(made_table(), {}, options, LearnedVectors(), lambda _: None)


def test_what_each_person_rated_last_can_be_held_out() -> None:
    """Planted bug: the first fifth."""
    table, items = timed(made_table()), draft().told.keys
    shown, liked = shown_and_liked(table, draft(), "latest")
    assert table.time is not None
    rated = zip(table.person, table.item, table.rating, table.time, strict=True)
    when = {(int(p), items.index(f"i{i}")): (t, r) for p, i, r, t in rated}
    for person in range(200):
        early = shown.seen[[person]].indices.tolist()
        of_person = sorted(item for one, item in when if one == person)
        late = sorted(set(of_person) - set(early))
        assert (len(early), len(late)) == (16, 4)
        assert max(when[person, i][0] for i in early) <= min(when[person, i][0] for i in late)
        liked_late = [item for item in late if when[person, item][1] >= 4]
        assert sorted(liked[[person]].indices.tolist()) == liked_late


def test_by_chance_about_a_fifth_is_held_out_and_nothing_shown_is_judged() -> None:
    shown, liked = shown_and_liked(made_table(), draft(), "random")
    assert 0.76 < shown.seen.nnz / len(made_table()) < 0.84
    assert shown.seen.multiply(liked).nnz == 0
    assert liked.nnz > 0


@pytest.mark.parametrize("time", [None, np.append(np.zeros(3999), np.nan)])
def test_without_times_nothing_is_the_latest(time: np.ndarray | None) -> None:
    with pytest.raises(DataError, match="not every rating has a time"):
        shown_and_liked(replace(made_table(), time=time), draft(), "latest")


def test_a_rare_item_is_one_that_the_servers_people_rarely_rated() -> None:
    """Planted bug: ratings of clients counted, so that clients decide what the catalog is."""
    table = made_table()
    counts = np.bincount(table.item[np.isin(table.person, deal(200, 3)[0])], minlength=30)
    found = Experiment.of(table, seed=3, min_ratings=85).draft.told.keys
    assert sorted(found) == sorted(f"i{item}" for item in np.flatnonzero(counts >= 85))
    assert 2 <= len(found) < 30


def test_too_little_to_split_is_said() -> None:
    with pytest.raises(DataError, match="too few"):
        Experiment.of(made_table(n_people=30), 0, 1)
    with pytest.raises(DataError, match="0 items"):
        Experiment.of(made_table(), 0, 500)


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
