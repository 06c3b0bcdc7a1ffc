"""A private model is a function of its noisy matrix and of public things, byte for byte."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from server.taste.noisy_log import ITEMS, KEYS, LAW, PARAMETERS, exact, noisy

from askew.errors import ParameterError
from askew.mechanisms.covariance import UNIT
from askew_server.ratings import titled
from askew_server.taste.model import ItemModel, update
from askew_server.taste.private import PEOPLE, popularity_list, private_model, simulate_ratings

ROWS = {key: titled(f"Film {key} (1990)") for key in KEYS}


@cache
def published() -> ItemModel:
    return private_model(noisy(), KEYS, ROWS, PARAMETERS)


@pytest.mark.slow
def test_items_are_known_by_the_keys_of_their_places() -> None:
    """Also where the matrix is in another order. Planted bug: keys of places after dropping."""
    titles = {row.title for row in ROWS.values()}
    assert {item.title for item in published().catalog.items} <= titles
    row_sums = noisy().sum(axis=1) / UNIT
    least = 2 * LAW.sigma * ITEMS**0.5
    assert set(published().keys) == {KEYS[place] for place in np.flatnonzero(row_sums > least)}


def test_all_that_is_said_of_people_is_of_simulated_ones() -> None:
    """Who like what they have seen. Planted bugs: a card's figure of real people; whom others have
    seen.
    """
    card, counts = published().card, published().counts
    assert card.simulated
    assert "epsilon 1, delta 1e-06" in card.source
    assert "SIMULATED" in card.source
    assert list(published().figures) == ["64", "118"]
    assert (counts["people"], counts["ratings"]) == (PEOPLE, counts["likes"])
    table = simulate_ratings(noisy(), KEYS, PARAMETERS)
    assert set(table.rating.tolist()) == {PARAMETERS.scale.highest}
    assert set(table.item_keys) == set(published().keys)


def test_a_private_model_gets_another_catalog_by_another_matrix() -> None:
    """In its own space, so that no device pays again."""
    table = simulate_ratings(noisy("two"), KEYS, PARAMETERS)
    new = update(published(), table, ROWS, source="another matrix")
    assert new.card.space.version == published().card.space.version
    assert set(new.keys) == set(table.item_keys)
    assert new.card.simulated


def test_a_popularity_list_costs_nothing_more() -> None:
    likes = exact().sum(axis=1)
    best = [KEYS[place] for place in np.argsort(-likes, kind="stable")[:10]]
    listed = popularity_list(noisy(), KEYS, 10)
    assert len(set(best) & set(listed)) >= 8


def test_a_matrix_of_other_items_is_refused() -> None:
    matrices: list[np.ndarray] = [np.zeros((3, 3), np.int64), np.zeros((ITEMS, ITEMS))]
    for matrix in matrices:
        with pytest.raises(ParameterError, match="noisy"):
            private_model(matrix, KEYS, ROWS, PARAMETERS)
