"""Random bytes that any language can make again, and words of them put where a coin is close."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from askew.noise.randomness import WORD_BITS, Coins, RandomBits

BYTES = WORD_BITS // 8
Kind = Literal["heads", "tails", "later heads", "later tails", "first", "not first"]
Forced = Mapping[tuple[int, int], Kind]
"""By the number of the throw and of the coin in it: which way it falls. The first four by the bytes
that a close coin reads then, the last two at once.
"""


def tape(seed: int, patches: Mapping[int, bytes] | None = None) -> Iterator[int]:
    """The bytes of SHA-256 of "askew SEED 0", "askew SEED 1", and so on, with patches on them."""
    plain = (byte for n in count() for byte in hashlib.sha256(b"askew %d %d" % (seed, n)).digest())
    put = {at + n: byte for at, patch in (patches or {}).items() for n, byte in enumerate(patch)}
    return (put.get(at, byte) for at, byte in enumerate(plain))


class TapeBits(RandomBits):
    """The bytes of a tape; `read_bytes` of them are used."""

    def __init__(self, seed: int, patches: Mapping[int, bytes] | None = None) -> None:
        self._tape, self.read_bytes = tape(seed, patches), 0

    def read(self, count: int) -> bytes:
        self.read_bytes += count
        return bytes(next(self._tape) for _ in range(count))


@dataclass
class ForcingBits(RandomBits):
    """A tape that writes down which patches make coins fall as they are told to."""

    seed: int
    forced: Forced
    patches: dict[int, bytes] = field(default_factory=dict)
    throws: int = 0

    def __post_init__(self) -> None:
        self._at = 0

    def read(self, count: int) -> bytes:
        start, self._at = self._at, self._at + count
        bits = TapeBits(self.seed, self.patches)
        return bits.read(self._at)[start:]

    def throw(self, coins: Coins, times: int = 1) -> list[list[bool]]:
        for (number, place), kind in self.forced.items():
            if number == self.throws:
                self._force(coins, times, place, kind)
        self.throws += 1
        return super().throw(coins, times)

    def _force(self, coins: Coins, times: int, place: int, kind: Kind) -> None:
        """Only one coin of a row of throws is close: what it reads follows the row."""
        odds = coins.odds[place % len(coins)]
        low, high = odds(WORD_BITS)
        here, after = self._at + place * BYTES, self._at + times * len(coins) * BYTES
        if kind in {"first", "not first"}:  # one below the coin's bound, or on it
            self.patches[here] = (low - 1 if kind == "first" else high).to_bytes(BYTES)
            return
        assert low < high, "no word is close to these odds"
        self.patches[here] = low.to_bytes(BYTES)
        ending = b"\0" * BYTES if kind.endswith("heads") else b"\xff" * BYTES
        if kind.startswith("later"):  # close once more
            near, _ = odds(2 * WORD_BITS)
            assert near >> WORD_BITS == low
            ending = (near & (1 << WORD_BITS) - 1).to_bytes(BYTES) + ending
        self.patches[after] = ending
