"""Errors, mechanisms and noise cross processes as they are, and errors say what a person wrote."""

from __future__ import annotations

import copy
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from mechanisms.streams import MECHANISMS, built

import askew
import askew_client
import askew_server
from askew import errors, placement
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import ParameterError
from askew.mechanisms import Selection
from askew.mechanisms.covariance import NoisyCovariance
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.noise.gaussian import DiscreteGaussian
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric

DELTA, HALF = Fraction(1, 20), Fraction(1, 2)
PACKAGES = (askew, askew_client, askew_server)
# What an error cannot be made of by one text; {} where its __init__ takes nothing.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "BadField": {"field": "a year", "limit": "a number", "text": "x"},
    "BudgetExceeded": {"requested": HALF, "spent": HALF, "cap": DELTA, "next_month": "2026-12-01"},
    "ConnectionOpen": {},
    "DimensionMismatch": {"got": 3, "expected": 4},
    "InfiniteCost": {"name": "k", "value": lambda: 1, "limit": "another"},
    "NotReady": {},
    "OtherKind": {"text": "of places", "places": True},
    "OutOfRange": {"name": "k", "limit": "smaller"},
    "ParameterError": {"name": "k", "value": np.array([1]), "limit": "an int"},
    "StaleSpace": {},
    "Unauthenticated": {},
    "UnclearTown": {"text": "which?", "choices": ("Kiel", "Kehl")},
    "Unreachable": {"text": "no connection", "why": "refused"},
}
COUNTS = [900, 7, 870, 850]
NOISE: list[tuple[Any, Callable[[Any], object]]] = [
    (LatticeLaplace.for_epsilon(HALF), lambda noise: noise.perturb([0.25])),
    (HexagonalLattice.for_epsilon(HALF), lambda noise: noise.perturb((HALF, HALF))),
    (TwoSidedGeometric.with_constant_work(3), lambda noise: noise.draw(3)),
    (DiscreteGaussian.of_variance(100), lambda noise: noise.draw(3)),
    (NoisyCovariance(HALF, DELTA), lambda noise: noise.perturb(np.zeros((2, 2), np.int64))),
    (
        NoisyCounts(k=3, epsilon=HALF, neighbors=ADD_OR_REMOVE_ONE, delta=DELTA),
        lambda noise: noise.perturb([3, 2]),
    ),
]


def exceptions() -> Iterator[type[BaseException]]:
    """Of all modules of the three packages, private ones too."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                for each in vars(import_module(module.name)).values():
                    own = inspect.isclass(each) and each.__module__ == module.name
                    if own and issubclass(each, BaseException):
                        yield each


ERRORS = sorted(set(exceptions()), key=lambda each: each.__name__)


def made(kind: type[BaseException]) -> BaseException:
    arguments = ARGUMENTS.get(kind.__name__)
    error = kind("a text") if arguments is None else kind(**arguments)
    error.add_note("a note")
    return error


def travelled(value: Any) -> Iterator[Any]:
    yield copy.copy(value)
    yield copy.deepcopy(value)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_keeps_its_text_and_attributes(kind: type[BaseException]) -> None:
    """Planted bug: an error is made again by its class, whose arguments are not its text."""
    error = made(kind)
    for other in travelled(error):
        assert type(other) is kind
        assert str(other) == str(error) != ""
        assert other.args == error.args
        assert vars(other) == vars(error)


def test_an_error_holds_no_object_of_the_callers() -> None:
    counts = np.array([9412, 777])
    error = errors.ParameterError("counts", {"tea": counts}, "integers")
    assert all(isinstance(each, str) for each in vars(error).values())


@pytest.mark.parametrize(("noise", "draw"), NOISE, ids=lambda each: type(each).__name__)
def test_noise_travels_after_its_first_draw_and_without_what_it_made(
    noise: Any, draw: Callable[[Any], object]
) -> None:
    """Planted bug: what was made for the first draw travels, and cannot be pickled."""
    draw(noise)
    names = {each.name for each in fields(noise)}
    assert set(vars(noise)) > names or not isinstance(noise, NoisyCounts)
    for other in travelled(noise):
        assert other == noise
        assert set(vars(other)) == names
        draw(other)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_travels_with_its_bound_its_loss_and_what_it_selects(name: str) -> None:
    mechanism = built(name)
    chosen, loss = mechanism.select(COUNTS), mechanism.privacy_loss()
    for value in (mechanism, loss, chosen):
        for other in travelled(value):
            assert (type(other), other) == (type(value), value)
            assert getattr(other, "stopped", None) == getattr(value, "stopped", None)
    bound = getattr(mechanism, "shortfall", None)  # its formula may be a partial: none is equal
    for other in travelled(bound):
        assert repr(other) == repr(bound)
    for stopped in (False, True):
        assert [each.stopped for each in travelled(Selection([3], stopped))] == [stopped] * 6


def test_a_placement_travels() -> None:
    found = placement.place(placement.Laplace(1.0), k=3)
    for other in travelled(found):
        assert other.cost == found.cost
        assert not other.offsets.flags.writeable
        np.testing.assert_array_equal(other.offsets, found.offsets)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0", "got '0'"),
        (0, "got 0"),
        (np.float64(0.5), "got 0.5"),
        (Fraction(1, 3), "got 1/3"),
        (("next", 1), "got 'next', 1"),
        ((), "got none"),
        (None, "got None"),
        ("x" * 1000, f"got '{'x' * 199}..."),
        ("a\x1b[31m", r"got 'a\x1b[31m'"),
    ],
)
def test_a_value_is_shown_as_it_is_written(value: object, words: str) -> None:
    """Planted bugs: the type's name behind it; numpy's or Fraction's own repr; control characters
    that reach a terminal; a message of any length.
    """
    assert str(ParameterError("it", value, "small")) == f"it must be small, {words}"
