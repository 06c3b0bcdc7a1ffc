"""The device's memory of what it sent and what that cost: one SQLite file, and its anchor.

A signal and its charge are written in one transaction, before anything is sent. So a crash loses
budget, never privacy, and a retry, a restart or a changed setting finds the stored signal. The
charges form a chain whose head is also kept in the anchor (see `chain`): who puts back an older
copy of the file, and with it a budget that was spent, finds that nothing more is spent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path

from askew.errors import (
    BudgetExceeded,
    LedgerError,
    LedgerFrozen,
    ParameterError,
    SecondSpace,
)
from askew.privacy import SignalCharge
from askew.signal import Signal
from askew_client import ledger_rows
from askew_client.anchor import Anchor
from askew_client.chain import Entry, Head, Standing, heads, standing
from askew_client.limits import Caps
from askew_client.private_database import PrivateDatabase
from askew_client.signal_record import Remembered
from askew_client.slots import check_slot, day_after, months_between

MAX_JUMP = 12  # slots; a clock that jumps further is not believed
_ROUND = 2**20


@dataclass(frozen=True)
class Charge:
    """One entry: when and where it was spent, and what: epsilon between any two people, and epsilon
    per unit distance where the mechanism has one.

    kind is "signal" for a fresh signal, "unfreeze" for what the person accepted as lost.
    """

    space_version: str
    slot: str
    epsilon: Fraction
    epsilon_per_distance: Fraction | None = None
    kind: str = "signal"


@dataclass(frozen=True)
class Account:
    """All that the ledger says at one moment. frozen: why nothing is spent, or None."""

    charges: tuple[Charge, ...]
    spent: Fraction
    caps: Caps
    frozen: str | None

    def spent_in(self, slot: str) -> Fraction:
        """What the signals of one slot cost."""
        return sum((c.epsilon for c in self.charges if _is_signal_of(c, slot)), Fraction(0))


class SignalStore:
    """Signals and charges of one device. Safe for several processes at once.

    Every method raises LedgerError when the file cannot be read, trusted or written.
    """

    def __init__(self, path: Path, caps: Caps, anchor: Path | None = None) -> None:
        """anchor: by default in a directory of its own beside the file."""
        self._anchor = Anchor(anchor or path.parent / "anchor" / f"{path.stem}.json")
        self._caps = caps
        self._file = PrivateDatabase(path, "ledger", 0x41736B77, 2, ledger_rows.SCHEMA, LedgerError)

    def with_caps(self, caps: Caps) -> SignalStore:
        """The same store under other caps."""
        return SignalStore(self._file.path, caps, self._anchor.path)

    def find(self, space_version: str, slot: str) -> tuple[str, Signal | None]:
        """The slot by the ledger's clock, and the signal that would be sent again, if any."""
        with self._file.transaction() as database:
            return _find(database, ledger_rows.entries(database), space_version, slot)

    def remember(
        self,
        space_version: str,
        slot: str,
        charge: SignalCharge,
        draw: Callable[[], Signal],
        *,
        second_space: bool = False,
    ) -> Remembered:
        """The stored signal of (space version, slot), or a fresh one, charged and stored first.

        The ledger's clock never runs back: a slot before the last entry's counts as that one. It
        returns after the anchor names the charge. Raises, before drawing, BudgetExceeded if the
        charge would pass a cap, SecondSpace if the slot has a signal of another space and
        `second_space`, the person's yes, is not given, LedgerFrozen if the ledger lost something or
        the clock jumped far ahead, and ParameterError for a charge that is not positive or no slot.
        """
        if charge.epsilon <= 0:
            raise ParameterError("charge", charge.epsilon, "positive")
        check_slot(slot)
        with self._file.transaction() as database:
            known = ledger_rows.entries(database)
            frozen, head = self._frozen_after_settling(heads(known)), heads(known)[-1]
            slot, signal = _find(database, known, space_version, slot)
            if signal is not None:
                return Remembered(signal, fresh=False, spent=head.spent)
            if frozen:
                raise LedgerFrozen(_refusal(frozen))
            self._check(known, slot, charge.epsilon)
            if not second_space and any(_is_signal_of(entry, slot) for entry in known):
                raise SecondSpace(slot)
            signal = draw()
            near = charge.epsilon_per_distance
            entry = Entry("signal", signal.space_version, slot, charge.epsilon, near)
            ledger_rows.append(database, head, entry, signal)
        self._settle()
        return Remembered(signal, fresh=True, spent=head.extended(entry).spent)

    def account(self) -> Account:
        """Every charge, oldest first, their sum, and whether spending is frozen."""
        with self._file.transaction() as database:
            known = ledger_rows.entries(database)
        try:
            frozen = standing(heads(known), self._anchor.read()).value.strip()
        except LedgerFrozen as error:
            frozen = str(error)
        charges = tuple(
            Charge(e.space_version, e.slot, e.epsilon, e.per_distance, e.kind) for e in known
        )
        return Account(charges, heads(known)[-1].spent, self._caps, frozen or None)

    def charges(self) -> tuple[Charge, ...]:
        """Every charge, oldest first."""
        return self.account().charges

    def spent(self) -> Fraction:
        """The sum of every charge, epsilon between any two people."""
        return self.account().spent

    def unfreeze(self, slot: str) -> Fraction:
        """Accept the ledger and the clock as they are, which is an entry of its own.

        What the anchor remembers and the ledger lost is booked, rounded up, and returned: an older
        copy does not give budget back. The slot becomes the ledger's clock.
        """
        check_slot(slot)
        with self._file.transaction() as database:
            found = heads(ledger_rows.entries(database))
            anchored = None
            with suppress(LedgerFrozen):  # a damaged anchor remembers nothing
                anchored = self._anchor.read()
            lost = Fraction(0) if anchored is None else anchored.spent - found[-1].spent
            lost = max(Fraction(0), Fraction(ceil(lost * _ROUND), _ROUND))
            entry = Entry("unfreeze", "", slot, lost)
            ledger_rows.append(database, found[-1], entry)
        with self._file.transaction() as database:
            self._anchor.write(heads(ledger_rows.entries(database))[-1])
        return lost

    def _frozen_after_settling(self, found: list[Head]) -> str:
        """Why the ledger is frozen, or "", after closing the window that a crash left open."""
        try:
            now = standing(found, self._anchor.read())
        except LedgerFrozen as error:
            return str(error)
        if now is Standing.BEHIND:
            self._anchor.write(found[-1])
        return now.value.strip()

    def _settle(self) -> None:
        """Bring the anchor up to date, under the lock, so that it never runs back."""
        with self._file.transaction() as database:
            frozen = self._frozen_after_settling(heads(ledger_rows.entries(database)))
        if frozen:
            raise LedgerFrozen(_refusal(frozen))

    def _check(self, known: list[Entry], slot: str, charge: Fraction) -> None:
        """Whether a fresh signal may be paid for. Raises BudgetExceeded or LedgerFrozen."""
        if known and months_between(known[-1].slot, slot) > MAX_JUMP:
            jump = f"the clock says {slot}, and the last entry is of {known[-1].slot}"
            raise LedgerFrozen(_refusal(f"{jump}: more than {MAX_JUMP} months later"))
        spent = sum((entry.epsilon for entry in known), Fraction(0))
        month = sum((entry.epsilon for entry in known if _is_signal_of(entry, slot)), Fraction(0))
        following = day_after(slot).isoformat()
        if spent + charge > self._caps.lifetime:
            raise BudgetExceeded(charge, spent, self._caps.lifetime, next_slot=following)
        if self._caps.monthly is not None and month + charge > self._caps.monthly:
            raise BudgetExceeded(
                charge,
                month,
                self._caps.monthly,
                whose="monthly cap",
                next_slot=following,
                renewed=True,
            )


def _find(
    database: sqlite3.Connection, known: list[Entry], space_version: str, slot: str
) -> tuple[str, Signal | None]:
    """The slot by the ledger's own clock, and the signal of it."""
    signal = ledger_rows.find(database, space_version, slot)
    if signal is None and known:
        slot = max(slot, known[-1].slot)
        signal = ledger_rows.find(database, space_version, slot)
    return slot, signal


def _is_signal_of(entry: Entry | Charge, slot: str) -> bool:
    return entry.kind == "signal" and entry.slot == slot


def _refusal(reason: str) -> str:
    return f"spending is frozen: {reason}. Nothing was drawn and nothing was sent"
