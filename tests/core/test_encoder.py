"""The encoder: contributions, ranks, points, and the parameters that it refuses."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_world import made_encoder

from askew.dp.privacy import DEVICE_DIAMETER
from askew.errors import OutOfRange
from askew.limits import MAX_DIMENSION
from askew.spaces.vectors import KNOTS, UNIT_STEP, one_like

VECTORS = np.array([[0.5, 0.0, 9.0], [0.0, 1.0, 0.0], [-8.0, 8.0, 0.0]], dtype=np.float32)


def test_contributions_are_projections_clipped_in_the_weighted_norm() -> None:
    """Slopes are 1/4, the clip is 1: (-8, 8) has norm 4 and shrinks by 4."""
    found = made_encoder(clip=1.0).contributions(VECTORS)
    assert found.tolist() == [[0.5, 0.0], [0.0, 1.0], pytest.approx([-2.0, 2.0], abs=2.0**-23)]


def test_contributions_lie_on_a_grid_inside_the_clip() -> None:
    """Planted bug: rounding to the nearest grid point, which can step over the clip."""
    vectors, encoder = np.random.default_rng(1).normal(size=(200, 3)), made_encoder(clip=0.1)
    found = encoder.contributions(vectors.astype(np.float32))
    assert np.array_equal(found * 2**24, np.rint(found * 2**24))
    assert (np.abs(found) @ encoder.slopes).max() <= 0.1 * (1 + 2.0**-50)


def test_a_point_does_not_depend_on_the_order_of_the_likes() -> None:
    """Planted bug: sums of floats, whose last bits depend on the order."""
    rng = np.random.default_rng(2)
    encoder = made_encoder()
    contributions = encoder.contributions(rng.normal(size=(1000, 3)).astype(np.float32))
    points = [encoder.encode(rng.permutation(contributions)) for _ in range(20)]
    assert len({point.tobytes() for point in points}) == 1


def test_few_likes_are_held_back_and_many_grow_like_a_square_root() -> None:
    # One like (2, 0): z = 2 / sqrt(4) = 1, F = 3/4, times the unit 2. Sixteen: z = 16 * 2 / 4 = 8.
    encoder = made_encoder()
    one = np.array([[2.0, 0.0]])
    assert encoder.encode(one).tolist() == [1.5, 1.0]
    assert encoder.encode(np.repeat(one / 16, 16, axis=0)).tolist() == [1.25, 1.0]
    assert encoder.encode(np.zeros((0, 2))).tolist() == [1.0, 1.0]


def test_slopes_are_the_steepest_part_of_each_rank_rounded_up() -> None:
    """Planted bug: the mean slope instead of the largest."""
    knots = np.stack([np.linspace(0, 32, KNOTS), np.linspace(0, 32, KNOTS) ** 2])
    encoder = dataclasses.replace(made_encoder(), knots=knots)
    for slope, row in zip(encoder.slopes, knots, strict=True):
        exact = max(
            Fraction(1, 32) / (Fraction(b) - Fraction(a))
            for a, b in zip(row.tolist(), row[1:].tolist(), strict=False)
        )
        assert exact <= Fraction(float(slope)) <= exact * (1 + Fraction(1, 2**40))


def test_one_rating_reaches_what_the_formula_says_and_never_beyond_the_diameter() -> None:
    # g(4) = 2 - 3 / sqrt(5); the unit is 2 and the clip 1 and 16.
    encoder = made_encoder(clip=1.0)
    exact = 2 * (2 - 3 / math.sqrt(5))
    assert exact < encoder.one_rating < exact + 2.0**-18
    assert encoder.diameter == 4
    wide = made_encoder(clip=16.0)
    assert wide.one_rating == wide.diameter == 4


@pytest.mark.parametrize("least", [1, 3, 1000])
def test_the_growth_bounds_both_sides_of_the_floor(least: int) -> None:
    """Planted bug: 1 / sqrt(m), the bound below the floor, used above it as well."""
    assert one_like(least) >= 1 / math.sqrt(least)
    beyond = [one_like(n) for n in range(least, least + 50)]
    assert beyond == sorted(beyond, reverse=True)


@pytest.mark.parametrize("d", [1, 16])
@pytest.mark.parametrize("clip", [0.003, 1.0, 40.0])
@pytest.mark.parametrize("least", [1, 10_000])
def test_a_unit_within_limits_keeps_both_and_wastes_nothing(
    d: int, clip: float, least: int
) -> None:
    """Two steps and a rounding more break a limit. Planted bug: the diameter's alone."""
    encoder = made_encoder(d=d, ranking=16, clip=clip, least_likes=least)
    unit = encoder.unit_within(DEVICE_DIAMETER)
    wider = (unit * (1 + Fraction(1, 2**12)) // UNIT_STEP + 2) * UNIT_STEP
    kept, broken = (dataclasses.replace(encoder, unit=float(each)) for each in (unit, wider))
    assert kept.diameter <= DEVICE_DIAMETER
    assert kept.one_rating <= 1
    assert broken.diameter > DEVICE_DIAMETER or broken.one_rating > 1


def test_decoding_gives_a_taste_that_has_the_point() -> None:
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(5, 2)).astype(np.float32)
    encoder = dataclasses.replace(
        made_encoder(ranking=5), directions=directions, origin=np.full(5, 0.1, np.float32)
    )
    points = rng.uniform(0, 2, size=(7, 2))
    tastes = encoder.decode(points)
    again = [2 * encoder.ranks(taste @ directions) for taste in tastes]
    assert again == [pytest.approx(point, abs=1e-6) for point in points]


def test_decoding_moves_the_mean_taste_no_farther_than_it_must() -> None:
    """Planted bug: the least taste of this point, which forgets what everybody likes."""
    encoder = dataclasses.replace(made_encoder(), origin=np.array([0, 0, 7], np.float32))
    assert encoder.decode(np.array([[1.5, 1.0]])).tolist() == [[1.0, 0.0, 7.0]]


BAD: dict[str, dict[str, Any]] = {
    "knots of another shape": {"knots": np.zeros((2, KNOTS - 1))},
    "knots that do not increase": {"knots": np.zeros((2, KNOTS))},
    "directions that are no numbers": {"directions": np.full((3, 2), np.nan)},
    "no matrix": {"directions": np.zeros(3)},
    "too many directions": {"directions": np.zeros((3, MAX_DIMENSION + 1))},
    "too many ranking dimensions": {"directions": np.zeros((257, 2))},
    "an origin of another size": {"origin": np.zeros(2)},
    "no clip": {"clip": 0.0},
    "contributions without bound": {
        "clip": 900.0,
        "knots": np.tile(np.linspace(-9, 9, KNOTS), (2, 1)),
    },
    "no least likes": {"least_likes": 0},
    "no unit": {"unit": 0.0},
    "a unit off the grid": {"unit": 1.0 + 2.0**-17},
    "a unit too large": {"unit": 65.0},
}


@pytest.mark.parametrize("case", BAD)
def test_parameters_that_no_device_should_use_are_refused(case: str) -> None:
    with pytest.raises(OutOfRange):
        dataclasses.replace(made_encoder(), **BAD[case])


def test_an_encoder_cannot_be_changed_through_its_arrays() -> None:
    given = np.eye(3, 2, dtype=np.float32)
    encoder = dataclasses.replace(made_encoder(), directions=given)
    given[0, 0] = 5.0
    assert encoder.directions[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        encoder.directions[0, 0] = 5.0
