"""What was spent, as a person reads it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew_client.views.ways import TakenWay


@dataclass(frozen=True)
class LedgerLine:
    """One line of the ledger. kind: "signal"; "copy" for a signal that another device paid for;
    "unfreeze" for what the person accepted.

    The budget adds between_any_two; epsilon_per_distance stands beside it for a mechanism that has
    this unit. The account of places adds epsilon_per_km.
    """

    slot: str
    space_version: str
    kind: str
    epsilon_per_distance: Fraction | None
    between_any_two: float
    words: str
    epsilon_per_km: Fraction = Fraction(0)


@dataclass(frozen=True)
class PlaceBudget:
    """The account of places, as epsilon per crow's kilometer: in all, and what this month's
    positions cost.
    """

    spent: Fraction
    cap: Fraction
    this_month: Fraction
    monthly_cap: Fraction


@dataclass(frozen=True)
class Budget:
    """The ledger as a person reads it, in its two accounts. frozen says why nothing is spent, or is
    None. way: how a question would be answered now, once there is a connection.
    """

    spent: Fraction
    cap: Fraction
    next_slot: datetime.date
    lines: tuple[LedgerLine, ...]
    words: tuple[str, ...]
    places: PlaceBudget
    frozen: str | None = None
    way: TakenWay | None = None
