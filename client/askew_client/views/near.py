"""What a question near a place gave, ready to show. For the person's own eyes; nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from askew.listing import Value


@dataclass(frozen=True)
class PlaceCost:
    """What a place's signal costs, per crow's kilometer, beside what all signals have cost.

    hidden_km: how far apart two places may be for the odds between them to change `odds` times at
    most: what the level promises. fresh: whether it was drawn and charged just now.
    """

    epsilon_per_km: Fraction
    spent: Fraction
    cap: Fraction
    fresh: bool
    hidden_km: float
    odds: float = 4.0


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
    said and never asked about again. sent: the noisy coordinates that left. cost: None on axes
    where the signal is charged like any other.
    """

    collection: str
    source: str
    simulated: bool
    k: int
    results: tuple[NearResult, ...] = field(repr=False)
    none_passes: bool = field(repr=False)
    sent: tuple[float, ...] = field(repr=False)
    true: tuple[float, ...] = field(repr=False)
    cost: PlaceCost | None = None

    @property
    def pick(self) -> NearResult | None:
        """The best result that passes, if any does."""
        return next((each for each in self.results if each.picked), None)
