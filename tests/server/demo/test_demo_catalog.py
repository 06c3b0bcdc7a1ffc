"""The embedded demo: a catalog of real films and reproducible simulated ratings of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

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
