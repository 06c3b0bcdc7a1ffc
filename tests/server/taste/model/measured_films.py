"""Films that simulated people rated, and whom a model did not see."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from askew_server.demo.simulation import films, simulate
from askew_server.ratings import RatingTable
from askew_server.taste.item_vectors import histories_by_key
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import split_ratings

OPTIONS = TrainingOptions(k=4, dimension=2, ranking_dimension=6, min_ratings=5)
N_FILMS, N_PEOPLE = 150, 1000


@cache
def small_table(n_people: int = N_PEOPLE, seed: int = 1) -> RatingTable:
    return simulate(films()[:N_FILMS], n_people=n_people, seed=seed)


@cache
def measured(default_items: int | None = None) -> ItemModel:
    options = replace(OPTIONS, default_items=default_items)
    return train(small_table(), {}, options, source="s")


def held_out_rows() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The people of whom figures tell, and those whom what is measured was made of."""
    order, fifth = np.random.default_rng([OPTIONS.seed, 9]).permutation(N_PEOPLE), N_PEOPLE // 5
    return np.sort(order[:fifth]), np.sort(order[fifth:])


@cache
def without_them(default_items: int | None = None) -> ItemModel:
    """The model that is measured: of the others alone."""
    _, others = held_out_rows()
    fewer = OPTIONS.min_ratings * len(others) // N_PEOPLE
    options = replace(OPTIONS, min_ratings=fewer, default_items=default_items)
    return train(small_table().only(others), {}, options, source="s")


@dataclass(frozen=True, eq=False)
class HeldOutPerson:
    """Somebody held out. worth: of each item, -inf where seen; liked: and not shown."""

    worth: NDArray[np.float64]
    liked: frozenset[int]
    point: NDArray[np.float64]

    def ndcg(self, items: Iterable[int]) -> float:
        gains = [1 / math.log2(rank + 2) for rank in range(10)]
        unseen = [item for item in items if self.worth[item] > -math.inf]
        unseen.sort(key=lambda item: (-self.worth[item], item))
        ranked = zip(gains, unseen, strict=False)
        return sum(g for g, i in ranked if i in self.liked) / sum(gains[: len(self.liked)])


def people_held_out(model: ItemModel) -> list[HeldOutPerson]:
    """The people whom figures tell of, as plain loops have them. model: `without_them`."""
    table, card, catalog = small_table(), model.card, model.catalog
    encoder, measured_people = card.space.encoder, []
    people = histories_by_key(table.only(held_out_rows()[0]), tuple(model.keys), card.space.scale)
    shown, _ = split_ratings(people, OPTIONS.seed)
    for row in range(people.seen.shape[0]):
        likes, shown_likes, seen = (
            set(part.indices[part.indptr[row] : part.indptr[row + 1]].tolist())
            for part in (people.likes, shown.likes, shown.seen)
        )
        if not shown_likes or likes == shown_likes:
            continue
        rows, weight = sorted(shown_likes), math.sqrt(max(len(shown_likes), OPTIONS.least_likes))
        taste = catalog.vectors[rows].astype(float).sum(axis=0) / weight
        worth = catalog.scoring.astype(float) @ taste
        worth[sorted(seen)] = -math.inf
        sums = encoder.contributions(catalog.vectors)[rows].sum(axis=0)
        point = encoder.unit * encoder.ranks(sums[None] / weight)
        measured_people.append(HeldOutPerson(worth, frozenset(likes - shown_likes), point[0]))
    return measured_people


def summary(got: list[float], other: list[float]) -> tuple[float, float, float]:
    """Mean, mean of the paired difference, and its standard error."""
    rest = [g - o for g, o in zip(got, other, strict=True)]
    gain = sum(rest) / len(rest)
    spread = math.sqrt(sum((g - gain) ** 2 for g in rest) / len(rest))
    return sum(got) / len(got), gain, spread / math.sqrt(len(rest))
