"""What vectors leave of a model's scores: what a like of one item adds to a few others.

    added to item j by likes S    boost_j / sqrt(max(|S|, least_likes)) times the sum over i in S of
                                  N_ij = N_ji = step * code,  a code of 1 to 15

beside what vectors say (`askew.protocol.ranking`). A pair is listed once, by one of its two items,
each of which lists at most K. Only devices that hold every item have neighbors, and rank by them at
home: they are in no reply, and nothing is asked by them. At 16 bits an item and 4 bits a code, K of
them take 2.5 K bytes an item.

Shapes: n items, K neighbors. Complexity: O(n K) for a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange

MOST = 32
MOST_ITEMS = 1 << 16
TOP = 15
_LARGEST_STEP = 1024.0


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The neighbors of a catalog's items. Public.

    items, codes: (n, K), uint16 and uint8; a place without a neighbor has item 0 and code 0.
    Raises OutOfRange outside the limits.
    """

    items: NDArray[np.uint16] = field(repr=False)
    codes: NDArray[np.uint8] = field(repr=False)
    step: float

    def __post_init__(self) -> None:
        if self.items.shape != self.codes.shape or self.items.ndim != 2:
            raise OutOfRange("the neighbors of items", "one code each")
        n, count = self.items.shape
        if not 1 <= count <= MOST or n > MOST_ITEMS:
            raise OutOfRange("the neighbors of items", f"1 to {MOST} of at most {MOST_ITEMS} items")
        if (self.items >= n).any() or (self.codes > TOP).any() or self.items[self.codes == 0].any():
            raise OutOfRange("a neighbor", f"an item of the catalog, with a code of 1 to {TOP}")
        if not 0 < self.step <= _LARGEST_STEP:
            raise OutOfRange("the step of neighbors", f"positive and at most {_LARGEST_STEP:g}")

    def __len__(self) -> int:
        """Return the number n of items."""
        return len(self.items)

    @property
    def parts(self) -> Iterator[bytes]:
        """Yield items, codes and step as bytes, little-endian."""
        yield self.items.astype("<u2").tobytes()
        yield self.codes.tobytes()
        yield np.float64(self.step).astype("<f8").tobytes()

    def by_likes(self, liked: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of N_ij over liked items i, (n,); items behind the n have no neighbors."""
        sums, liked = np.zeros(len(self)), liked[liked < len(self)]
        np.add.at(sums, self.items[liked], self.codes[liked])
        likes = np.zeros(len(self))
        likes[liked] = 1.0
        sums += (likes[self.items] * self.codes).sum(axis=1)
        return self.step * sums

    def moved(self, places: NDArray[np.int64], n: int) -> Neighbors | None:
        """Return the neighbors of the same items in another catalog of n items; None where that is
        too large to have any. places: of these items there, (len(self),), -1 for one that is gone,
        to which no item links any more. A new item has no neighbors.
        """
        if n > MOST_ITEMS:
            return None
        items = np.zeros((n, self.items.shape[1]), np.uint16)
        codes = np.zeros(items.shape, np.uint8)
        stay = places >= 0
        neighbors = places[self.items[stay]]
        kept = (neighbors >= 0) & (self.codes[stay] > 0)
        items[places[stay]] = np.where(kept, neighbors, 0)
        codes[places[stay]] = np.where(kept, self.codes[stay], 0)
        return Neighbors(items, codes, self.step)
