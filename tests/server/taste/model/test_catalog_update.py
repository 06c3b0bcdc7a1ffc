"""A new catalog in the old space: devices keep their signals and pay nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from asked import query_of
from numpy.typing import NDArray

from askew.catalog.catalog_file import FIRST, HEAD_BYTES
from askew.errors import DataError
from askew.noise.randomness import SystemBits
from askew.wire.catalog_file import catalog_from_body, catalog_to_bytes
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import slate_from_bytes, slate_to_bytes
from askew_client.catalog.cache import CachedCatalog
from askew_client.device.model import Exchange, Model
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_server.ratings import ItemRow, RatingTable
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model import ItemModel, train, update
from askew_server.taste.options import TrainingOptions

Matrix = NDArray[np.float64]
TableOf = Callable[[Matrix], RatingTable]
SETTINGS = ClientSettings(k=4, rating_lifetime_cap=Fraction(100))


@pytest.fixture(scope="module")
def changed_table(table_of: TableOf, matrix: Matrix) -> RatingTable:
    """The people of `matrix` later: items 2 and 7 are gone, and item 24 is new, loved by the fans
    of item 0.
    """
    later = np.column_stack([matrix, np.where(np.nan_to_num(matrix[:, 0]) >= 4, 5.0, 2.0)])
    later[:, [2, 7]] = np.nan
    return table_of(later)


@pytest.fixture(scope="module")
def updated(model: ItemModel, changed_table: RatingTable, rows: Mapping[str, ItemRow]) -> ItemModel:
    return update(model, changed_table, rows, source="ratings of 60 people, later")


def test_items_come_and_go_and_the_others_keep_their_vectors(
    model: ItemModel, updated: ItemModel
) -> None:
    assert updated.card.space.version == model.card.space.version
    assert updated.card.catalog_version != model.card.catalog_version
    assert updated.card.source == "ratings of 60 people, later"
    assert set(model.keys) - set(updated.keys) == {"key 2", "key 7"}
    assert set(updated.keys) - set(model.keys) == {"key 24"}
    for key in set(updated.keys) & set(model.keys):
        new, old = updated.keys.index(key), model.keys.index(key)
        assert updated.catalog.items[new] == model.catalog.items[old]
        assert np.array_equal(updated.catalog.vectors[new], model.catalog.vectors[old])


def test_a_new_item_lies_where_its_fans_other_favorites_lie(
    table: RatingTable, changed_table: RatingTable
) -> None:
    """Planted bug: a new item of zeros, which nobody would ever be offered."""
    options = TrainingOptions(min_ratings=5, least_likes=4, ranking_dimension=8)
    updated = update(train(table, {}, options, source="s"), changed_table, {}, source="later")
    new, favorite = updated.keys.index("key 24"), updated.keys.index("key 0")
    scores = updated.catalog.scoring @ updated.catalog.vectors[favorite]
    scores[favorite] = -np.inf
    assert new in np.argsort(-scores)[:2]


def ask(model: ItemModel, store: SignalStore) -> tuple[bytes, int]:
    """A device's question of a month, as bytes, and how many items it gets."""
    card, catalog = catalog_from_body(catalog_to_bytes(model.card, model.catalog)[HEAD_BYTES:])
    held = Model.of(CachedCatalog(card, catalog, FIRST, 0))
    exchange = Exchange(held, SETTINGS, {0: 5.0, 4: 5.0, 9: 1.0})
    request = query_to_bytes(query_of(exchange, "2026-11", store, SystemBits()))
    slate = Retriever(model.card, model.catalog).answer(query_from_bytes(request, card))
    reply = slate_from_bytes(slate_to_bytes(slate, card), card, SETTINGS.k)
    exchange.check_slate(reply)
    return request, len(reply.item_ids)


def test_a_device_with_a_stored_signal_pays_nothing_for_a_new_catalog(
    tmp_path: Path, model: ItemModel, updated: ItemModel
) -> None:
    """Planted bug: a space version that covers the catalog, so that every new film costs."""
    store = SignalStore(tmp_path / "signals.sqlite", SETTINGS.caps)
    before = ask(model, store)
    assert ask(updated, store) == before
    assert before[1] == SETTINGS.k
    assert len(store.entries()) == 1


def test_ratings_that_make_no_catalog_are_refused(
    model: ItemModel, table: RatingTable, table_of: TableOf
) -> None:
    others = replace(table, item_keys=tuple(f"other {i:02}" for i in range(24)))
    for ratings, reason in (
        (table_of(np.full((9, 24), 9.0)), "ratings must be between 1 and 5"),
        (table_of(np.full((9, 24), 3.0)), "nobody of 9 people gave 4 or more"),
        (table_of(np.full((3, 24), 5.0)), "to any of 0 items"),
        (others, "none of these items is in the model"),
    ):
        with pytest.raises(DataError, match=reason):
            update(model, ratings, {}, source="bad")
