"""Values on axes that ask: of a server's space, whose numbers this device checks and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from askew.dp.privacy import SignalCharge
from askew.errors import OutOfRange, ParameterError, PlaceError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.metric.axes import Axis, AxisSpace
from askew_client.profile.named_place import AxisValues
from askew_client.settings.settings import ClientSettings
from askew_client.signals.account import Account
from askew_client.signals.asking import SignalMemory
from askew_client.views.near import AxesCost, PlaceCost


@dataclass(frozen=True)
class AxisErrand:
    """Values by the name of their axis."""

    spot: AxisValues = field(repr=False)
    handle: str = field(repr=False)

    def settle(
        self, slot: str, memory: SignalMemory, bits: RandomBits, shown: PlaceCost | None
    ) -> None:
        """Nothing: the space of a signal on axes is a server's."""

    def price(self, account: Account) -> None:
        """Nothing yet."""

    def on(self, space: AxisSpace, collection: str, settings: ClientSettings) -> AxisAsker:
        """These values, on a server with axes that they name and that this device enters.

        Which axes a value names is public, as the name of a place is; its numbers are not, so one
        beyond an axis counts as its nearest end, on a ring modulo the ring. A refusal by limits
        that a server chooses would let it find the value by halves.
        """
        missing = [axis.name for axis in space.axes if axis.name not in self.spot.values]
        if missing:
            raise PlaceError(f"the place has no value on this server's axis {missing[0]}")
        diameter, most = float(space.diameter), settings.max_axes_diameter
        if diameter > most:
            limit = f"at most this device's limit, {most:g}, in the server's units of distance"
            raise ParameterError("the diameter of the axes", diameter, limit)
        point = tuple([axis.folded(self.spot.values[axis.name]) for axis in space.axes])
        lattice = LatticeLaplace.for_epsilon(settings.epsilon)
        try:
            space.check_lattice(lattice)
        except OutOfRange as error:
            raise ParameterError("epsilon", settings.epsilon, f"one for which {error}") from None
        return AxisAsker(space, lattice, point, self.handle, settings.near_k, collection)


@dataclass(frozen=True)
class AxisAsker:
    """A point on a server's axes, within their ends and exact, that asks about a collection."""

    space: AxisSpace
    lattice: LatticeLaplace
    point: tuple[Fraction, ...] = field(repr=False)
    handle: str = field(repr=False)
    k: int
    collection: str
    unit = "units of distance"

    @property
    def true(self) -> tuple[float, ...]:
        """The point, to be shown and ranked by."""
        return tuple(map(float, self.point))

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self.space.axes)

    @property
    def space_version(self) -> str:
        """A digest of the axes: other axes are another space."""
        return self.space.version

    @property
    def charge(self) -> SignalCharge:
        """Plain epsilon: epsilon * diameter, by the numbers of the axes."""
        return self.space.loss(self.lattice).charge

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh noisy point."""
        drawn = self.space.perturb(self.point, self.lattice, bits)
        return Signal(self.space_version, self.lattice, drawn)

    def check(self, signal: Signal) -> None:
        """Raises a WireError unless the signal fits the axes."""
        signal.check(self.space.dimension, 0)
        self.space.check(signal.lattice, signal.values)

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """The noisy values, which may lie beyond the ends of a line."""
        steps = zip(self.space.axes, signal.point().tolist(), strict=True)
        return tuple([axis.low + axis.scale * step for axis, step in steps])

    def distance(self, coordinates: Sequence[float]) -> float:
        """The axes' distances added, the short way round a ring."""
        pairs = zip(self.space.axes, self.true, coordinates, strict=True)
        return sum(_apart(axis, here, there) for axis, here, there in pairs)

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Whether an item lies on the axes."""
        pairs = zip(self.space.axes, coordinates, strict=True)
        return all(axis.low <= value <= axis.high for axis, value in pairs)

    @property
    def mechanism(self) -> LatticeLaplace:
        """The noise of a fresh point."""
        return self.lattice

    def cost(
        self, drawn_by: Mechanism | None, spent: Fraction, cap: Fraction, *, fresh: bool
    ) -> AxesCost:
        """In the account of plain epsilon."""
        lattice = drawn_by if isinstance(drawn_by, LatticeLaplace) else self.lattice
        return AxesCost(
            epsilon_per_distance=lattice.epsilon,
            between_any_two=self.space.loss(lattice).charge.epsilon,
            diameter=float(self.space.diameter),
            spent=spent,
            cap=cap,
            fresh=fresh,
        )


def _apart(axis: Axis, here: float, there: float) -> float:
    apart = abs(here - there) / axis.scale
    return min(apart, float(axis.size) - apart) if axis.wraps else apart
