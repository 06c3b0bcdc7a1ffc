"""A small world on the wire: a card and the catalog that it names, of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from askew.model_card import Catalog, Item, ModelCard
from askew.vectors import FeatureSpace, RatingScale


@pytest.fixture(scope="session")
def world() -> Callable[[int, int], tuple[ModelCard, Catalog]]:
    """Makes the card and the catalog of n_items in d dimensions."""

    def make(dimension: int, n_items: int) -> tuple[ModelCard, Catalog]:
        positions = np.arange(n_items * dimension, dtype=np.float32) / 4 - 1
        items = (
            Item("Alien", 1979, ("Horror", "Science Fiction")),
            Item("Amélie & 'friends', 100 % «fun»", 2001, ("Comedy",)),
            Item("No year and no genre"),
            *(Item(f"Film {i}", 1900 + i % 100) for i in range(3, n_items)),
        )
        catalog = Catalog(
            items[:n_items],
            positions.reshape(n_items, dimension),
            tuple(range(min(n_items, 8)))[::-1],
        )
        space = FeatureSpace(
            lower=tuple(-1.5 - i / 7 for i in range(dimension)),
            upper=tuple(1.25 + i / 3 for i in range(dimension)),
            gain=2.7182818284590451,
            weight_floor=8.0,
            scale=RatingScale(0.5, 5.0),
            basis="c0ffee" + "0" * 58,
        )
        card = ModelCard(
            space=space,
            catalog_version=catalog.version,
            n_items=n_items,
            max_slate_size=min(n_items, 64),
            source="ratings of 1,234 people",
            simulated=True,
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
