"""A small world on the wire: a card and the catalog that it names, of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from small_world import made_encoder, made_space

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST
from askew.catalog.item import Item
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.queries import query_to_bytes
from askew.wire.tastes import card_to_bytes, slate_to_bytes


@pytest.fixture(scope="session")
def world() -> Callable[[int, int], tuple[ModelCard, Catalog]]:
    """Makes the card and the catalog of n_items in d dimensions, d + 1 of ranking."""

    def make(dimension: int, n_items: int) -> tuple[ModelCard, Catalog]:
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
        encoder = made_encoder(d=dimension, ranking=ranking, width=np.e)
        space = made_space(encoder)
        card = ModelCard(
            space=space,
            catalog_version=catalog.version,
            n_items=n_items,
            max_slate_size=min(n_items, 64),
            source="ratings of 1,234 people",
            simulated=True,
            n_default=n_items,
            median_distance=0.5,
        )
        return card, catalog

    return make


@pytest.fixture(scope="session")
def card(world: Callable[[int, int], tuple[ModelCard, Catalog]]) -> ModelCard:
    """The card of five items in the plane."""
    return world(2, 5)[0]


@pytest.fixture(scope="session")
def catalog(world: Callable[[int, int], tuple[ModelCard, Catalog]]) -> Catalog:
    """The catalog that `card` names."""
    return world(2, 5)[1]


@pytest.fixture(scope="session")
def request_bytes(card: ModelCard) -> bytes:
    """A proper request for three items."""
    signal = Signal(card.space.version, LatticeLaplace(10, 1024), (1500, -300))
    return query_to_bytes(Query(signal, 3, catalog_date=FIRST))


@pytest.fixture(scope="session")
def reply_bytes(card: ModelCard, catalog: Catalog) -> bytes:
    """A proper reply of three items."""
    return slate_to_bytes(Slate.of_catalog(catalog, (0, 2, 4)), card)


@pytest.fixture(scope="session")
def card_bytes(card: ModelCard) -> bytes:
    """The card."""
    return card_to_bytes(card)


@pytest.fixture(scope="session")
def catalog_file(card: ModelCard, catalog: Catalog) -> bytes:
    """What devices hold of five items: all of them."""
    return catalog_to_bytes(card, catalog)
