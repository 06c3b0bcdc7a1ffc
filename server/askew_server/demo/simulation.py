"""Simulated ratings of the demo films: a generative model with a fixed seed.

The films are real, the people are not. Every draw comes from one PCG64 generator that the seed
starts, so anyone can repeat it: this is simulation, and it protects nobody.

A vector has 15 coordinates: the 14 genres in the order of GENRES, then the era. For a film f,

    x_f = (1[f has genre g] / sqrt(number of genres of f), (decade_f - 1980) / 30) + 0.2 * z_f
    quality_f = 0.25 * a_f
    popularity_f = 0.5 * b_f + 0.6 * quality_f + 0.15 * (decade_f - 1980) / 30

with z_f, a_f and b_f standard normal. So a film's taste vector is its genres, its decade and an
idiosyncratic part. For a person p, ARCHETYPES gives 8 taste vectors A_k, and

    w_p ~ Dirichlet(0.15, ..., 0.15)                          soft membership, mostly one archetype
    t_p = sum_k w_pk * (A_k - mean of A) + 0.25 * z_p         z_p standard normal
    t_p <- t_p less the mean of its genre coordinates, on those coordinates

so the 14 genre coordinates of t_p sum to 0, and what some people love others dislike. With
liking_pf = t_p . x_f, person p sees

    n_p = round(20 + 100 * Beta(1.6, 2.4))                    films, without replacement,
    P(the next film seen is f) proportional to exp(popularity_f + 0.6 * liking_pf)

by the Gumbel top-n trick, and rates each of them with

    rating_pf = round to a half star of clip(3.0 + quality_f + 1.2 * liking_pf + e_pf, 0.5, 5.0)

with e_pf normal of mean 0 and standard deviation 0.4. `write_events` writes who saw what as the log
of an operator; `demo_model` is trained on the ratings in about a second.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions

GENRES: Final = (
    "Action",
    "Adventure",
    "Animation",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Family",
    "Fantasy",
    "Horror",
    "Musical",
    "Romance",
    "Science Fiction",
    "Thriller",
)

# Columns: the 14 genres in the order of GENRES, then the era (above 0 prefers newer films).
ARCHETYPES: Final = np.array(
    [
        # Act   Adv   Ani   Com   Cri   Doc   Dra   Fam   Fan   Hor   Mus   Rom   SF    Thr   era
        [+0.2, +0.0, -0.5, -0.2, +0.3, -0.4, -0.1, -1.2, +0.0, +1.8, -1.0, -0.8, +0.8, +1.1, +0.0],
        [+0.9, +0.6, -0.1, -0.2, +0.1, -0.4, -0.4, -0.7, +0.1, +0.6, -1.2, -1.1, +1.7, +0.7, +0.2],
        [+1.2, +1.2, +0.1, +0.0, +0.3, -0.9, -0.8, -0.2, +0.5, +0.1, -0.8, -0.8, +0.8, +0.4, +0.4],
        [+0.3, -0.1, -0.7, -0.2, +1.4, +0.1, +0.5, -1.1, -0.7, +0.5, -0.8, -0.2, +0.0, +1.2, -0.3],
        [-0.3, +0.4, +1.5, +0.4, -0.9, -0.2, -0.4, +1.6, +0.8, -1.6, +0.8, -0.1, -0.2, -1.3, +0.3],
        [-0.7, -0.1, +0.7, +0.5, -0.7, +0.0, -0.1, +0.9, +0.2, -1.3, +1.6, +0.6, -0.8, -1.1, -0.3],
        [-0.9, -0.4, -0.6, +0.4, -0.2, +0.0, +0.9, -0.3, -0.1, -1.1, +0.3, +1.6, -0.8, -0.4, +0.0],
        [-1.0, -0.5, -0.5, -0.1, +0.3, +1.3, +1.4, -0.6, -0.3, -0.5, -0.1, +0.8, -0.4, -0.2, -0.4],
    ]
)


N_PEOPLE = 2000


def films() -> tuple[ItemRow, ...]:
    """Return the 417 films of the demo catalog, sorted by title, each with a year and one to three
    genres.
    """
    table = resources.files("askew_server.demo").joinpath("films.csv")
    rows = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline=""))
    return tuple(
        ItemRow(row["title"], int(row["year"]), tuple(row["genres"].split("|"))) for row in rows
    )


def simulate(
    catalog: Sequence[ItemRow], *, n_people: int = N_PEOPLE, seed: int = 20261121
) -> RatingTable:
    """Return simulated ratings of some of `films` by n_people, 20 to 120 each, in half stars from
    .5 to 5, sorted by person and then by item. Item i is the i-th film, its key the title.
    Deterministic for a seed; a person sees at most the whole catalog.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    decade = np.array([(film.year or 0) // 10 * 10 for film in catalog], dtype=np.float64)
    era = (decade - 1980.0) / 30.0
    genres = np.array([[genre in film.genres for genre in GENRES] for film in catalog], np.float64)
    vectors = np.column_stack([genres / np.linalg.norm(genres, axis=1, keepdims=True), era])
    vectors += 0.2 * rng.standard_normal(vectors.shape)
    quality = 0.25 * rng.standard_normal(len(catalog))
    popularity = 0.5 * rng.standard_normal(len(catalog)) + 0.6 * quality + 0.15 * era
    liking = _draw_tastes(n_people, rng) @ vectors.T
    person, item = _draw_views(popularity + 0.6 * liking, rng)
    noise = 0.4 * rng.standard_normal(person.size)
    stars = 3.0 + quality[item] + 1.2 * liking[person, item] + noise
    keys = tuple(film.title for film in catalog)
    rating = np.round(2.0 * np.clip(stars, 0.5, 5.0)) / 2.0
    return RatingTable(person, item, rating, n_people, keys)


def _draw_tastes(n_people: int, rng: np.random.Generator) -> NDArray[np.float64]:
    membership = rng.dirichlet(np.full(len(ARCHETYPES), 0.15), size=n_people)
    tastes: NDArray[np.float64] = membership @ (ARCHETYPES - ARCHETYPES.mean(axis=0))
    tastes += 0.25 * rng.standard_normal(tastes.shape)
    genres = tastes[:, : len(GENRES)]
    genres -= genres.mean(axis=1, keepdims=True)
    return tastes


def _draw_views(
    appeal: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_people, n_films = appeal.shape
    seen = np.round(20.0 + 100.0 * rng.beta(1.6, 2.4, size=n_people)).astype(np.int64)
    # Sorting log-weights plus Gumbel noise draws without replacement, for everyone at once.
    order = np.argsort(-(appeal + rng.gumbel(size=appeal.shape)), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n_films)[np.newaxis, :], axis=1)
    person, item = np.nonzero(rank < seen[:, np.newaxis])
    return person.astype(np.int64), item.astype(np.int64)


def write_events(folder: Path) -> tuple[tuple[str, int], ...]:
    """Write events.csv (unit, item) and catalog.csv (item) into a folder that is there. Return each
    film with how many people saw it, most first; films are called "Title (1979)", people "person
    12", from 0 on. The counts are exact because nobody is behind them: every event is simulated.
    """
    labels = [f"{film.title} ({film.year})" for film in films()]
    ratings = simulate(films())
    seen = [labels[item] for item in ratings.item.tolist()]
    people = [f"person {number}" for number in ratings.person.tolist()]
    events = [("unit", "item"), *zip(people, seen, strict=True)]
    for name, rows in (("events.csv", events), ("catalog.csv", [("item",), *zip(labels)])):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    return tuple(Counter(seen).most_common())


SOURCE = "well-known films with SIMULATED ratings"
OPTIONS = TrainingOptions(dimension=2, ranking_dimension=8)  # 8 archetypes, and a plane to show


def demo_model() -> ItemModel:
    """Return the demo model, of 2 signal dimensions and 8 of ranking, trained now. Deterministic;
    its card is `simulated`, of the source "well-known films with SIMULATED ratings".
    """
    rows = {film.title: film for film in films()}
    return train(simulate(films()), rows, OPTIONS, source=SOURCE, simulated=True)
