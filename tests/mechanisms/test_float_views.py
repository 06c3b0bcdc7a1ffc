"""The float logarithms that decide most draws are as accurate as they claim."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from askew.mechanisms.canonical import CanonicalClasses, Loss
from askew.mechanisms.joint_classes import JointClasses, SequenceLosses
from askew.mechanisms.limited_domain import ExponentialClasses
from askew.mechanisms.tally import Tally, tally
from askew.mechanisms.value_classes import ValueClasses
from askew.mechanisms.weights import Classes

RANDOM = np.random.default_rng(7)
WIDE = tally(RANDOM.integers(0, 2**44, 400), 1)
DENSE = tally(RANDOM.geometric(0.01, 3000), 1)
TIED = tally(RANDOM.integers(0, 6, 900), 1)
TINY = Fraction(1, 2**41)


def canonical(view: Tally, k: int, gamma: Fraction, rate: Fraction) -> CanonicalClasses:
    return CanonicalClasses(view, Loss(k, gamma, rate, False))


def joint(view: Tally, k: int, rate: Fraction) -> JointClasses:
    return JointClasses(SequenceLosses(view, k), rate, None)


HALF, ONE = Fraction(1, 2), Fraction(1)
VIEWS: dict[str, Classes] = {
    "values": ValueClasses(DENSE, HALF),
    "values, wide": ValueClasses(WIDE, TINY),
    "canonical": canonical(DENSE, 40, HALF, Fraction(1, 20)),
    "canonical, large epsilon": canonical(DENSE, 200, HALF, Fraction(4)),
    "canonical, tied": canonical(TIED, 200, HALF, ONE),
    "canonical, wide": canonical(WIDE, 20, HALF, TINY),
    "canonical, gamma 1": canonical(DENSE, 40, ONE, Fraction(1, 20)),
    "canonical, gamma 0": canonical(DENSE, 40, Fraction(0), Fraction(1, 20)),
    "joint": joint(DENSE, 30, Fraction(1, 4)),
    "joint, tied": joint(TIED, 300, HALF),
    "joint, wide": joint(WIDE, 10, TINY),
    "limited domain": ExponentialClasses(
        np.array([90, 88, 3]), {2: Fraction(10**9, 7)}, Fraction(3, 7)
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_logs_are_within_the_error_that_they_declare(name: str) -> None:
    """Up to 150 classes of each table, against 300-bit enclosures of their weights."""
    classes = VIEWS[name]
    table = classes.table(48.0)
    pairs = [
        (int(key), float(weight))
        for part in table.parts
        for key, weight in zip(part().keys, part().logs, strict=True)
    ]
    top = max(weight for _, weight in pairs)
    near = [pair for pair in pairs if pair[1] > top - 48]
    for key, weight in near[:: max(1, len(near) // 150)]:
        shift = 300 - int(weight / log(2))
        low, high = classes.enclose(key, shift)
        true = (Fraction(low + high, 2) / 2**300).__float__()
        exact = log(true) + int(weight / log(2)) * log(2)
        assert abs(exact - weight) <= table.log_error + 1e-14 * (abs(weight) + 40)
