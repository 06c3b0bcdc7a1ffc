"""Ratings to evaluate on: the embedded simulated ones, and samples of people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from askew_server.ratings import RatingTable

_SAMPLE = 0  # the seed of a sample of people; those of a study deal them


def simulated_table() -> RatingTable:
    """The embedded films with simulated ratings."""
    from askew_server.demo.simulation import N_PEOPLE, films, simulate

    catalog = films()
    ratings = simulate(catalog, n_people=N_PEOPLE)
    keys = tuple(film.title for film in catalog)
    return RatingTable(ratings.person, ratings.item, ratings.rating, N_PEOPLE, keys)


def sampled(table: RatingTable, n_people: int) -> RatingTable:
    """The ratings of so many people, or of all where there are fewer: each as likely as any other,
    and the same ones each time. Items stay, also those that nobody of them rated.
    """
    drawn = np.zeros(table.n_people, dtype=np.bool_)
    drawn[np.random.default_rng(_SAMPLE).permutation(table.n_people)[:n_people]] = True
    kept, code = drawn[table.person], np.cumsum(drawn) - 1
    return replace(
        table,
        person=code[table.person[kept]],
        item=table.item[kept],
        rating=table.rating[kept],
        n_people=int(drawn.sum()),
        time=None if table.time is None else table.time[kept],
    )
