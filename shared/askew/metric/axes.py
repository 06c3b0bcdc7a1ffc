"""Lists of one to three axes: lines, such as the posts of a motorway, and rings, such as a day.

In units of distance a coordinate is (value - low) / scale; distances on the axes add (l1), and on a
ring the short way counts. The noise is the integer lattice's; on a ring its sum is taken modulo the
ring's size, which is a whole number of lattice steps for every lattice, so that wrapping is
post-processing and keeps the promise in the ring's own distance.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite

from askew.errors import OutOfRange, PlaceError
from askew.lattice import Lattice
from askew.privacy import SignalLoss
from askew.randomness import RandomBits
from askew.vectors import VERSION_BYTES

MAX_AXES = 3
MAX_SIZE = 2**20  # units of distance
_MAX_NAME = 40


@dataclass(frozen=True)
class Axis:
    """One axis: its name and unit in words, the interval of its values, and whether it wraps.

    scale: how many of the unit make distance 1. Raises OutOfRange for numbers that make no axis,
    and for a ring whose size is not a multiple of one half: then it is a whole number of steps of
    every lattice that a device draws on.
    """

    name: str
    unit: str
    low: float
    high: float
    wraps: bool
    scale: float

    def __post_init__(self) -> None:
        for name, text in (("name", self.name), ("unit", self.unit)):
            if not (0 < len(text) <= _MAX_NAME and text.isprintable()):
                raise OutOfRange(f"an axis's {name}", f"printable, of 1 to {_MAX_NAME} characters")
        numbers = (self.low, self.high, self.scale)
        if not all(isfinite(n) for n in numbers) or not (self.low < self.high and self.scale > 0):
            raise OutOfRange("an axis", "from low to high > low, with a positive scale")
        if self.size > MAX_SIZE:
            raise OutOfRange("an axis's size", f"at most {MAX_SIZE} units of distance")
        if self.wraps and (2 * self.size).denominator != 1:
            raise OutOfRange("a ring's size", "a multiple of half a unit of distance")

    @property
    def size(self) -> Fraction:
        """From low to high, in units of distance; a ring's circumference."""
        return (Fraction(self.high) - Fraction(self.low)) / Fraction(self.scale)

    @property
    def reach(self) -> Fraction:
        """The largest distance between two of its values."""
        return self.size / 2 if self.wraps else self.size

    def coordinate(self, value: float) -> Fraction:
        """A value in units of distance. Raises PlaceError for one outside, without naming it."""
        if not (isfinite(value) and self.low <= value <= self.high):
            limit = f"from {self.low:g} to {self.high:g} {self.unit}"
            raise PlaceError(f"{self.name} must be {limit}")
        return (Fraction(value) - Fraction(self.low)) / Fraction(self.scale)

    def steps(self, lattice: Lattice) -> int:
        """A ring's size in steps of a lattice."""
        return int(self.size * (1 << lattice.step_exponent))


@dataclass(frozen=True)
class AxisSpace:
    """One to three axes. Public; its version names all that it says.

    Raises OutOfRange for another number of axes, or for two of one name.
    """

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        names = {axis.name for axis in self.axes}
        if not 1 <= len(self.axes) <= MAX_AXES or len(names) != len(self.axes):
            raise OutOfRange("the axes of a space", f"1 to {MAX_AXES}, of different names")

    @property
    def dimension(self) -> int:
        """How many axes."""
        return len(self.axes)

    @property
    def diameter(self) -> Fraction:
        """The largest distance between two points; epsilon * diameter is the plain local DP."""
        return sum((axis.reach for axis in self.axes), Fraction(0))

    def loss(self, lattice: Lattice) -> SignalLoss:
        """What one fresh signal costs, by the numbers of the axes alone."""
        plain = lattice.epsilon * self.diameter
        return SignalLoss(plain, plain, lattice.epsilon)

    @cached_property
    def version(self) -> str:
        """32 hexadecimal digits: a digest of every field of every axis."""
        said = [
            [a.name, a.unit, float(a.low), float(a.high), a.wraps, float(a.scale)]
            for a in self.axes
        ]
        digest = hashlib.sha256(json.dumps(["axes", said]).encode())
        return digest.hexdigest()[: 2 * VERSION_BYTES]

    def perturb(
        self, values: Sequence[float], lattice: Lattice, bits: RandomBits
    ) -> tuple[int, ...]:
        """The noisy lattice coordinates of a point, wrapped after the noise on rings.

        Guarantee: lattice.epsilon per unit of the space's l1 distance, rings included. Raises
        PlaceError for values outside, or another number of them.
        """
        if len(values) != self.dimension:
            raise PlaceError(f"a point of this space has {self.dimension} values")
        point = [axis.coordinate(v) for axis, v in zip(self.axes, values, strict=True)]
        noisy = lattice.perturb(point, bits)
        return tuple(
            z % axis.steps(lattice) if axis.wraps else z
            for axis, z in zip(self.axes, noisy, strict=True)
        )

    def check(self, lattice: Lattice, values: Sequence[int]) -> None:
        """Raises OutOfRange for noisy coordinates that no device sends."""
        for axis, z in zip(self.axes, values, strict=True):
            if axis.wraps and not 0 <= z < axis.steps(lattice):
                raise OutOfRange("a coordinate on a ring", "one of its lattice steps")
