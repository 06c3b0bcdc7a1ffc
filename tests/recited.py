"""A source of bytes that look random and are the same in every run."""

from __future__ import annotations

import hashlib

from askew.noise.randomness import RandomBits


class Recited(RandomBits):
    """Bytes by a seed. sizes: how many each read took."""

    def __init__(self, seed: int) -> None:
        self.seed, self.sizes = seed, list[int]()

    def read(self, count: int) -> bytes:
        self.sizes.append(count)
        text = f"{self.seed}/{len(self.sizes)}".encode()
        return hashlib.shake_256(text).digest(count)
