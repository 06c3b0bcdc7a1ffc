"""Who is a client is not in the training, and who is where depends on the seed alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from askew.errors import DataError
from askew_server.evaluation.experiment import deal
from askew_server.ratings import RatingTable


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
