"""Vectors meet their items by key, or row by row where that is certain."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from askew.errors import DataError
from askew.spaces.vectors import RatingScale
from askew_server.ratings import ItemRow
from askew_server.ratings.vectors import Vectors
from askew_server.taste.training.given_vectors import as_ratings, check_people, given_items

ROWS = {key: ItemRow(f"Film {key}", None, ()) for key in ("7", "100", "x", "3")}
NUMBERS = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_the_order_of_vectors_with_keys_does_not_matter(order: tuple[int, ...]) -> None:
    keys = tuple(tuple(ROWS)[at] for at in order)
    items = given_items(Vectors(NUMBERS[[*order]], keys), ROWS)
    assert items.keys == ("3", "7", "100", "x")
    np.testing.assert_array_equal(items.vectors, NUMBERS[[3, 0, 1, 2]])


def test_vectors_without_keys_are_in_the_order_of_the_rows() -> None:
    items = given_items(Vectors(NUMBERS), ROWS)
    assert items.keys == ("3", "7", "100", "x")
    np.testing.assert_array_equal(items.vectors, NUMBERS[[3, 0, 1, 2]])


def test_items_without_a_vector_are_left_out_and_counted() -> None:
    items = given_items(Vectors(NUMBERS[:2], ("x", "7")), ROWS, n_rejected=5)
    assert (items.keys, items.without) == (("7", "x"), 2)


def test_a_vector_without_a_row_is_refused_by_name() -> None:
    keys = ("x", "8", "7", "9")
    with pytest.raises(DataError, match=r"2 of 4 vectors have no row .* first is of '8'"):
        given_items(Vectors(NUMBERS, keys), ROWS)


def test_a_key_that_would_steer_a_terminal_is_not_shown() -> None:
    with pytest.raises(DataError) as refusal:
        given_items(Vectors(NUMBERS[:1], ("\x1b[2J",)), ROWS)
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(("count", "rejected"), [(3, 0), (4, 1), (3, 1)])
def test_rows_that_were_left_out_leave_no_order_to_rely_on(count: int, rejected: int) -> None:
    with pytest.raises(DataError, match="give the vectors `keys`"):
        given_items(Vectors(NUMBERS[:count]), ROWS, rejected)


def test_users_of_another_geometry_are_refused() -> None:
    items = given_items(Vectors(NUMBERS), ROWS)
    check_people(Vectors(np.ones((9, 2))), items)
    with pytest.raises(DataError, match="user vectors have 3 numbers, item vectors 2"):
        check_people(Vectors(np.ones((9, 3))), items)


def test_a_like_is_the_highest_rating() -> None:
    items = given_items(Vectors(NUMBERS), ROWS)
    table = as_ratings(np.array([[0, 2], [1, 3]]), items, RatingScale(0, 10, 8))
    assert table.rating.tolist() == [10, 10]
    assert (table.n_people, table.item_keys) == (2, items.keys)
