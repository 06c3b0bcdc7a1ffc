"""Gaussian noise on the integers, exact, in arrays: for releases, where millions are drawn.

`DiscreteGaussian` is the law

    P(n) = exp(-n**2 / (2 variance)) / (the sum of exp(-j**2 / (2 variance)) over all integers j)

Guarantee: n + (a draw) is rho-zCDP with rho = d**2 / (2 variance) for integers n that are d apart,
no slack. Independent draws add their rho, each with its own variance (Canonne, Kamath, Steinke
2020, Proposition 5). Privacy unit and neighbors are those of what is added to.

Method. Write |n| = h 2**s + l, with 0 <= l < 2**s. Then

    exp(-n**2 / 2v) = exp(-(h 2**s)**2 / 2v)  *  exp(-l (2 h 2**s + l) / 2v)

so h is drawn by the first factor, l and the sign are uniform, and the second factor is the
probability that they stay: 97 of 100 do at 16 <= sqrt(v) / 2**s. Minus zero never stays. Else all
of it is drawn again.

Exactness. h is the place of a uniform real U among the sums of the first factor, and a draw stays
where another one lies below the second factor. 63 and 64 bits of a real are read at once. A float
decides the second question where it is farther than 2**-32 from the edge, some 10**5 times its own
error; integer enclosures decide the first. A real that lies nearer to an edge, one in about 10**9,
is looked at 64 or 128 bits further, as often as it takes. So the law is exact, far tails included.

Complexity: 24 bytes a try. How often a draw is tried again says nothing of its value. Source:
Canonne, Kamath, Steinke 2020 (law, privacy); Karney 2016 (two parts, one of them uniform); lazily
inverted sums instead of their coins are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from askew.dp.intervals import exp_minus
from askew.errors import ParameterError
from askew.noise.randomness import KERNEL, Parameters, RandomBits, check_bits

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
MAX_VARIANCE = 2**80  # a draw of 2**22 standard deviations still fits 64 bits
_FIRST_BITS = 63  # of the uniform real that h is drawn by: its edges fit a word, 1 included
_MARGIN = 2.0**-32
_GUARD_BITS = 64
_BLOCK = 1 << 16  # tries at once: what they need stays in a processor's cache


def exp_odds(numerator: int, denominator: int, precision: int) -> tuple[int, int]:
    """Return integers (below, above) of exp(-numerator / denominator) * 2**precision, at most 6
    apart: (254, 256) for 0, 1 and 8.
    """
    scaled = (numerator << precision) // denominator
    return exp_minus(scaled + 1, precision)[0], exp_minus(scaled, precision)[1]


@dataclass(frozen=True)
class DiscreteGaussian(Parameters):
    """The law P(n) proportional to exp(-n**2 / (2 variance)) on the integers. Public.

    `low_bits`, s above, changes the work and never the law. Raises ParameterError unless variance
    is an int from 1 to 2**80 and low_bits one from 0 to 40.
    """

    variance: int
    low_bits: int

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("variance", self.variance, 1, MAX_VARIANCE),
            ("low_bits", self.low_bits, 0, 40),
        ):
            if type(value) is not int or not least <= value <= most:
                raise ParameterError(name, value, f"an int from {least} to {most}")

    @classmethod
    def of_variance(cls, variance: int) -> DiscreteGaussian:
        """Return the law of this variance, with as many low bits as leave 16 to 32 values of h to a
        standard deviation: 5 at 10**6. Raises ParameterError unless it is an int from 1 to 2**80.
        """
        is_valid = type(variance) is int and variance >= 1
        return cls(variance, max(0, isqrt(variance).bit_length() - 5) if is_valid else 0)

    def draw(self, size: int, bits: RandomBits = KERNEL) -> Integers:
        """Draw `size` independent integers of this law, (size,) int64."""
        check_bits(bits)
        drawn = np.empty(size, np.int64)
        done = 0
        while done < size:
            tries = min(size - done, _BLOCK)
            words = np.frombuffer(bits.read(24 * tries), "<u8").reshape(3, tries)
            high = self._high(words[0] >> np.uint64(64 - _FIRST_BITS), bits)
            low = words[1] & np.uint64((1 << self.low_bits) - 1)
            magnitude = (high << self.low_bits) + low.astype(np.int64)
            negative = words[1] >> np.uint64(63) == 1
            stays = self._stays(high, magnitude, words[2], bits) & ~(negative & (magnitude == 0))
            stayed = np.where(negative, -magnitude, magnitude)[stays]
            drawn[done : done + len(stayed)] = stayed
            done += len(stayed)
        return drawn

    def _high(self, words: Words, bits: RandomBits) -> Integers:
        surely_below, surely_from = self._edges
        high = np.searchsorted(surely_below, words, side="right")
        for place in np.flatnonzero(words < surely_from[high]):
            high[place] = self._high_of(int(words[place]), bits)
        return high

    @cached_property
    def _edges(self) -> tuple[Words, Words]:
        # A word below the first's h-th is below the end of h; one from the second's h-th on is not
        # below its beginning. The second has one more, which no word reaches: of the h beyond.
        ends = list(self._ends(_FIRST_BITS))
        surely_from = [0, *(high for _, high in ends[:-1]), 1 << _FIRST_BITS]
        surely_below = [low for low, _ in ends]
        return np.array(surely_below, np.uint64), np.array(surely_from, np.uint64)

    def _high_of(self, word: int, bits: RandomBits) -> int:
        # Of a uniform real whose first 63 bits did not tell.
        for precision in count(_FIRST_BITS + 64, 64):
            word = (word << 64) | int.from_bytes(bits.read(8))
            for h, (low, high) in enumerate(self._ends(precision)):
                if word < low:
                    return h
                if word < high:
                    break
        raise AssertionError("the precisions have no end")

    def _ends(self, precision: int) -> Iterator[tuple[int, int]]:
        # Enclosures of P(at most h) * 2**precision for h = 0, 1, ..., until they are at 1.
        work = precision + _GUARD_BITS
        weights: list[tuple[int, int]] = []
        while not weights or weights[-1][1] >> _GUARD_BITS:
            start = len(weights) << self.low_bits
            weights.append(exp_odds(start**2, 2 * self.variance, work))
        # sum of exp(-a j**2) over j > h is below the integral from h on, at most exp(-a h**2) / 2ah
        last = len(weights) - 1
        tail = weights[-1][1] * (1 + self.variance // (last << 2 * self.low_bits))
        lows = list(accumulate(low for low, _ in weights))
        highs = list(accumulate(high for _, high in weights))
        most, least = highs[-1] + tail, lows[-1]
        for low, high in zip(lows, highs, strict=True):
            yield (low << precision) // most, min(-(-(high << precision) // least), 1 << precision)

    def _stays(
        self, high: Integers, magnitude: Integers, words: Words, bits: RandomBits
    ) -> NDArray[np.bool_]:
        # Whether uniform reals with these first 64 bits are below exp(-l (2 h 2**s + l) / 2v).
        start = high << self.low_bits
        # l (2 start + l), each factor exact: 3 roundings, 4 ulp of exp and 1 of the word's
        area = (magnitude - start).astype(np.float64) * (magnitude + start).astype(np.float64)
        gap = np.exp(area / (-2.0 * self.variance)) - words.astype(np.float64) * 2.0**-64
        stays: NDArray[np.bool_] = gap > 0
        for place in np.flatnonzero(np.abs(gap) < _MARGIN):
            exponent = int(magnitude[place]) ** 2 - int(start[place]) ** 2

            def odds(precision: int, exponent: int = exponent) -> tuple[int, int]:
                return exp_odds(exponent, 2 * self.variance, precision)

            stays[place] = bits.refine(odds, int(words[place]), 64)
        return stays
