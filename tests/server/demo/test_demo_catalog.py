"""The embedded demo: a catalog of real films and reproducible simulated ratings of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from askew.errors import ParameterError
from askew_server.demo.simulation import GENRES, Film, SimulatedRatings, films, simulate


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


def test_a_simulation_without_people_or_films_is_refused(catalog: tuple[Film, ...]) -> None:
    with pytest.raises(ParameterError, match="n_people"):
        simulate(catalog, n_people=0)
    with pytest.raises(ParameterError, match="catalog"):
        simulate(())


@pytest.mark.parametrize("genres", [(), ("Western",), ("Drama", "Western")])
def test_a_film_without_a_known_genre_is_refused(genres: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="genres"):
        simulate((Film("Nameless", 2000, genres),))
