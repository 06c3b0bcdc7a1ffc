"""Feature spaces, profiles, and how ratings make one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from askew.errors import DimensionMismatch, OutOfRange, ProfileError
from askew.vectors import FeatureSpace, Profile, RatingScale, fold_in

SPACE = FeatureSpace(
    lower=(-1.0, -2.0),
    upper=(1.0, 2.0),
    gain=2.0,
    weight_floor=2.0,
    scale=RatingScale(1, 5),
    basis="ab" * 32,
)
POSITIONS = np.array([[0.5, 0.0], [0.0, 1.0], [-0.5, -0.5]], dtype=np.float32)


@pytest.mark.parametrize(("rating", "weight"), [(1, -1.0), (2, -0.5), (3, 0.0), (5, 1.0)])
def test_a_rating_weighs_by_its_place_on_the_scale(rating: float, weight: float) -> None:
    assert RatingScale(1, 5).weight(rating) == weight


@pytest.mark.parametrize("rating", [0.99, 5.01, math.nan, math.inf])
def test_a_rating_off_the_scale_is_refused_without_naming_it(rating: float) -> None:
    with pytest.raises(ProfileError, match=r"^a rating must be between 1 and 5$"):
        RatingScale(1, 5).weight(rating)


@pytest.mark.parametrize("limits", [(5, 1), (1, 1), (math.nan, 5), (1, math.inf)])
def test_a_scale_without_a_middle_is_refused(limits: tuple[float, float]) -> None:
    with pytest.raises(OutOfRange):
        RatingScale(*limits)


def test_few_ratings_are_held_back_by_the_weight_floor() -> None:
    # One full like: 2 * 1 * (0.5, 0) / max(1, 2).
    assert fold_in({0: 5}, POSITIONS, SPACE).vector.tolist() == [0.5, 0.0]


def test_many_ratings_are_averaged_and_dislikes_push_away() -> None:
    # Weights 1, 1 and -1: 2 * ((0.5, 0) + (0, 1) - (-0.5, -0.5)) / 3.
    expected = [2 / 3, 1.0]
    assert fold_in({0: 5, 1: 5, 2: 1}, POSITIONS, SPACE).vector == pytest.approx(expected)


def test_no_ratings_make_no_profile() -> None:
    with pytest.raises(ProfileError, match="at least one rating"):
        fold_in({}, POSITIONS, SPACE)


def test_a_profile_is_clamped_into_its_space() -> None:
    assert Profile(SPACE, np.array([9.0, -9.0])).vector.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_profile_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ProfileError):
        Profile(SPACE, np.array([0.0, bad]))


def test_a_profile_of_another_dimension_is_refused() -> None:
    with pytest.raises(DimensionMismatch):
        Profile(SPACE, np.zeros(3))


def test_a_profile_shows_nothing_of_itself_and_cannot_be_changed() -> None:
    profile = Profile(SPACE, np.array([0.123456, 0.654321]))
    assert "123" not in repr(profile)
    assert "654" not in str(profile)
    with pytest.raises(ValueError, match="read-only"):
        profile.vector[0] = 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"lower": (-1.0, -1.5)},
        {"upper": (1.0, 1.5)},
        {"gain": 2.5},
        {"weight_floor": 3.0},
        {"scale": RatingScale(0, 5)},
        {"basis": "cd" * 32},
    ],
)
def test_every_field_of_a_space_is_part_of_its_version(change: dict[str, Any]) -> None:
    assert dataclasses.replace(SPACE, **change).version != SPACE.version


def test_the_version_of_a_space_is_the_same_on_every_machine() -> None:
    # Written down once: a change here makes every device draw and pay anew.
    assert SPACE.version == dataclasses.replace(SPACE, scale=RatingScale(1.0, 5.0)).version
    assert SPACE.version == "84476c1f5ca31128cf697d340c84b4ce"


@pytest.mark.parametrize(
    "change",
    [
        {"lower": (), "upper": ()},
        {"lower": (0.0,) * 65, "upper": (1.0,) * 65},
        {"lower": (-1.0,)},
        {"lower": (1.0, -2.0)},
        {"lower": (math.nan, -2.0)},
        {"upper": (math.inf, 2.0)},
        {"upper": (65.0, 2.0)},
        {"gain": 0.0},
        {"gain": math.nan},
        {"weight_floor": -1.0},
        {"weight_floor": math.inf},
    ],
)
def test_a_space_that_no_device_should_use_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(OutOfRange):
        dataclasses.replace(SPACE, **change)


def test_the_diameter_is_the_l1_width_of_the_box() -> None:
    assert SPACE.diameter == 6.0
