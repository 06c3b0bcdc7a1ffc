"""A new catalog in the old space: items come, go and are scored anew, and no device pays for it.

The space stays as it is, and with it every signal that a device has stored. Known items keep their
vectors, new ones are folded in with the factors at hand, items that are rated no more are dropped;
boosts and the shared slate are made anew. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.errors import DataError, OutOfRange
from askew.spaces.item_codes import rounded
from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste.model.item_model import ItemModel, card_of
from askew_server.taste.model.payloads import MovedPayloads
from askew_server.taste.model.shared_slate import boosts_of, items_of, shared_slate, starter_first
from askew_server.taste.model.utility_table import FileSize, of_catalog, sized
from askew_server.taste.training.factors import fold_in_items, fold_in_people, people_of, snapshot
from askew_server.taste.training.item_vectors import Expressed, often_rated


def update(
    model: ItemModel,
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    *,
    source: str,
    file_size: FileSize | None = None,
) -> ItemModel:
    """The model with the catalog of these ratings. Deterministic, by the seed of its training.
    Items that stay keep their payloads. file_size: as in `train`; the figures of what asking is
    worth stay those of the training.

    Raises DataError where no item is known, ratings are off the scale, or nobody likes anything.
    """
    try:
        new = _update(model, table, rows, source)
    except OutOfRange as error:
        raise DataError(f"these ratings make no usable catalog: {error}") from None
    if file_size is None or model.card.utility_table is None:
        return new
    told = of_catalog(model.card.utility_table, model.card, new.card)
    card = sized(replace(new.card, utility_table=told), new.catalog, file_size)
    return replace(new, card=card)


def _update(
    model: ItemModel, table: RatingTable, rows: Mapping[str, ItemRow], source: str
) -> ItemModel:
    space, options = model.card.space, model.training
    told, n_starter = starter_first(_expressed(model, table), rows)
    keys, vectors, people = told.keys, told.vectors, told.people
    rng = np.random.default_rng(options.seed)
    tastes = fold_in_people(snapshot(people, options.seed), vectors, space.encoder.least_likes)
    boosts = boosts_of(people.likes, options.boost_exponent)
    held = n_starter if n_starter < len(keys) else 0
    slate = shared_slate(tastes, vectors * boosts[:, None], rng, held)
    catalog = Catalog(items_of(keys, rows), vectors, boosts, slate)
    card = card_of(
        space, catalog, model.card.rule, source, n_starter, simulated=model.card.simulated
    )
    known, old = _known(keys, model.keys)
    prior = model.prior and model.prior.with_items(known, old, len(keys))
    counts, median = people.counts(), model.median_distance
    places = dict(zip(known.tolist(), old.tolist(), strict=True))
    payloads = model.payloads and MovedPayloads(model.payloads, places, len(keys))
    return ItemModel(card, catalog, keys, options, counts, prior, model.figures, median, payloads)


def _expressed(model: ItemModel, table: RatingTable) -> Expressed:
    """The items of these ratings, new ones folded in, and their people."""
    space, options = model.card.space, model.training
    kept = often_rated(table, options.min_ratings)
    keys = tuple(table.item_keys[i] for i in kept)
    people = people_of(table, kept, space.scale)
    vectors = np.zeros((len(keys), space.ranking_dimension), dtype=np.float32)
    known, old = _known(keys, model.keys)
    vectors[known] = model.catalog.vectors[old]
    new = np.setdiff1d(np.arange(len(keys)), known)
    if new.size:
        likes = people.likes
        folded = fold_in_items(likes[:, known], vectors[known], likes[:, new])
        vectors[new] = rounded(folded.astype(np.float32), space.scales)
    return Expressed(keys, vectors, space.scales, space.scale, people, options)


def _known(
    keys: tuple[str, ...], old_keys: Iterable[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the known items in the new catalog, and in the old one."""
    places = {key: place for place, key in enumerate(old_keys)}
    pairs = [(new, places[key]) for new, key in enumerate(keys) if key in places]
    if not pairs:
        raise DataError("none of these items is in the model: train a new one")
    known, old = np.array(pairs, dtype=np.int64).T
    return known, old
