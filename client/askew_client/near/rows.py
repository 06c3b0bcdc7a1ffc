"""Items near a place among the rows that a device holds: nothing is asked or sent.

Every item is judged as `pick` judges those of an answer, but by columns: each different value of a
column once. All but a person's own ratings of titles count here; the best of it are judged again
with those. The steps are the same for all places, preferences and ratings, here too.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import Column, Numbers, Words
from askew.catalog.item import Listing, Value
from askew.protocol.collection import Collection
from askew_client.near.pick import ColumnPreferences, Preferences, is_open_flag, value_is_open
from askew_client.near.sources import EARTH_RADIUS, AxisSource, NearSource

JUDGED = 500  # items with which a person's own ratings count
_Floats = NDArray[np.float64]
_Mask = NDArray[np.bool_]


def best_rows(
    source: NearSource,
    rows: Collection,
    preferences: Preferences,
    now: datetime.datetime,
    count: int = JUDGED,
) -> tuple[Listing, ...]:
    """Return the best `count` items of all rows (500), in ascending order of id, or all where there
    are fewer. Best: what passes the filters first, then by the least cost of `near.pick`, without
    own ratings.
    """
    distances = _distances(source, rows.coordinates)
    away, gained = distances.copy(), np.zeros(len(rows))
    filtered = preferences.only.keys() | preferences.at_most.keys()
    # A filter by anything that the rows lack lets nothing pass.
    is_there = filtered <= {each.name for each in rows.card.attributes}
    passes = np.full(len(rows), is_there)
    told = opened = hours = np.zeros(len(rows), np.bool_)
    for attribute, column in zip(rows.card.attributes, rows.columns, strict=True):
        values, which = _different(column)
        wanted = ColumnPreferences.of(attribute, values, preferences)
        away += _each([wanted.traded(value) for value in values], which)
        gained += _h(_each([wanted.worth(value) for value in values], which), preferences)
        passes &= _each([wanted.lets(value) for value in values], which)
        is_open = _each([value_is_open(attribute, value, now) for value in values], which)
        if is_open_flag(attribute):
            told, opened = told | _known(values, which), opened | is_open
        else:
            hours = hours | is_open
    passes &= np.where(told, opened, hours) | (not preferences.open_now)
    order = np.lexsort((_h(away, preferences) - gained, ~passes))
    return rows.listings(np.sort(order[:count]).tolist())


def _distances(source: NearSource, coordinates: _Floats) -> _Floats:
    # (n,), in kilometers along the ground, or on axes the sum of |difference| / scale.
    if isinstance(source, AxisSource):
        scales = np.array([axis.scale for axis in source.space.axes])
        found: _Floats = (np.abs(coordinates - np.array(source.true)) / scales).sum(axis=1)
        return found
    here, there = np.radians(np.array(source.true)), np.radians(coordinates)
    half = np.sin((there - here) / 2) ** 2
    share = half[:, 0] + np.cos(here[0]) * np.cos(there[:, 0]) * half[:, 1]
    return np.asarray(2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(1.0, share))))


def _different(column: Column) -> tuple[Sequence[Value], NDArray[np.int64]]:
    raw: NDArray[Any] = column.codes if isinstance(column, Words) else column.values
    keys = raw.view(np.int32) if isinstance(column, Numbers) else raw
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return column.take(first), which


def _each(of_values: Sequence[Any], which: NDArray[np.int64]) -> NDArray[Any]:
    return np.array(of_values)[which]


def _known(values: Sequence[Value], which: NDArray[np.int64]) -> _Mask:
    return np.array([value is not None for value in values])[which]


def _h(worth: _Floats, preferences: Preferences) -> _Floats:
    return np.asarray(np.copysign(np.abs(worth) ** preferences.exponent, worth))
