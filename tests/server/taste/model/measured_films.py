"""Films that simulated people rated, as models with a utility table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import UtilityTable
from askew.spaces.buckets import Buckets
from askew.spaces.vectors import RatingScale
from askew.wire.catalog_file import catalog_to_bytes
from askew_server.demo.simulation import films, simulate
from askew_server.ratings import RatingTable
from askew_server.taste.model.item_model import ItemModel, train
from askew_server.taste.prior.source import PriorSource, PublishedRatings
from askew_server.taste.training.factors import (
    Histories,
    Tastes,
    fold_in_people,
    people_of,
    snapshot,
)
from askew_server.taste.training.item_vectors import often_rated
from askew_server.taste.training.options import TrainingOptions

OPTIONS = TrainingOptions(
    epsilon=4.0, k=4, dimension=2, ranking_dimension=6, min_ratings=5, rule="auto"
)
SCALE = RatingScale(0.5, 5.0, 4.0)
N_FILMS, N_PEOPLE = 150, 500


@cache
def small_table(n_people: int = N_PEOPLE, seed: int = 1) -> RatingTable:
    ratings = simulate(films()[:N_FILMS], n_people=n_people, seed=seed)
    keys = tuple(film.title for film in films()[:N_FILMS])
    return RatingTable(ratings.person, ratings.item, ratings.rating, n_people, keys)


def file_size(card: ModelCard, catalog: Catalog) -> int:
    return len(catalog_to_bytes(card, catalog))


def too_large(card: ModelCard, catalog: Catalog) -> int:
    """As if each item had a long description."""
    return file_size(card, catalog) + 100_000 * len(catalog)


def known_people() -> PriorSource:
    """Other people, whom the server may know."""
    return PublishedRatings(small_table(250, seed=2), "others")


def tastes_of(model: ItemModel) -> Tastes:
    table = small_table()
    kept = {key: place for place, key in enumerate(model.keys)}
    people = people_of(table, often_rated(table, OPTIONS.min_ratings), model.card.space.scale)
    order = np.argsort([kept[table.item_keys[i]] for i in often_rated(table, OPTIONS.min_ratings)])
    profiles = snapshot(Histories(people.likes[:, order], people.seen[:, order]), OPTIONS.seed)
    return fold_in_people(profiles, model.catalog.vectors, OPTIONS.least_likes)


@cache
def measured(
    default_items: int | None = None, size: Callable[[ModelCard, Catalog], int] = file_size
) -> ItemModel:
    options = replace(OPTIONS, default_items=default_items)
    prior = known_people() if default_items is None else None
    rule = "auto" if default_items is None else "codebook"
    return train(
        small_table(), {}, replace(options, rule=rule), source="s", prior=prior, file_size=size
    )


def table_of(model: ItemModel) -> UtilityTable:
    assert model.card.utility_table is not None
    return model.card.utility_table


def who_is_told(model: ItemModel) -> list[tuple[NDArray[np.float64], int]]:
    """The people whose figures the table tells: what each item is worth to them, as plain loops
    have it, and their buckets.
    """
    tastes, card = tastes_of(model), model.card
    order = np.random.default_rng([OPTIONS.seed, 9]).permutation(len(tastes.vectors))
    fifth = len(order) // 5
    found = []
    for row in np.sort(order[fifth : 2 * fifth]).tolist():
        taste = tastes.vectors[row].astype(np.float32).astype(float)
        seen = tastes.people.seen[[row]].toarray().ravel()
        worth = np.array(
            [
                0.0 if seen[i] else max(float(model.catalog.scoring[i] @ taste), 0.0)
                for i in range(len(model.catalog))
            ]
        )
        buckets = card.space.buckets
        bucket = buckets.of(taste) if isinstance(buckets, Buckets) else 0
        found.append((worth, bucket))
    return found


def summary(got: list[float], other: list[float], best: list[float]) -> tuple[float, float, float]:
    """Ratio, paired gain and its standard error, for a ratio of means."""
    gain = (sum(got) - sum(other)) / sum(best)
    rest = [g - o - gain * b for g, o, b in zip(got, other, best, strict=True)]
    spread = math.sqrt(sum(each**2 for each in rest) / len(rest) - (sum(rest) / len(rest)) ** 2)
    error = spread / math.sqrt(len(rest)) / (sum(best) / len(best))
    return sum(got) / sum(best), gain, error
