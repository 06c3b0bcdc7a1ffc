"""A small world of tastes on the wire: a card and the catalog that it names, of any size."""

from __future__ import annotations

import numpy as np
from small_world import made_encoder, made_space

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, HEAD_BYTES
from askew.catalog.item import Item
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.queries import query_to_bytes
from askew.wire.tastes import card_to_bytes, slate_to_bytes


def world(dimension: int, n_items: int) -> tuple[ModelCard, Catalog]:
    """Return the card and the catalog of n_items in d dimensions, d + 1 of ranking."""
    ranking = dimension + 1
    vectors = (np.arange(n_items * ranking) % 16 - 8) / 4
    items = (
        Item("Alien", 1979, ("Horror", "Science Fiction")),
        Item("Amélie & 'friends', 100 % «fun»", 2001, ("Comedy",)),
        Item("No year and no genre"),
        *(Item(f"Film {i}", 1900 + i % 100) for i in range(3, n_items)),
    )
    catalog = Catalog(
        items[:n_items],
        vectors.astype(np.float32).reshape(n_items, ranking),
        (2.0 ** (np.arange(n_items) % 3)).astype(np.float32),
        tuple(range(min(n_items, 64)))[::-1],
    )
    card = ModelCard(
        space=made_space(made_encoder(d=dimension, ranking=ranking, width=np.e)),
        catalog_version=catalog.version,
        n_items=n_items,
        max_slate_size=min(n_items, 64),
        source="ratings of 1,234 people",
        simulated=True,
        n_default=n_items,
        median_distance=0.5,
    )
    return card, catalog


CARD, CATALOG = world(2, 5)
QUERY = Query(
    Signal(CARD.space.version, LatticeLaplace(10, 1024), (1500, -300)), 3, catalog_date=FIRST
)
REQUEST_BYTES = query_to_bytes(QUERY)
REPLY_BYTES = slate_to_bytes(Slate.of_catalog(CATALOG, (0, 2, 4)), CARD)
CARD_BYTES = card_to_bytes(CARD)
FILE = catalog_to_bytes(CARD, CATALOG)
BODY = FILE[HEAD_BYTES:]
