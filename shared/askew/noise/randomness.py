"""Randomness as an argument, and coins whose probability is exact.

`SystemBits` reads the kernel's CSPRNG and is the only source that may protect anyone. `ReplayBits`
replays bytes that a test wrote down.

A coin with probability p is thrown by comparing p with a uniform real U = 0.b1b2b3... that is read
128 bits at a time: heads iff U < p. p is known through integer enclosures of p * 2**precision, so
no float takes part. 128 bits decide all but a fraction of about 2**-128 of the throws; the rest
read 128 bits more and look at p more closely, so the law is exact and the work does not depend on
the result.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from struct import Struct
from typing import Any, ClassVar, Final

from askew.errors import NoRandomness, ParameterError

WORD_BITS = 128
_WORD_BYTES, _HALF = WORD_BITS // 8, WORD_BITS // 2


class Parameters:
    """A dataclass of public parameters of a noise law, that is pickled and copied as its fields,
    without what it made of them.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


Odds = Callable[[int], tuple[int, int]]
"""A probability p in [0, 1), known as closely as one asks: from a precision, integers (low, high)
around p * 2**precision, as near at every precision.
"""


@dataclass(frozen=True)
class RationalOdds:
    """A probability that is a fraction. It may come from a profile, so it is never printed."""

    probability: Fraction = field(repr=False)

    def __call__(self, precision: int) -> tuple[int, int]:
        """Return (floor, ceiling) of p * 2**precision."""
        numerator, denominator = self.probability.as_integer_ratio()
        scaled = numerator << precision
        return scaled // denominator, -(-scaled // denominator)


class Coins:
    """A row of coins that are thrown together, in work that does not depend on how they fall."""

    def __init__(self, odds: Sequence[Odds]) -> None:
        self.odds = tuple(odds)
        self.bounds = [coin(WORD_BITS) for coin in odds]
        self.halves = Struct(">" + f"Q{_WORD_BYTES // 2}x" * len(odds))  # the first of each word
        self.lows = [low >> _HALF for low, _ in self.bounds]
        self.highs = [high >> _HALF for _, high in self.bounds]

    def __len__(self) -> int:
        return len(self.odds)


class RandomBits(ABC):
    """A source of independent uniform bits. Only `read` differs from source to source."""

    @abstractmethod
    def read(self, count: int) -> bytes:
        """Read `count` fresh uniform bytes."""

    def below(self, limit: int) -> int:
        """Draw a uniform integer in [0, limit), limit >= 1, exactly, in 2 rounds on average.

        The rounds depend on the limit and on chance, never on the value returned.
        """
        width = (limit - 1).bit_length()
        count = -(-width // 8)
        excess = 8 * count - width
        while True:
            value = int.from_bytes(self.read(count)) >> excess
            if value < limit:
                return value

    def throw(self, coins: Coins, times: int = 1) -> list[list[bool]]:
        """Throw a row of coins `times` times: one list of bools a time, True for heads, such as
        [[True, False], [False, False]] for two coins, twice.
        """
        if not len(coins):
            return [[] for _ in range(times)]
        data, rows = self.read(times * len(coins) * _WORD_BYTES), []
        for number, halves in enumerate(coins.halves.iter_unpack(data)):
            # Half a word decides, but for one coin in 2**63 or so; every coin is looked at.
            pairs = zip(halves, coins.lows, coins.highs, strict=True)
            if any([low <= half <= high for half, low, high in pairs]):  # noqa: C419
                start = number * coins.halves.size
                rows.append(self._row(coins, data[start : start + coins.halves.size]))
            else:
                rows.append([half < low for half, low in zip(halves, coins.lows, strict=True)])
        return rows

    def _row(self, coins: Coins, data: bytes) -> list[bool]:
        words = [
            int.from_bytes(data[i : i + _WORD_BYTES]) for i in range(0, len(data), _WORD_BYTES)
        ]
        return [*map(self._fall, coins.odds, coins.bounds, words)]

    def _fall(self, odds: Odds, bounds: tuple[int, int], word: int) -> bool:
        # The first 128 bits of U, as an integer, are `word`.
        low, high = bounds
        below, beyond = word < low, word >= high
        return self.refine(odds, word) if below == beyond else below

    def refine(self, odds: Odds, word: int, precision: int = WORD_BITS) -> bool:
        """Return U < p where the first `precision` bits of U, as an integer, are `word`; read more
        bits where these do not tell.
        """
        while True:
            low, high = odds(precision)
            if word < low or word >= high:
                return word < low
            word = (word << WORD_BITS) | int.from_bytes(self.read(_WORD_BYTES))
            precision += WORD_BITS


class SystemBits(RandomBits):
    """The kernel's CSPRNG, unbuffered, so that a fork or a snapshot cannot repeat a draw."""

    def read(self, count: int) -> bytes:
        """Read `count` bytes of os.urandom. Raises NoRandomness; nothing stands in."""
        try:
            return os.urandom(count)
        except (OSError, NotImplementedError) as error:
            raise NoRandomness(type(error).__name__) from None


KERNEL: Final = SystemBits()
"""The default of every public call that draws."""


def check_bits(bits: object) -> None:
    """Raise ParameterError unless bits is a RandomBits."""
    if not isinstance(bits, RandomBits):
        limit = "RandomBits, such as SystemBits(), or left out: no other generator protects anyone"
        raise ParameterError("bits", type(bits), limit)


class ReplayBits(RandomBits):
    """Bytes written down beforehand, for tests. Raises EOFError when they run out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes of the recording. Raises EOFError where it has fewer."""
        piece = self._data[self._position : self._position + count]
        if len(piece) < count:
            raise EOFError(f"the recording has no {count} bytes left")
        self._position += count
        return piece
