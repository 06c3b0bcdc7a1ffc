"""What is private of a question near a place, and how it makes a signal, whatever kind of space."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.metric.map_noise import MapNoise
from askew_client.signals.account import Account
from askew_client.signals.asking import Asker, SignalMemory
from askew_client.views.near import AxesCost, PlaceCost


class NearAsker(Asker, Protocol):
    """An asker that is somewhere."""

    @property
    def axes(self) -> tuple[str, ...]:
        """What each coordinate is, in words."""

    @property
    def unit(self) -> str:
        """Of distances."""

    @property
    def true(self) -> tuple[float, ...]:
        """Where it is. Private."""

    def sent(self, signal: Signal) -> tuple[float, ...]:
        """Where a signal of this asker points, in the coordinates of items."""

    def distance(self, coordinates: Sequence[float]) -> float:
        """From the true place to an item, for the device's own ranking. Private."""

    def holds(self, coordinates: Sequence[float]) -> bool:
        """Whether an item lies in the server's space."""

    @property
    def mechanism(self) -> LatticeLaplace | MapNoise:
        """By which a fresh signal is drawn."""

    def cost(
        self, drawn_by: Mechanism | None, spent: Fraction, cap: Fraction, *, fresh: bool
    ) -> PlaceCost | AxesCost:
        """What its signal costs, beside what was spent: by the law that it was drawn by, or (None)
        by the settings of today, which would draw it.
        """


class Errand(Protocol):
    """A place to ask from, before a server is known."""

    def settle(
        self, slot: str, memory: SignalMemory, bits: RandomBits, shown: PlaceCost | None
    ) -> None:
        """Pay for and draw what needs no server: a position's signal, and nothing on axes.

        Raises QuoteVoid where it costs something else than was shown.
        """

    def price(self, account: Account) -> PlaceCost | None:
        """What `settle` would cost now."""
