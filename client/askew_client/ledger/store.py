"""The device's memory of what it sent and what that cost: one SQLite file, and its anchor.

A signal and its charge are written in one transaction, before anything is sent. So a crash loses
budget, never privacy, and a retry, a restart or a changed setting finds the stored signal. The
charges form a chain that the anchor knows too (see `chain`): the order is announce in the anchor,
commit, keep in the anchor, return. Who puts back an older copy of the file, and with it a budget
that was spent, or writes an entry that gives some back, finds that nothing more is spent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from askew.randomness import SystemBits
from askew.signal import Signal
from askew_client.ledger import rows as ledger_rows
from askew_client.ledger.anchor import Anchor
from askew_client.ledger.chain import (
    Anchored,
    Entry,
    Head,
    Standing,
    heads,
    kept,
    standing,
    trusted,
)
from askew_client.ledger.record import Remembered, decode_signal, encode_signal
from askew_client.ledger.slots import check_slot, day_after, months_between
from askew_client.settings.ranges import Caps
from askew_client.storage.private_database import PrivateDatabase

MAX_JUMP = 12  # slots; a clock that jumps further is not believed
_ROUND = 2**20
_FORMAT = (ledger_rows.VERSION, ledger_rows.SCHEMA)
_SALT_BYTES = 32


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
        self._file = PrivateDatabase(path, "ledger", 0x41736B77, *_FORMAT, LedgerError)

    def with_caps(self, caps: Caps) -> SignalStore:
        """The same store under other caps."""
        return SignalStore(self._file.path, caps, self._anchor.path)

    def find(self, space_version: str, slot: str) -> tuple[str, Signal | None]:
        """The slot by the ledger's clock, and the signal that would be sent again, if any."""
        with self._file.transaction() as database:
            known = ledger_rows.entries(database)
            anchored, _ = self._compare(heads(known))
        return _find(known[: trusted(heads(known), anchored)], space_version, slot)

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
            found = heads(known)
            anchored, frozen = self._settled(found)
            slot, signal = _find(known[: trusted(found, anchored)], space_version, slot)
            if signal is not None:
                return Remembered(signal, fresh=False, spent=found[-1].spent)
            if frozen:
                raise LedgerFrozen(_refusal(frozen))
            self._check(known, slot, charge.epsilon)
            if not second_space and any(_is_signal_of(entry, slot) for entry in known):
                raise SecondSpace(slot)
            signal = draw()
            self._append(database, anchored, found[-1], _entry_of(signal, slot, charge))
        self._settle()
        return Remembered(signal, fresh=True, spent=found[-1].spent + charge.epsilon)

    def account(self) -> Account:
        """Every charge, oldest first, their sum, and whether spending is frozen."""
        with self._file.transaction() as database:
            known = ledger_rows.entries(database)
            _, frozen = self._compare(heads(known))
        charges = tuple(
            Charge(e.space_version, e.slot, e.epsilon, e.epsilon_per_distance, e.kind)
            for e in known
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
            anchored, _ = self._settled(found)  # what is damaged remembers nothing
            lost = Fraction(0) if anchored is None else anchored.spent - found[-1].spent
            lost = max(Fraction(0), Fraction(ceil(lost * _ROUND), _ROUND))
            entry = Entry("unfreeze", "", slot, lost, None, _new_salt())
            self._append(database, anchored, found[-1], entry)
        self._settle()
        return lost

    def _append(
        self, database: sqlite3.Connection, anchored: Anchored | None, head: Head, entry: Entry
    ) -> None:
        """Write an entry and announce its link: the last step before the commit."""
        following = ledger_rows.append(database, head, entry)
        self._anchor.write(replace(anchored or Anchored(), announced=following.link))

    def _compare(self, found: list[Head]) -> tuple[Anchored | None, str]:
        """What the anchor remembers, and why the ledger is frozen or ""."""
        try:
            anchored = self._anchor.read()
        except LedgerFrozen as error:
            return None, str(error)
        return anchored, standing(found, anchored).value.strip()

    def _settled(self, found: list[Head]) -> tuple[Anchored | None, str]:
        """The same, after closing the window that a crash left open: a link that was announced and
        committed is kept before anything else is written.
        """
        anchored, frozen = self._compare(found)
        if standing(found, anchored) is Standing.BEHIND:
            anchored = kept(found)
            self._anchor.write(anchored)
        return anchored, frozen

    def _settle(self) -> None:
        """Bring the anchor up to date, under the lock, so that it never runs back."""
        with self._file.transaction() as database:
            _, frozen = self._settled(heads(ledger_rows.entries(database)))
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


def _find(known: list[Entry], space_version: str, slot: str) -> tuple[str, Signal | None]:
    """The slot by the clock of these entries, and the signal of it."""
    stored = {e.slot: e.signal for e in known if e.space_version == space_version and e.signal}
    if slot not in stored and known:
        slot = max(slot, known[-1].slot)
    record = stored.get(slot)
    return slot, None if record is None else decode_signal(space_version, record)


def _entry_of(signal: Signal, slot: str, charge: SignalCharge) -> Entry:
    return Entry(
        "signal",
        signal.space_version,
        slot,
        charge.epsilon,
        charge.epsilon_per_distance,
        _new_salt(),
        encode_signal(signal),
    )


def _new_salt() -> str:
    return SystemBits().read(_SALT_BYTES).hex()


def _is_signal_of(entry: Entry | Charge, slot: str) -> bool:
    return entry.kind == "signal" and entry.slot == slot


def _refusal(reason: str) -> str:
    return f"spending is frozen: {reason}. Nothing was drawn and nothing was sent"
