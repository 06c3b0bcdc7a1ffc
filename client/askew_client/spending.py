"""The ledger in words: what was spent, when, on which space, and what that means."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp

from askew.signal import Signal
from askew.vectors import FeatureSpace
from askew_client.exchange import SignalMemory
from askew_client.outcomes import Budget, LedgerLine
from askew_client.settings import slot_of
from askew_client.signal_store import Charge, SignalStore
from askew_client.slots import day_after


class Witness:
    """A memory of signals that also knows whether this question drew a fresh one."""

    def __init__(self, memory: SignalMemory) -> None:
        self._memory = memory
        self.drew = False

    def remember(
        self, space_version: str, slot: str, charge: Fraction, draw: Callable[[], Signal]
    ) -> Signal:
        """As the memory behind it does."""

        def watched() -> Signal:
            self.drew = True
            return draw()

        return self._memory.remember(space_version, slot, charge, watched)


def budget_of(store: SignalStore, space: FeatureSpace | None, today: datetime.date) -> Budget:
    """The ledger as a person reads it; distances are known for the connected space alone."""
    account = store.account()
    here = [c.epsilon for c in account.charges if space and c.space_version == space.version]
    return Budget(
        spent=account.spent,
        cap=account.cap,
        next_slot=day_after(slot_of(today)),
        lines=tuple(_line(charge, space) for charge in account.charges),
        words=tuple(_words(account.spent, account.cap, here, space)),
        frozen=account.frozen,
    )


def _line(charge: Charge, space: FeatureSpace | None) -> LedgerLine:
    rate = float(charge.epsilon)
    known = space is not None and charge.space_version == space.version
    far = rate * space.diameter if space is not None and known else None
    if charge.kind == "unfreeze":
        words = f"accepted by you; {rate:g} was booked for what the ledger had lost"
    else:
        words = f"one signal, epsilon {rate:g} per unit distance"
        words += "" if far is None else f", at most {far:.3g} between any two people"
    return LedgerLine(charge.slot, charge.space_version, charge.kind, charge.epsilon, far, words)


def _words(
    spent: Fraction, cap: Fraction, here: list[Fraction], space: FeatureSpace | None
) -> Iterator[str]:
    left = max(cap - spent, Fraction(0))
    yield f"Spent {float(spent):g} of a lifetime cap of {float(cap):g}; {float(left):g} is left."
    if not spent:
        yield "Nothing that depends on you has left this device."
        return
    total = float(sum(here, Fraction(0))) if here else float(spent)
    yield (
        "Someone who knows everything but this could tell you from a neighbor at distance r at "
        f"most e^({total:g} r) better than by guessing, from all signals together: "
        f"{_odds(total)} at distance 1, the median distance between two people."
    )
    if space is not None and here:
        far = total * space.diameter
        yield (
            f"From somebody as far away as can be ({space.diameter:.3g}), e^{far:.3g}: {_odds(far)}"
            ". Far-apart people stay distinguishable; near ones do not."
        )


def _odds(epsilon: float) -> str:
    """exp(epsilon) as odds that a person can read, rounded up."""
    if epsilon > 30:
        return "more than 10,000,000,000,000 to 1"
    odds = exp(epsilon)
    return f"{odds:.2f} to 1" if odds < 10 else f"{odds:,.0f} to 1"
