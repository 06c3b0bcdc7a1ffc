"""What a question near a place gave, ready to show. For the person's own eyes; nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING

from askew.catalog.listing import Value
from askew_client.views.rounding import at_most, times

if TYPE_CHECKING:
    from askew.spaces.metric.map_noise import MapNoise

MAP_AXES = ("latitude", "longitude")


@dataclass(frozen=True)
class PlaceCost:
    """What a place's signal costs, per crow's kilometer, beside what all signals have cost.

    hidden_km: how far apart two places may be for the odds between them to change `odds` times at
    most: what the level promises. fresh: whether it is drawn and charged for this, and not sent
    again. spent: what all places together have cost, by then. cosine: of the plane whose kilometers
    these are, in parts of 1/65536: a picture of what the signal tells needs it.
    """

    epsilon_per_km: Fraction
    spent: Fraction
    cap: Fraction
    fresh: bool
    hidden_km: float
    cosine: int
    odds: float = 4.0

    @classmethod
    def of(cls, noise: MapNoise, spent: Fraction, cap: Fraction, *, fresh: bool) -> PlaceCost:
        """The cost of a signal with this noise."""
        hidden = log(4.0) / float(noise.epsilon)
        return cls(noise.epsilon, spent, cap, fresh, hidden, noise.cosine)

    def times_at(self, km: float) -> str:
        """How many times the odds between two places so far apart change at most."""
        return times(float(self.epsilon_per_km) * km)

    @property
    def words(self) -> tuple[str, ...]:
        """What it means, and what is left."""
        promise = "; ".join(
            f"{km} km apart: odds change at most {self.times_at(km)}" for km in (1, 10)
        )
        return (
            f"epsilon {at_most(self.epsilon_per_km, 3)} per km; {promise}",
            f"all places together: {at_most(self.spent, 3)} of {float(self.cap):g} per km spent",
        )


@dataclass(frozen=True)
class AxesCost:
    """What a signal on axes costs: plain epsilon, by this device's own reckoning, in the account of
    tastes. diameter: the largest distance between two values, which the epsilon is multiplied by.
    """

    epsilon_per_distance: Fraction
    between_any_two: Fraction
    diameter: float
    spent: Fraction
    cap: Fraction
    fresh: bool

    @property
    def words(self) -> tuple[str, ...]:
        """What it means, and what is left."""
        per_distance, plain = (
            at_most(self.epsilon_per_distance, 3),
            at_most(self.between_any_two, 3),
        )
        return (
            f"epsilon {per_distance} per unit distance, at most {plain} between any two values",
            f"all signals together: {at_most(self.spent)} of {float(self.cap):g} spent",
        )


@dataclass(frozen=True)
class PlaceView:
    """A named place for the person's own eyes. axes: what its numbers are; unit-less on axes.

    sent: the noisy position that every server gets, empty on axes, where it depends on the space.
    cost: what its law promises; None on axes.
    """

    name: str
    axes: tuple[str, ...]
    true: tuple[float, ...] = field(repr=False)
    sent: tuple[float, ...] = field(repr=False, default=())
    cost: PlaceCost | None = None


@dataclass(frozen=True)
class NearResult:
    """One result. rank: 1 for the best. passes: whether it passes every filter. distance: from the
    true place, in kilometers or in units of distance; private, as rank, passes and picked are.
    """

    rank: int = field(repr=False)
    title: str = field(repr=False)
    coordinates: tuple[float, ...] = field(repr=False)
    values: tuple[tuple[str, Value], ...] = field(repr=False)
    distance: float = field(repr=False)
    passes: bool = field(repr=False)
    picked: bool = field(repr=False)


@dataclass(frozen=True)
class NearAnswer:
    """The results of one question, best first. none_passes: no result passes the filters, which is
    said and never asked about again. sent: the noisy coordinates that left. missing: what wishes
    name and this collection does not have. axes: what coordinates are; unit: of distances; units:
    of the values of a result, "" where one has none.
    """

    collection: str
    source: str
    simulated: bool
    k: int
    results: tuple[NearResult, ...] = field(repr=False)
    none_passes: bool = field(repr=False)
    sent: tuple[float, ...] = field(repr=False)
    true: tuple[float, ...] = field(repr=False)
    cost: PlaceCost | AxesCost
    axes: tuple[str, ...] = MAP_AXES
    unit: str = "km"
    missing: tuple[str, ...] = field(repr=False, default=())
    units: tuple[str, ...] = ()

    @property
    def pick(self) -> NearResult | None:
        """The best result that passes, if any does."""
        return next((each for each in self.results if each.picked), None)
