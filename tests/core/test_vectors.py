"""Feature spaces, profiles, and how ratings make one."""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import pytest
from small_world import made_space

from askew.errors import DimensionMismatch, OutOfRange, ProfileError
from askew.spaces.vectors import Profile, RatingScale, fold_in

SPACE = made_space()
VECTORS = np.array([[0.5, 0.0, 9.0], [0.0, 1.0, 0.0], [-0.5, -0.5, 1.0]], dtype=np.float32)


@pytest.mark.parametrize(("rating", "like"), [(1, False), (3.99, False), (4, True)])
def test_a_rating_from_the_threshold_on_is_a_like(rating: float, like: bool) -> None:
    assert RatingScale(1, 5, 4).is_like(rating) is like


@pytest.mark.parametrize("rating", [0.99, 5.01, math.nan])
def test_a_rating_off_the_scale_is_refused_without_naming_it(rating: float) -> None:
    with pytest.raises(ProfileError, match=r"^a rating must be between 1 and 5$"):
        RatingScale(1, 5, 4).is_like(rating)


@pytest.mark.parametrize(
    "limits", [(5, 1, 4), (math.nan, 5, 4), (1, math.inf, 4), (1, 5, 1), (1, 5, 5.1)]
)
def test_a_scale_on_which_nothing_or_everything_is_liked_is_refused(
    limits: tuple[float, float, float],
) -> None:
    with pytest.raises(OutOfRange):
        RatingScale(*limits)


def test_a_taste_is_the_sum_of_likes_over_a_square_root_with_a_floor() -> None:
    # The floor is four likes: (0.5, 0, 9) + (0, 1, 0), over 2. Nothing else counts.
    profile = fold_in({0: 5, 1: 4, 2: 3}, VECTORS, SPACE)
    assert profile.taste.tolist() == [0.25, 0.5, 4.5]
    # Ranks are (z + 2) / 4, times the unit of 2.
    assert profile.point.tolist() == [1.125, 1.25]


def test_the_point_clips_each_item_and_the_taste_does_not() -> None:
    """Planted bug: the clipped contributions in the ranking, or the full ones in the signal."""
    large = np.array([[40.0, 0.0, 0.0]], dtype=np.float32)
    profile = fold_in({0: 5}, large, SPACE)
    assert profile.taste.tolist() == [20.0, 0.0, 0.0]
    # 3 of slope 1/4: the clip.
    assert profile.point.tolist() == [pytest.approx(1.75, abs=1e-6), 1.0]


def test_no_ratings_make_the_profile_of_no_likes() -> None:
    """Planted bug: an error, and so a device that falls silent when nothing is rated."""
    nothing, no_likes = fold_in({}, VECTORS, SPACE), fold_in({0: 1}, VECTORS, SPACE)
    assert nothing.taste.tolist() == no_likes.taste.tolist() == [0.0, 0.0, 0.0]
    assert nothing.point.tolist() == no_likes.point.tolist()


def test_a_profile_of_another_space_or_not_finite_is_refused() -> None:
    for taste, point in [([0, 0, 0], [0, math.nan]), ([0, -math.inf, 0], [0, 0])]:
        with pytest.raises(ProfileError):
            Profile(SPACE, np.array(taste, np.float64), np.array(point, np.float64))
    for wrong, size in [(3, 3), (2, 2)]:
        with pytest.raises(DimensionMismatch):
            Profile(SPACE, np.zeros(wrong), np.zeros(size))


def test_a_profile_shows_nothing_of_itself_and_cannot_be_changed() -> None:
    profile = Profile(SPACE, np.array([0.123456, 0, 0]), np.array([0.654321, -9.0]))
    assert profile.point.tolist() == [0.654321, 0.0]  # clamped into its space
    assert "123" not in repr(profile)
    assert "654" not in str(profile)
    for vector in (profile.taste, profile.point):
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 0.0


def test_the_version_of_a_space_is_a_digest_of_these_bytes() -> None:
    """Devices and servers compute it apart; another spelling makes every device draw anew."""
    shapes = [[3, 2], [3], [2, 33], [3]]
    head = json.dumps(["l1", [0.75, 4.0, 2.0, 1.0, 5.0, 4.0], shapes])
    knots = np.tile(np.linspace(-2, 2, 33), 2).astype("<f8").tobytes()
    scales = np.full(3, 0.25, "<f4").tobytes()
    arrays = np.eye(3, 2).astype("<f4").tobytes() + bytes(12) + knots + scales
    assert hashlib.sha256(head.encode() + arrays).hexdigest()[:32] == SPACE.version
