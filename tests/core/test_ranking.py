"""Slates and the private choice within one."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import OutOfRange
from askew.ranking import Slate, nearest, pick, ranked
from askew.vectors import FeatureSpace, Profile, RatingScale

SPACE = FeatureSpace((-4.0,), (4.0,), 1.0, 1.0, RatingScale(1, 5), "00" * 32)


def slate(ids: tuple[int, ...], places: list[float]) -> Slate:
    return Slate("00" * 16, ids, np.array(places, dtype=np.float32).reshape(-1, 1))


def at(place: float) -> Profile:
    return Profile(SPACE, np.array([place]))


def test_results_are_ranked_by_their_distance_from_the_person() -> None:
    assert ranked(slate((2, 5, 9), [3.0, 0.5, -1.0]), at(0.0)) == (5, 9, 2)


def test_ties_go_to_the_lower_id() -> None:
    assert ranked(slate((2, 5, 9), [1.0, -1.0, 1.0]), at(0.0)) == (2, 5, 9)
    assert nearest(np.array([1.0, 0.5, 0.5, 0.5]), 2).tolist() == [1, 2]


def test_the_pick_is_the_best_that_the_person_has_not_rated() -> None:
    results = slate((2, 5, 9), [3.0, 0.5, -1.0])
    assert pick(results, at(0.0), seen={5, 77}) == 9


def test_the_pick_is_the_best_of_all_where_everything_is_rated() -> None:
    results = slate((2, 5, 9), [3.0, 0.5, -1.0])
    assert pick(results, at(0.0), seen={2, 5, 9}) == 5


@pytest.mark.parametrize("ids", [(3, 3), (4, 2)])
def test_a_slate_whose_order_could_say_something_is_refused(ids: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange, match="distinct and ascending"):
        slate(ids, [0.0, 1.0])


@pytest.mark.parametrize("places", [[0.0, np.nan], [np.inf, 0.0], [0.0]])
def test_a_slate_without_a_finite_position_for_each_item_is_refused(places: list[float]) -> None:
    with pytest.raises(OutOfRange, match="finite, one for each item"):
        slate((1, 2), places)
