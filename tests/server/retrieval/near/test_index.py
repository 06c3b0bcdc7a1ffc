"""The index finds exactly the nearest items, at 180 degrees too."""

from __future__ import annotations

import numpy as np
import pytest
from near_world import AREAS, BOTH, ISLANDS, LINE, along_axes, great_circle, places

from askew.errors import DimensionMismatch, OutOfRange
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapSpace
from askew_server.retrieval.index import IndexPart, MetricIndex


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.words)
def test_the_nearest_items_on_a_map_are_those_by_great_circle(area: Area) -> None:
    """And distances are chords, and a part keeps the ids of its items. Planted bugs: degrees
    instead of points of the sphere; radians forgotten.
    """
    items, people = places(area, 3000), places(area, 200, seed=2)
    index = MetricIndex(MapSpace(area), items)
    found = index.nearest(index.frame.tree(index.frame.grid(people)), 5)
    distances = great_circle(people[:, None], items)
    expected = np.sort(distances, axis=1)[:, :5]
    np.testing.assert_allclose(np.take_along_axis(distances, found, 1), expected, atol=1e-6)
    measured = index.distances(index.frame.tree(index.frame.grid(people)), np.arange(300))
    chords = 2 * 6371.0088 * np.sin(distances[:, :300] / (2 * 6371.0088))
    np.testing.assert_allclose(measured, chords, rtol=2e-3)
    rows = np.arange(1, 3000, 2)
    part = IndexPart(index.frame, index.points[rows], rows).nearest(
        index.frame.tree(index.frame.grid(people)), 2
    )
    assert (rows[distances[:, rows].argmin(axis=1)] == part[:, 0]).all()


@pytest.mark.parametrize("space", [LINE, BOTH], ids=["line", "both"])
def test_the_nearest_items_on_axes_are_those_by_l1(space: AxisSpace) -> None:
    rng = np.random.default_rng(3)
    high = np.array([axis.high for axis in space.axes])
    items, people = high * rng.random((400, len(high))), high * rng.random((100, len(high)))
    index = MetricIndex(space, items)
    distances = along_axes(space, people[:, None], items)
    grid = index.frame.grid(people)
    found = np.take_along_axis(distances, index.nearest(index.frame.tree(grid), 4), 1)
    np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :4], atol=1e-9)
    measured = index.distances(index.frame.tree(grid), np.arange(400))
    np.testing.assert_allclose(measured, distances, atol=1e-4)


def test_coordinates_that_make_no_collection_are_refused() -> None:
    for coordinates in (np.zeros((3, 3)), np.zeros((0, 2)), np.full((2, 2), np.nan)):
        with pytest.raises((DimensionMismatch, OutOfRange)):
            MetricIndex(MapSpace(ISLANDS), coordinates)
