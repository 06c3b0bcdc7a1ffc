"""The embedded demo: a catalog of real films and reproducible simulated ratings of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD

from askew.errors import ParameterError
from askew_server.demo.simulation import GENRES, Film, SimulatedRatings, films, simulate

GROUPS = {
    "scary": {"Horror", "Thriller", "Science Fiction"},
    "family": {"Family", "Animation", "Musical"},
    "romantic": {"Romance", "Drama"},
}


@pytest.fixture(scope="module")
def catalog() -> tuple[Film, ...]:
    return films()


@pytest.fixture(scope="module")
def ratings(catalog: tuple[Film, ...]) -> SimulatedRatings:
    return simulate(catalog)


def test_the_catalog_has_a_few_hundred_films_sorted_by_unique_title(
    catalog: tuple[Film, ...],
) -> None:
    titles = [film.title for film in catalog]
    assert 360 <= len(titles) <= 420
    assert titles == sorted(titles)
    assert len({title.casefold() for title in titles}) == len(titles)
    assert all(title == title.strip() != "" for title in titles)


def test_every_film_has_one_to_three_known_genres_and_every_genre_has_films(
    catalog: tuple[Film, ...],
) -> None:
    assert len(set(GENRES)) == 14
    assert all(1 <= len(set(film.genres)) == len(film.genres) <= 3 for film in catalog)
    counts = Counter(genre for film in catalog for genre in film.genres)
    assert set(counts) == set(GENRES)
    assert min(counts.values()) >= 20


def test_the_same_seed_repeats_every_rating(
    catalog: tuple[Film, ...], ratings: SimulatedRatings
) -> None:
    again = simulate(catalog)
    assert np.array_equal(again.person, ratings.person)
    assert np.array_equal(again.item, ratings.item)
    assert np.array_equal(again.rating, ratings.rating)


@pytest.mark.parametrize("seed", [20261121, 1, 2])
def test_every_film_has_at_least_20_ratings(catalog: tuple[Film, ...], seed: int) -> None:
    counts = np.bincount(simulate(catalog, seed=seed).item, minlength=len(catalog))
    assert counts.size == len(catalog)
    assert counts.min() >= 20


def test_every_person_rates_20_to_120_films_and_none_twice(
    catalog: tuple[Film, ...], ratings: SimulatedRatings
) -> None:
    assert ratings.person.shape == ratings.item.shape == ratings.rating.shape
    assert ratings.person.dtype == ratings.item.dtype == np.int64
    counts = np.bincount(ratings.person, minlength=2000)
    assert counts.size == 2000
    assert counts.min() >= 20
    assert counts.max() <= 120
    pairs = ratings.person * len(catalog) + ratings.item
    assert np.all(np.diff(pairs) > 0), "sorted by person, then item, without a repeat"


def test_a_small_catalog_is_seen_whole_by_everyone(catalog: tuple[Film, ...]) -> None:
    small = simulate(catalog[:5], n_people=3)
    assert small.person.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert small.item.tolist() == [0, 1, 2, 3, 4] * 3


def test_people_who_share_a_taste_agree_more_than_people_who_do_not(
    catalog: tuple[Film, ...], ratings: SimulatedRatings
) -> None:
    stars = _rating_table(catalog, ratings)
    scary, family = _tagged(catalog, GROUPS["scary"]), _tagged(catalog, GROUPS["family"])
    even = np.arange(len(catalog)) % 2 == 0
    # Tastes come from even rows and agreement from odd rows: no rating counts for both.
    lean = _mean_rows(stars[:, even & scary]) - _mean_rows(stars[:, even & family])
    order = np.argsort(lean)[: np.count_nonzero(~np.isnan(lean))]
    gentle, fearless = order[:400], order[-400:]
    odd = stars[:, ~even]
    within = min(
        _agreement(odd[gentle[::2]], odd[gentle[1::2]]),
        _agreement(odd[fearless[::2]], odd[fearless[1::2]]),
    )
    across = max(
        _agreement(odd[gentle[::2]], odd[fearless[1::2]]),
        _agreement(odd[fearless[::2]], odd[gentle[1::2]]),
    )
    assert within > 0.6
    assert across < within - 0.5


def test_people_see_more_of_what_they_like(
    catalog: tuple[Film, ...], ratings: SimulatedRatings
) -> None:
    stars = _rating_table(catalog, ratings)
    horror = np.array(["Horror" in film.genres for film in catalog])
    opinion = _mean_rows(stars[:, horror]) - _mean_rows(stars[:, ~horror])
    share = (~np.isnan(stars[:, horror])).sum(axis=1) / (~np.isnan(stars)).sum(axis=1)
    assert share[opinion > 0.5].mean() > 1.5 * share[opinion < -0.5].mean()


@pytest.mark.parametrize(("rank", "share"), [(2, 0.5), (3, 0.75), (4, 0.85)])
def test_a_low_rank_factorization_puts_most_films_nearest_their_own_genre_group(
    catalog: tuple[Film, ...], ratings: SimulatedRatings, rank: int, share: float
) -> None:
    table = csr_matrix((ratings.rating - 2.75, (ratings.person, ratings.item)))
    factors = TruncatedSVD(rank, random_state=0).fit(table).components_.T
    pure = {
        name: factors[[set(film.genres) <= genres for film in catalog]]
        for name, genres in GROUPS.items()
    }
    centroids = np.array([rows.mean(axis=0) for rows in pure.values()])
    right = [
        np.mean(np.linalg.norm(rows[:, None] - centroids, axis=2).argmin(axis=1) == group)
        for group, rows in enumerate(pure.values())
    ]
    assert min(right) > share, dict(zip(pure, right, strict=True))


def test_a_simulation_without_people_or_films_is_refused(catalog: tuple[Film, ...]) -> None:
    with pytest.raises(ParameterError, match="n_people"):
        simulate(catalog, n_people=0)
    with pytest.raises(ParameterError, match="catalog"):
        simulate(())


@pytest.mark.parametrize("genres", [(), ("Western",), ("Drama", "Western")])
def test_a_film_without_a_known_genre_is_refused(genres: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="genres"):
        simulate((Film("Nameless", 2000, genres),))


def _rating_table(catalog: tuple[Film, ...], ratings: SimulatedRatings) -> NDArray[np.float64]:
    """One row per person, one column per film, NaN where there is no rating."""
    table = np.full((int(ratings.person.max()) + 1, len(catalog)), np.nan)
    table[ratings.person, ratings.item] = ratings.rating
    return table


def _tagged(catalog: tuple[Film, ...], genres: set[str]) -> NDArray[np.bool_]:
    return np.array([bool(genres & set(film.genres)) for film in catalog])


def _mean_rows(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over the present entries, NaN for a row that has none."""
    present = ~np.isnan(table)
    count = present.sum(axis=1)
    total = np.where(present, table, 0.0).sum(axis=1)
    means: NDArray[np.float64] = np.full(len(table), np.nan)
    means[count > 0] = total[count > 0] / count[count > 0]
    return means


def _agreement(some: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Correlation of two groups' mean ratings, over the films that both groups rated."""
    left, right = _mean_rows(some.T), _mean_rows(others.T)
    both = ~np.isnan(left) & ~np.isnan(right)
    return float(np.corrcoef(left[both], right[both])[0, 1])
