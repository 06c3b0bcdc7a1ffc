"""Lists of one to three axes: lines, such as the posts of a motorway, and rings, such as a day.

In units of distance a coordinate is (value - low) / scale; distances on the axes add (l1), and on a
ring the short way counts. The noise is the integer lattice's; on a ring its sum is taken modulo the
ring's size of L lattice steps.

Guarantee: lattice.epsilon per unit of this distance, rings included; no slack. Privacy unit: one
point. Proof for a ring: p(z | u) is the law on the line, W(z | u) = sum over k of p(z + k L | u)
the wrapped one. L is whole, so p(z + k L | u) = p(z | u - k L): W does not change when a turn is
added to u, and each of its terms keeps the promise on the line. So W keeps it between u and every
v + k L, the nearest among them. A ring of a fractional number of steps breaks this, wrapping before
the noise does, and so would clamping before the wrap.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite

from askew.dp.privacy import SignalLoss
from askew.errors import OutOfRange, PlaceError
from askew.limits import MAX_AXES, MAX_NAME, VERSION_BYTES, check_plain
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace, clamped
from askew.noise.randomness import RandomBits

MAX_SIZE = 2**20  # units of distance
MAX_BOUND = 2.0**42  # of the axis' unit: milliseconds since 1970 have 41 bits


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
        check_plain("an axis's name", self.name, MAX_NAME)
        check_plain("an axis's unit", self.unit, MAX_NAME)
        numbers = (self.low, self.high, self.scale)
        if not all(isfinite(n) for n in numbers) or not (self.low < self.high and self.scale > 0):
            raise OutOfRange("an axis", "from low to high > low, with a positive scale")
        if max(map(abs, numbers)) > MAX_BOUND or self.scale < 1 / MAX_BOUND:
            raise OutOfRange("the numbers of an axis", "at most 2**42, and its scale from 2**-42")
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

    def folded(self, value: float) -> Fraction:
        """A finite value as the axis has it: beyond the ends, round a ring, or at the nearest end
        of a line. Exact: a rounding before the noise would be told with it, and a server that sets
        the ends could make it as large as it likes.
        """
        low, high = Fraction(self.low), Fraction(self.high)
        if self.wraps and not low <= value <= high:
            return low + (Fraction(value) - low) % (high - low)
        return min(max(Fraction(value), low), high)

    def coordinate(self, value: float | Fraction) -> Fraction:
        """A value in units of distance. Raises PlaceError for one outside, without naming it."""
        if not (isfinite(value) and self.low <= value <= self.high):
            limit = f"from {self.low:.15g} to {self.high:.15g} {self.unit}"
            raise PlaceError(f"{self.name} must be {limit}")
        return (Fraction(value) - Fraction(self.low)) / Fraction(self.scale)

    def steps(self, lattice: LatticeLaplace) -> int:
        """Its size in steps of a lattice, a whole number on a ring; rounded up on a line.

        Raises OutOfRange where a ring has no whole number of them, or the wire cannot carry them.
        """
        steps = self.size * (1 << lattice.step_exponent)
        if self.wraps and steps.denominator != 1:
            raise OutOfRange("a ring's size", "a whole number of lattice steps")
        if steps > COORDINATE_LIMIT:
            raise OutOfRange("an axis's size", f"at most {COORDINATE_LIMIT} lattice steps")
        return ceil(steps)

    def sent(self, noisy: int, lattice: LatticeLaplace) -> int:
        """What leaves of a noisy coordinate: wrapped on a ring, clamped to the wire on a line."""
        return noisy % self.steps(lattice) if self.wraps else clamped(noisy)


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

    def loss(self, lattice: LatticeLaplace) -> SignalLoss:
        """What one fresh signal costs, by the numbers of the axes alone.

        Raises OutOfRange, before anything is charged, for a lattice that does not fit the axes.
        """
        self.check_lattice(lattice)
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
        self, values: Sequence[float | Fraction], lattice: LatticeLaplace, bits: RandomBits
    ) -> tuple[int, ...]:
        """The noisy lattice coordinates of a point, wrapped after the noise on rings.

        Raises PlaceError for values outside, or another number of them; OutOfRange for a lattice
        that does not fit the axes.
        """
        if len(values) != self.dimension:
            raise PlaceError(f"a point of this space has {self.dimension} values")
        point = [axis.coordinate(v) for axis, v in zip(self.axes, values, strict=True)]
        self.check_lattice(lattice)
        noisy = lattice.draw(point, bits)
        return tuple([axis.sent(z, lattice) for axis, z in zip(self.axes, noisy, strict=True)])

    def check_lattice(self, lattice: LatticeLaplace) -> None:
        """Raises OutOfRange for a lattice that does not fit the axes."""
        for axis in self.axes:
            axis.steps(lattice)

    def check(self, lattice: LatticeLaplace, values: Sequence[int]) -> None:
        """Raises OutOfRange for noisy coordinates that no device sends."""
        for axis, z in zip(self.axes, values, strict=True):
            steps = axis.steps(lattice)
            if axis.wraps and not 0 <= z < steps:
                raise OutOfRange("a coordinate on a ring", "one of its lattice steps")

    def check_item(self, coordinates: Sequence[float]) -> None:
        """Raises OutOfRange unless these are one value of each axis."""
        if len(coordinates) != self.dimension:
            raise OutOfRange("the coordinates of an item", f"{self.dimension}, one an axis")
        for axis, value in zip(self.axes, coordinates, strict=True):
            if not axis.low <= value <= axis.high:
                raise OutOfRange("the coordinates of an item", "values of the axes")
