"""What modes of a collection take and give, and which of them a card proposes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from served_rows import proposing
from small_collections import DAY, cafes, posts

from askew.protocol.collection import Collection
from askew.protocol.modes import DEVICE_BYTES, ServingMode
from askew.spaces.map import MapSpace
from askew_server.collections.model import MetricModel, model_of
from askew_server.demo.places import GERMANY, german_towns, scattered
from askew_server.evaluation.near_modes import (
    QUESTIONS,
    FileSizes,
    ModeCost,
    mode_costs,
    proposed,
)
from askew_server.retrieval.near.answers import MetricAnswers
from askew_server.taste.measures import Estimate

TOWNS = german_towns().of_at_least(50_000).towns


def made(collection: Collection, n: int = 2000) -> MetricModel:
    """The collection around real towns."""
    rng = np.random.default_rng(0)
    held = replace(collection, coordinates=scattered(n, TOWNS, GERMANY, rng))
    return model_of(MapSpace(GERMANY), [proposing(held, ServingMode.QUERY)], TOWNS)


def costs(model: MetricModel, sizes: FileSizes, weeks: float = 1) -> dict[str, ModeCost]:
    [collection] = model.collections.values()
    found = mode_costs(model, MetricAnswers(model), collection, sizes, weeks)
    return {each.name: each for each in found}


def test_who_holds_every_row_has_the_nearest_and_who_holds_some_is_farther() -> None:
    """Planted bugs: the default rows from one end of the country; townspeople as the country."""
    rows = costs(made(posts(n=2000)), FileSizes(20_000, 2_000, 20_000), weeks=4)
    assert (rows["local"].weekly, rows["cached"].weekly) == (5_000, 500)
    assert rows["local"].town == rows["local"].country == Estimate(0, 0)
    cached, query = rows["cached"], rows["query"]
    assert cached.town is not None
    assert query.town is not None
    assert 0 < query.town.mean < cached.town.mean < 15
    assert 0 < cached.town.error < cached.town.mean / 2
    assert query.weekly > QUESTIONS * query.k * 30


def test_live_values_of_rows_that_are_held_are_more_results_in_fewer_bytes() -> None:
    rows = costs(made(cafes(n=2000)), FileSizes(20_000, 20_000, 20_000), weeks=100)
    values, query = rows["rows, values"], rows["query"]
    assert values.k > 2 * query.k
    assert values.weekly < query.weekly + 14_000
    assert values.town is not None
    assert query.town is not None
    assert values.town.mean <= query.town.mean
    assert "local" not in rows


def test_axes_have_bytes_and_no_kilometers() -> None:
    model = model_of(DAY, [posts(DAY, n=24)])
    rows = costs(model, FileSizes(400, 400, 400))
    assert [each.town for each in rows.values()] == [None, None]


def cost(mode: ServingMode, weekly: int, town: float, country: float) -> ModeCost:
    return ModeCost(str(mode), mode, weekly, 0, Estimate(town, 0.1), Estimate(country, 0.1))


LOCAL, CACHED, QUERY = ServingMode.LOCAL, ServingMode.CACHED, ServingMode.QUERY
ALL_ROWS = cost(LOCAL, 1, 0, 0)
ASKING = cost(QUERY, 50_000, 1.0, 1.0)


@pytest.mark.parametrize(
    ("rows", "whole", "mode"),
    [
        ((ALL_ROWS, ASKING), DEVICE_BYTES, LOCAL),
        ((ALL_ROWS, cost(CACHED, 1, 0.5, 0.9), ASKING), DEVICE_BYTES + 1, CACHED),
        ((ALL_ROWS, cost(CACHED, 1, 0.5, 1.1), ASKING), DEVICE_BYTES + 1, QUERY),
        ((ASKING, cost(CACHED, 40_000, 0.1, 0.1)), DEVICE_BYTES, CACHED),
        ((ASKING, cost(CACHED, 60_000, 0.1, 0.1)), DEVICE_BYTES, QUERY),
        ((ASKING, cost(CACHED, 40_000, 0.1, 0.1)), DEVICE_BYTES + 1, QUERY),
    ],
)
def test_a_card_proposes_rows_where_they_fit_and_nobody_is_served_worse(
    rows: tuple[ModeCost, ...], whole: int, mode: ServingMode
) -> None:
    """Planted bug: the country is not looked at."""
    assert proposed(rows, whole) is mode
