"""A small world with exact arithmetic, shared by the tests of every layer.

Ranks are linear: F(z) = (z + width) / (2 width), knots at multiples of width / 16. Signal
directions are the first d ranking directions, so what likes add up to can be read off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.protocol.cards import ModelCard
from askew.spaces.vectors import KNOTS, Encoder, FeatureSpace, RatingScale

SOURCE = "made-up films with SIMULATED ratings"


def made_encoder(  # noqa: PLR0917
    d: int = 2,
    ranking: int = 3,
    width: float = 2.0,
    clip: float = 0.75,
    least_likes: int = 4,
    unit: float = 2.0,
) -> Encoder:
    """Ranks linear in [-width, width], directions the first d axes, mean taste zero."""
    return Encoder(
        directions=np.eye(ranking, d, dtype=np.float32),
        origin=np.zeros(ranking, dtype=np.float32),
        knots=np.tile(np.linspace(-width, width, KNOTS), (d, 1)),
        clip=clip,
        least_likes=least_likes,
        unit=unit,
    )


def made_space(encoder: Encoder | None = None, step: float = 0.25) -> FeatureSpace:
    """A space with ratings from 1 to 5, of which 4 and 5 are likes. Item codes say multiples of the
    step, from -8 to 7 of it.
    """
    encoder = encoder or made_encoder()
    scales = np.full(encoder.ranking_dimension, step, dtype=np.float32)
    return FeatureSpace(RatingScale(1.0, 5.0, 4.0), encoder, scales)


def made_catalog(
    rows: Sequence[tuple[float, ...]],
    shared_slate: tuple[int, ...] = (),
    boosts: list[float] | None = None,
) -> Catalog:
    items = tuple(Item(f"Film {i}", 1960 + i, ("Drama",)) for i in range(len(rows)))
    vectors = np.array(rows, dtype=np.float32)
    return Catalog(items, vectors, np.array(boosts or [1.0] * len(rows), np.float32), shared_slate)


def made_card(space: FeatureSpace, catalog: Catalog, max_slate_size: int) -> ModelCard:
    """The card of a space and a catalog."""
    return ModelCard(
        space=space,
        catalog_version=catalog.version,
        n_items=len(catalog),
        max_slate_size=min(max_slate_size, len(catalog)),
        source=SOURCE,
        simulated=True,
        n_default=len(catalog),
        median_distance=float(space.diameter) / 4,
    )
