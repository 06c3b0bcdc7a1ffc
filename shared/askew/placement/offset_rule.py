"""The rule without a prior: from a noisy signal to k items of a catalog.

Public, and in one place: the server answers by it, and a device plays it at home to see what an
epsilon and a k would give. Depends on the signal alone, so it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.placement.disutility import Identity
from askew.placement.noise import Laplace
from askew.placement.rule import place
from askew.placement.snap import snap
from askew.vectors import FeatureSpace


@dataclass(frozen=True, eq=False)
class OffsetRule:
    """The optimal offset rule over the items of one space, positions (n_items, d)."""

    space: FeatureSpace
    positions: NDArray[np.float32] = field(repr=False)

    def offsets(self, lattice: Lattice, k: int) -> NDArray[np.float64]:
        """Where to look around a signal of this noise; worth keeping, the same for everybody."""
        noise = Laplace(float(lattice.epsilon), self.space.dimension)
        return place(noise, Identity(), k, on_demand=False).offsets

    def items(
        self, signal: NDArray[np.float64], offsets: NDArray[np.float64], k: int
    ) -> tuple[int, ...]:
        """Exactly k item ids, ascending, for a signal (d,). Raises ParameterError as `snap`.

        No person is outside the space, so a signal out there says no more than its nearest point.
        """
        return snap(self.space.clamp(signal), offsets, self.positions, k)
