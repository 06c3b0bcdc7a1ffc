"""Lists of one to three axes, such as the posts of a motorway.

In units of distance a coordinate is (value - low) / scale; distances on the axes add (l1). The
noise is the integer lattice's.

Guarantee: lattice.epsilon per unit of this distance; no slack. Privacy unit: one point. Proof:
`askew.noise.lattice`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite

from askew.dp.privacy import SignalCharge
from askew.errors import OutOfRange, PlaceError
from askew.limits import MAX_AXES, MAX_NAME, VERSION_BYTES, check_plain
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.noise.randomness import KERNEL, RandomBits

MAX_SIZE = 2**20  # units of distance
MAX_BOUND = 2.0**42  # of the axis' unit
DIGITS = 6  # significant, in decimals, of each number: what nobody reads could mark a device


@dataclass(frozen=True)
class Axis:
    """One axis: its name and unit in words, and the interval of its values.

    scale: how many of the unit make distance 1. Raises OutOfRange for numbers that make no axis, or
    have more than DIGITS significant digits.
    """

    name: str
    unit: str
    low: float
    high: float
    scale: float

    def __post_init__(self) -> None:
        check_plain("an axis's name", self.name, MAX_NAME)
        check_plain("an axis's unit", self.unit, MAX_NAME)
        numbers = (self.low, self.high, self.scale)
        if not all(isfinite(n) for n in numbers) or not (self.low < self.high and self.scale > 0):
            raise OutOfRange("an axis", "from low to high > low, with a positive scale")
        if max(map(abs, numbers)) > MAX_BOUND or self.scale < 1 / MAX_BOUND:
            raise OutOfRange("the numbers of an axis", "at most 2**42, and its scale from 2**-42")
        if any(float(f"{n:.{DIGITS}g}") != n for n in numbers):
            raise OutOfRange("the numbers of an axis", f"of at most {DIGITS} significant digits")
        if self.size > MAX_SIZE:
            raise OutOfRange("an axis's size", f"at most {MAX_SIZE} units of distance")

    @property
    def size(self) -> Fraction:
        """Return the distance from low to high, (high - low) / scale, exactly."""
        return (Fraction(self.high) - Fraction(self.low)) / Fraction(self.scale)

    def clamped(self, value: float) -> Fraction:
        """Return a finite value, or the nearest end where it lies beyond, as an exact Fraction."""
        # The signal would tell a rounding before the noise, and a server that sets the ends could
        # make it as large as it likes.
        return min(max(Fraction(value), Fraction(self.low)), Fraction(self.high))

    def coordinate(self, value: float | Fraction) -> Fraction:
        """Return (value - low) / scale, exactly. Raises PlaceError for a value that is not from low
        to high, without naming the value.
        """
        if not (isfinite(value) and self.low <= value <= self.high):
            limit = f"from {self.low:.15g} to {self.high:.15g} {self.unit}"
            raise PlaceError(f"{self.name} must be {limit}")
        return (Fraction(value) - Fraction(self.low)) / Fraction(self.scale)


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
        """Return the number of axes."""
        return len(self.axes)

    @property
    def diameter(self) -> Fraction:
        """Return the largest distance of two points, the sum of the axes' sizes.

        epsilon * diameter is the plain local DP.
        """
        return sum((axis.size for axis in self.axes), Fraction(0))

    def charge(self, lattice: LatticeLaplace) -> SignalCharge:
        """Return SignalCharge(lattice.epsilon * diameter): what one fresh signal costs, epsilon
        between any two points.

        Raises OutOfRange, before anything is charged, as `check_lattice`: for too small steps.
        """
        self.check_lattice(lattice)
        return SignalCharge(lattice.epsilon * self.diameter)

    @cached_property
    def version(self) -> str:
        """Return 32 hexadecimal digits: a digest of every field of every axis."""
        fields = [[a.name, a.unit, float(a.low), float(a.high), float(a.scale)] for a in self.axes]
        digest = hashlib.sha256(json.dumps(["axes", fields]).encode())
        return digest.hexdigest()[: 2 * VERSION_BYTES]

    def perturb(
        self,
        values: Sequence[float | Fraction],
        lattice: LatticeLaplace,
        bits: RandomBits = KERNEL,
    ) -> tuple[int, ...]:
        """Draw the noisy coordinates of a point, in whole lattice steps, one an axis.

        Raises PlaceError for values outside, or another number of them; OutOfRange as
        `check_lattice`: for too small steps.
        """
        if len(values) != self.dimension:
            raise PlaceError(f"a point of this space has {self.dimension} values")
        point = [axis.coordinate(v) for axis, v in zip(self.axes, values, strict=True)]
        self.check_lattice(lattice)
        return lattice.perturb(point, bits)

    def check_lattice(self, lattice: LatticeLaplace) -> None:
        """Raise OutOfRange for steps so small that an axis has more than 2**31 - 1, which the wire
        cannot carry.
        """
        if max(axis.size for axis in self.axes) * (1 << lattice.step_exponent) > COORDINATE_LIMIT:
            raise OutOfRange("an axis's size", f"at most {COORDINATE_LIMIT} lattice steps")

    def check_item(self, coordinates: Sequence[float]) -> None:
        """Raise OutOfRange unless these are one value an axis, each from its low to its high, both
        included.
        """
        if len(coordinates) != self.dimension:
            raise OutOfRange("the coordinates of an item", f"{self.dimension}, one an axis")
        for axis, value in zip(self.axes, coordinates, strict=True):
            if not axis.low <= value <= axis.high:
                raise OutOfRange("the coordinates of an item", "values of the axes")
