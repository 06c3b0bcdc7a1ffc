"""The noise of a place: the hexagonal lattice of a region's plane, and degrees on the wire.

A signal is a position in microdegrees. It names no region, no space and no server: projecting it,
clamping it and looking a collection up are post-processing, so one signal serves everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.errors import ParameterError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.randomness import RandomBits
from askew.spaces.metric.position import Position, microdegrees
from askew.spaces.metric.region import COSINE_PARTS, LEAST_COSINE, Region


@dataclass(frozen=True)
class MapNoise:
    """A hexagonal lattice, and c of the plane that it lies in, in parts of 1/65536. Public.

    Raises ParameterError for a cosine that no region has.
    """

    lattice: HexagonalLattice
    cosine: int

    def __post_init__(self) -> None:
        if not LEAST_COSINE <= self.cosine < COSINE_PARTS:
            limit = f"from {LEAST_COSINE} to {COSINE_PARTS - 1}"
            raise ParameterError("cosine", self.cosine, limit)

    @classmethod
    def in_region(cls, epsilon: Fraction, region: Region) -> MapNoise:
        """The noise of at most this epsilon per crow's kilometer in the plane of a region."""
        return cls(HexagonalLattice.for_epsilon(epsilon), region.cosine)

    @property
    def epsilon(self) -> Fraction:
        """Exact epsilon per crow's kilometer."""
        return self.lattice.epsilon

    def perturb(self, position: Position, region: Region, bits: RandomBits) -> tuple[int, int]:
        """The noisy latitude and longitude in microdegrees; the only thing to send.

        Never redrawn, wherever it lands. Raises PlaceError for a position outside the region, and
        ParameterError for a region with another plane.
        """
        if region.cosine != self.cosine:
            raise ParameterError("region", region.words, "the one of this noise's plane")
        noisy = self.lattice.perturb(region.kilometers(position), bits)
        return microdegrees(*region.degrees(*self.lattice.point(*noisy)))
