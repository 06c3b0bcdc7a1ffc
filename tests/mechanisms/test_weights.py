"""Draws from irrational weights are decided on the right side of every edge, however close."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from math import inf, log

import numpy as np
import pytest

from askew.dp.intervals import ln2
from askew.mechanisms import weights as exact
from askew.mechanisms.canonical import CanonicalClasses
from askew.mechanisms.joint_classes import JointClasses, SequenceLosses
from askew.mechanisms.tally import Tally
from askew.mechanisms.value_classes import ValueClasses
from askew.mechanisms.weights import Classes, Draws, WeightBlock, WeightTable, enclose
from askew.noise.randomness import ReplayBits

COUNTS = [40, 31, 31, 30, 12, 12, 12, 7, 3, 0, 0, 0]
BITS = 512


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with localcontext(prec=900):
        yield


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize("precision", [10, 64, 1000])
def test_ln2_is_enclosed(precision: int) -> None:
    assert 0 <= Decimal(2).ln() * 2**precision - ln2(precision) < 2


@pytest.mark.parametrize("exponent", [Fraction(-50, 3), Fraction(0), Fraction(900)])
@pytest.mark.parametrize("size", [Fraction(3, 70), Fraction(10**90)])
def test_a_weight_is_enclosed_closely(size: Fraction, exponent: Fraction) -> None:
    shift = 1500
    low, high = enclose(size, exponent, shift)
    true = decimal(size) * (-decimal(exponent)).exp() * 2**shift
    assert low <= true <= high
    assert Decimal(high - low) <= 2 + true / 2**58


def test_a_weight_far_below_the_last_place_asks_for_no_memory() -> None:
    """As that of a step of Joint that ends 2**61 further, beside an edge that floats cannot tell.

    Planted bug: a shift by as many bits as the exponent has powers of two.
    """
    assert enclose(10, Fraction(2**90), 500) == (0, 1)
    assert enclose(Fraction(1, 3**40), Fraction(2**90), -20) == (0, 1)
    classes = JointClasses(SequenceLosses(Tally([2**60, 3, 3, -(2**60)], 2), 2), Fraction(9))
    edge = (1 << 64) - 1  # among the steps, or in what lies beyond them
    assert Draws(ReplayBits(edge.to_bytes(8) + bytes(56))).choose(classes) >= 0


TALLY, FIFTH = Tally(COUNTS, 4), Fraction(1, 5)
SOURCES: dict[str, Classes] = {
    "values": ValueClasses(TALLY, Fraction(1, 3)),
    "canonical": CanonicalClasses(TALLY, 4, Fraction(1, 2), FIFTH, clipped=False),
    "joint": JointClasses(SequenceLosses(TALLY, 4), FIFTH),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("side", [-1, 1])
def test_a_uniform_2_to_the_minus_150_beside_an_edge_selects_the_right_bucket(
    source: str, side: int
) -> None:
    """Every edge of every bucket, far below what float64 and 128 bits can tell apart."""
    classes = SOURCES[source]
    keys = [int(key) for part in classes.table(300.0).parts for key in part().keys]
    weights = [sum(classes.enclose(key, BITS)) for key in keys]
    running, total = 0, sum(weights)
    for index in range(len(keys) - 1):
        running += weights[index]
        uniform = (running << BITS) // total + side * (1 << (BITS - 150))
        bits = ReplayBits(uniform.to_bytes(BITS // 8))
        assert keys[index + (side > 0)] == Draws(bits).choose(classes)


class TwoClasses:
    """Weights 1 and exp(-ln 2): float64 logs with a planted error."""

    def __init__(self, wrong_by: float, claimed: float) -> None:
        self.logs = np.array([0.0, -float(np.log(2)) + wrong_by])
        self.claimed = claimed

    def table(self, depth: float) -> WeightTable:
        return WeightTable([partial(WeightBlock, np.arange(2), self.logs)], self.claimed)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        return (1 << (shift - key),) * 2


class OneIsFarBelow:
    """Weights 1 and 2**-20, the second left out of a shallow table, with a bound of the rest."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def table(self, depth: float) -> WeightTable:
        self.asked.append(depth)
        shown = 1 if depth < 20 else 2
        logs = np.array([0.0, -20 * log(2)])[:shown]
        rest = -20 * log(2) if shown == 1 else -inf
        return WeightTable([partial(WeightBlock, np.arange(shown), logs)], 2.0**-50, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        return (1 << (shift - 20 * key),) * 2


@pytest.mark.parametrize(
    ("uniform", "key", "looks"),
    [
        (Fraction(1, 2), 0, 1),  # far from every edge, so that a shallow look suffices
        (Fraction(2**20, 2**20 + 1) - Fraction(1, 2**30), 0, 2),
        (Fraction(2**20, 2**20 + 1) + Fraction(1, 2**30), 1, 2),
    ],
)
def test_what_a_shallow_listing_leaves_out_is_listed_where_it_may_be_drawn(
    uniform: Fraction, key: int, looks: int
) -> None:
    classes = OneIsFarBelow()
    word = int(uniform * 2**64).to_bytes(8)
    assert Draws(ReplayBits(word)).choose(classes) == key
    assert len(classes.asked) == looks
    assert classes.asked == sorted(classes.asked)


def test_the_float_filter_lets_no_declared_error_through() -> None:
    """The edge is at exactly 2/3; the float logs put it 1e-7 away, and say so."""
    edge = (2 << 64) // 3
    for step in (-(2**38), 2**38):
        word = (edge + step).to_bytes(8) + bytes(8)
        assert int(step > 0) == Draws(ReplayBits(word)).choose(TwoClasses(1e-6, 1e-6))


@pytest.mark.parametrize("parts", [1, 2])
def test_a_long_part_is_trusted_less(parts: int) -> None:
    """Float sums of so many terms may be wrong by 3 * 2**-32 of all. Planted bug: as many terms as
    other parts have at most.
    """
    terms, beside = 1 << 20, 2.0**-32
    long = partial(WeightBlock, np.arange(terms), np.zeros(terms))
    table = WeightTable([long] * parts, 0.0)
    assert exact._filtered(table, int((0.25 + beside) * 2**64)) is None
    assert exact._filtered(table, int((0.25 + 16 * beside) * 2**64)) is not None


def octets(*words: int) -> bytes:
    return b"".join(word.to_bytes(8) for word in words)


@pytest.mark.parametrize("limit", [1, 3, 8, 2**62 + 1])
def test_below_each_takes_all_words_but_the_excess_over_a_multiple_of_the_limit(limit: int) -> None:
    """Words that follow each other have residues that do: a multiple of them has each as often."""
    excess = 2**64 % limit
    taken = [excess, excess + 1, 2**64 - 1]
    assert (2**64 - excess) % limit == 0
    refused = [word for word in (0, excess - 1) if 0 <= word < excess]
    bits = ReplayBits(octets(*taken, *taken) + b"rest")
    once = Draws(bits).below_each([limit] * 6)
    assert once == [word % limit for word in taken] * 2
    assert bits.read(4) == b"rest"
    for word in refused:
        bits = ReplayBits(octets(word, word, excess) + b"rest")
        assert Draws(bits).below_each([limit]) == [excess % limit]
        assert bits.read(4) == b"rest"


def test_below_each_draws_what_is_refused_again_and_nothing_else() -> None:
    bits = ReplayBits(octets(0, 7, 0, 0, 5, 4) + b"rest")  # of limit 3 the word 0 is in excess
    assert Draws(bits).below_each([3, 4, 3]) == [1, 3, 2]
    assert bits.read(4) == b"rest"
