"""What the ledger says in all, in its two accounts, and what a fresh signal may still cost.

Plain epsilon, between any two people, for tastes and axes; epsilon per crow's kilometer for places.
The two never mix: a place claims no plain epsilon. Without I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from askew.errors import BudgetExceeded
from askew.privacy import ANY_SPACE, SignalCharge
from askew_client.ledger.chain import Entry
from askew_client.ledger.slots import day_after
from askew_client.settings.ranges import Caps

PLAIN = "epsilon between any two people"
PER_KM = "epsilon per kilometer"
_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Charge:
    """One entry: when and where it was spent, and what: epsilon between any two people, and epsilon
    per unit distance where the mechanism has one; or epsilon per crow's kilometer for a place.

    kind is "signal" for a fresh signal, "copy" for one that another device paid for, "unfreeze" for
    what the person accepted as lost.
    """

    space_version: str
    slot: str
    epsilon: Fraction
    epsilon_per_distance: Fraction | None = None
    kind: str = "signal"
    epsilon_per_km: Fraction = _NOTHING


@dataclass(frozen=True)
class Account:
    """All that the ledger says at one moment. spent, spent_per_km: the sums of the two accounts.
    frozen: why nothing is spent, or None.
    """

    charges: tuple[Charge, ...]
    spent: Fraction
    caps: Caps
    frozen: str | None
    spent_per_km: Fraction = _NOTHING

    def spent_in(self, slot: str) -> Fraction:
        """What the signals of one slot cost, in plain epsilon."""
        return sum((c.epsilon for c in self.charges if is_signal_of(c, slot)), _NOTHING)

    def has_other_space(self, space_version: str, slot: str) -> bool:
        """Whether a fresh signal of this space would be the slot's second space."""
        return is_second(self.charges, space_version, slot)

    def spent_per_km_in(self, slot: str) -> Fraction:
        """What the places that were drawn in one slot cost, per crow's kilometer."""
        return sum((c.epsilon_per_km for c in self.charges if is_signal_of(c, slot)), _NOTHING)


def is_signal_of(entry: Entry | Charge, slot: str) -> bool:
    """Whether it is a signal that was drawn in this slot."""
    return entry.kind == "signal" and entry.slot == slot


def is_second(known: Sequence[Entry] | Sequence[Charge], space_version: str, slot: str) -> bool:
    """Whether a fresh signal of this space would be the slot's second one; a place is of none."""
    spaces = {each.space_version for each in known if is_signal_of(each, slot)}
    return space_version != ANY_SPACE and bool(spaces - {space_version, ANY_SPACE})


def check_caps(known: Sequence[Entry], slot: str, charge: SignalCharge, caps: Caps) -> None:
    """Raises BudgetExceeded unless a fresh signal may be paid for, in the account that it is of."""
    month = [entry for entry in known if is_signal_of(entry, slot)]
    if charge.epsilon:
        cost, check = charge.epsilon, partial(BudgetExceeded, measure=PLAIN)
        spent, this_month = (sum((e.epsilon for e in es), _NOTHING) for es in (known, month))
        limits = (caps.lifetime, "lifetime cap"), (caps.monthly, "monthly cap")
    else:
        cost, check = charge.epsilon_per_km, partial(BudgetExceeded, measure=PER_KM)
        spent, this_month = (sum((e.epsilon_per_km for e in es), _NOTHING) for es in (known, month))
        limits = (
            (caps.places_lifetime, "lifetime cap of places"),
            (caps.places_monthly, "monthly cap of places"),
        )
        if cost > caps.places_draw:
            raise check(cost, _NOTHING, caps.places_draw, whose="cap of one position")
    (lifetime, whole), (monthly, part) = limits
    following = day_after(slot).isoformat()
    if spent + cost > lifetime:
        raise check(cost, spent, lifetime, whose=whole, next_slot=following)
    if monthly is not None and this_month + cost > monthly:
        raise check(cost, this_month, monthly, whose=part, next_slot=following, renewed=True)
