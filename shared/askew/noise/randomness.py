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
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD_BITS = 128
_WORD_BYTES = WORD_BITS // 8
_LARGEST_WORD = (1 << WORD_BITS) - 1


class Odds(Protocol):
    """A probability in [0, 1), known as closely as one asks."""

    def bounds(self, precision: int) -> tuple[int, int]:
        """Integers low <= p * 2**precision <= high; high - low must not grow with precision."""


@dataclass(frozen=True)
class RationalOdds:
    """A probability that is a fraction. It may come from a profile, so it is never printed."""

    probability: Fraction = field(repr=False)

    def bounds(self, precision: int) -> tuple[int, int]:
        """Floor and ceiling of p * 2**precision."""
        numerator, denominator = self.probability.as_integer_ratio()
        scaled = numerator << precision
        return scaled // denominator, -(-scaled // denominator)


class Coins:
    """A row of coins that are thrown together, in work that does not depend on how they fall."""

    def __init__(self, odds: Sequence[Odds]) -> None:
        import numpy as np  # bits are read where no coin is thrown, and start without it

        bounds = [each.bounds(WORD_BITS) for each in odds]
        self.odds = tuple(odds)
        self.low = _lanes([low for low, _ in bounds])  # (n, 2)
        self.high = _lanes([min(high, _LARGEST_WORD) for _, high in bounds])  # (n, 2)
        # Odds within 2**-128 of one: no word is known to be tails.
        self.open = np.array([high > _LARGEST_WORD for _, high in bounds], dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.odds)


class RandomBits(ABC):
    """A source of independent uniform bits. Only `read` differs from source to source."""

    @abstractmethod
    def read(self, count: int) -> bytes:
        """`count` fresh uniform bytes."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` fresh uniform 64-bit words, shape (count,)."""
        import numpy as np

        return np.frombuffer(self.read(8 * count), dtype=">u8").astype(np.uint64)

    def below(self, limit: int) -> int:
        """A uniform integer in [0, limit), limit >= 1, exactly, in at most 2 rounds on average.

        The rounds depend on the limit and on chance, never on the value returned.
        """
        width = (limit - 1).bit_length()
        count = -(-width // 8)
        excess = 8 * count - width
        while True:
            value = int.from_bytes(self.read(count)) >> excess
            if value < limit:
                return value

    def below_each(self, limits: NDArray[np.int64]) -> NDArray[np.int64]:
        """Independent uniform integers, the i-th in [0, limits[i]), limits >= 1, exactly.

        A word modulo the limit. The 2**64 mod limit lowest words would be more than a multiple of
        the limit, and are drawn again.
        """
        import numpy as np

        sizes = limits.astype(np.uint64)
        excess = np.negative(sizes) % sizes  # of 2**64, which is 0 here
        words = self.words(len(sizes))
        again = np.flatnonzero(words < excess)
        while len(again):
            words[again] = self.words(len(again))
            again = again[words[again] < excess[again]]
        return (words % sizes).astype(np.int64)

    def throw(self, coins: Coins, times: int = 1) -> NDArray[np.bool_]:
        """Throw a row of coins `times` times; returns heads as True, shape (times, len(coins))."""
        import numpy as np

        n = len(coins)
        words = np.frombuffer(self.read(times * n * _WORD_BYTES), dtype=">u8")
        words = words.reshape(times, n, 2)
        heads = _less(words, coins.low)
        undecided = ~heads & (_less(words, coins.high) | coins.open)
        for row, column in np.argwhere(undecided):
            high, low = (int(lane) for lane in words[row, column])
            heads[row, column] = self._refine(coins.odds[column], (high << 64) | low)
        return heads

    def _refine(self, odds: Odds, word: int, precision: int = WORD_BITS) -> bool:
        """Decide U < p where the first `precision` bits of U, as an integer, are `word`."""
        while True:
            low, high = odds.bounds(precision)
            if word < low or word >= high:
                return word < low
            word = (word << WORD_BITS) | int.from_bytes(self.read(_WORD_BYTES))
            precision += WORD_BITS


class SystemBits(RandomBits):
    """The kernel's CSPRNG, unbuffered, so that a fork or a snapshot cannot repeat a draw."""

    def read(self, count: int) -> bytes:
        """`count` bytes of os.urandom."""
        return os.urandom(count)


class ReplayBits(RandomBits):
    """Bytes written down beforehand, for tests. Raises EOFError when they run out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def read(self, count: int) -> bytes:
        """The next `count` bytes of the recording."""
        piece = self._data[self._position : self._position + count]
        if len(piece) < count:
            raise EOFError(f"the recording has no {count} bytes left")
        self._position += count
        return piece


def _lanes(values: Sequence[int]) -> NDArray[np.uint64]:
    """Integers below 2**128 as two 64-bit lanes, high lane first: shape (n, 2)."""
    import numpy as np

    return np.array([(v >> 64, v & 0xFFFFFFFFFFFFFFFF) for v in values], dtype=np.uint64)


def _less(words: NDArray[np.uint64], limits: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each 128-bit word is below its limit, lane by lane."""
    top, bottom = words[..., 0], words[..., 1]
    below: NDArray[np.bool_] = (top < limits[:, 0]) | (
        (top == limits[:, 0]) & (bottom < limits[:, 1])
    )
    return below
