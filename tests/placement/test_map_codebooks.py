"""Codebooks for maps, held against the hexagonal law point by point and a device's own draws."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import log

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from askew.noise.hexagonal import GAUGE, RISE, HexagonalLattice, steps
from askew.placement.hexagonal import LARGEST, mean_distance, place_on_map

Array = NDArray[np.float64]

TOWN = HexagonalLattice.for_epsilon(Fraction("0.277"))
_Q = 12
_FAR = 21 * _Q  # steps: beyond them lies 5e-8 of the law


@cache
def enumerated() -> tuple[Array, Array]:
    """Every lattice point near zero and its probability, in units in which epsilon is 1.

    r**n is exp(-n log(1 + 1/q)): the law of the fine limit, read on a lattice of 1/12.
    """
    i, j = np.meshgrid(*[np.arange(-_FAR, _FAR + 1)] * 2)
    n = np.maximum(np.maximum(np.abs(i), np.abs(j)), np.abs(i - j)).ravel()
    step = float(GAUGE) * log(1 + 1 / _Q)
    places = step * np.column_stack([(i - j / 2).ravel(), float(RISE) * j.ravel()])
    return places, (_Q / (_Q + 1)) ** n / (1 + 6 * _Q * (_Q + 1))


def enumerated_cost(offsets: Array, exponent: float = 1.0) -> float:
    """E (the distance to the nearest offset)**exponent over the whole law, at epsilon 1."""
    places, odds = enumerated()
    return float(odds @ cKDTree(offsets).query(places)[0] ** exponent)


def test_the_enumerated_law_is_that_of_the_lattice() -> None:
    """What the other tests here rest on: all of the mass, the lattice's own steps and points."""
    places, odds = enumerated()
    assert odds.sum() == pytest.approx(1, abs=1e-7)
    lattice = HexagonalLattice(0, _Q)
    row = (_FAR + 3) * (2 * _FAR + 1) + _FAR - 5  # i = -5, j = 3
    scale = float(GAUGE) * log(1 + 1 / _Q)
    np.testing.assert_allclose(places[row] / scale, [float(c) for c in lattice.point(-5, 3)])
    assert odds[row] == pytest.approx((_Q / (_Q + 1)) ** steps(-5, 3) / (1 + 6 * _Q * (_Q + 1)))


@pytest.mark.parametrize("k", [2, 8, 20, 64])
def test_the_stated_cost_is_that_of_the_whole_law(k: int) -> None:
    found = place_on_map(1.0, k)
    allowed = 4 * found.standard_error + 2e-3 * found.cost  # the enumerated lattice is coarse
    assert enumerated_cost(found.offsets) == pytest.approx(found.cost, abs=allowed)


def test_one_result_stands_at_the_signal_and_costs_the_mean_distance() -> None:
    found = place_on_map(1.0, 1)
    assert found.offsets.tolist() == [[0.0, 0.0]]
    assert found.cost == mean_distance()
    assert found.cost == pytest.approx(enumerated_cost(np.zeros((1, 2))), rel=7e-4)
    assert found.standard_error == 0


@pytest.mark.parametrize("k", [1, 20, 64])
def test_the_bound_is_that_of_balls_as_large_as_a_hexagon(k: int) -> None:
    """2 exp(-s) with exp(2 s) = k pi / (2.6 g^2): 2.6 is the area of the hexagon of one step."""
    expected = 2 * float(GAUGE) * np.sqrt(2.6 / (k * np.pi))
    assert place_on_map(1.0, k).certificate.lower_bound == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 20])
def test_a_devices_own_draws_pay_what_is_stated(k: int) -> None:
    """Rounding to the lattice and to its grain is among them: it adds less than 1 %."""
    found = place_on_map(float(TOWN.epsilon), k)
    far: Array = np.asarray(cKDTree(found.offsets).query(drawn_by_a_device())[0])
    error = far.std() / np.sqrt(len(far))
    assert abs(far.mean() - 1.005 * found.cost) <= 4 * error + 0.005 * found.cost


@cache
def drawn_by_a_device() -> Array:
    """Signals minus the true points, in kilometers; the points are off the lattice."""
    bits, places = ShakeBits("a device's draws"), []
    for turn in range(3000):
        point = Fraction(turn % 97, 7), Fraction(turn % 89, 11)
        noisy = TOWN.point(*TOWN.perturb(point, bits))
        places.append([float(n - p) for n, p in zip(noisy, point, strict=True)])
    return np.array(places)


def test_every_size_is_shipped_nearest_first_and_each_costs_less_than_the_one_before() -> None:
    books = [place_on_map(1.0, k) for k in range(1, LARGEST + 1)]
    for k, book in enumerate(books, 1):
        assert book.offsets.shape == (k, 2)
        assert (np.diff(np.hypot(*book.offsets.T)) >= 0).all()
        assert book.certificate.lower_bound < book.cost
        assert book.standard_error < 0.002 * book.cost
    assert (np.diff([book.cost for book in books]) < 0).all()
    np.testing.assert_array_equal(place_on_map(1.0, 70).offsets, books[-1].offsets)
