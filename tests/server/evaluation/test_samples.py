"""A sample of people: whole histories, evenly drawn, the same each time."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from askew_server.evaluation.experiment import sampled
from askew_server.ratings import RatingTable

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
