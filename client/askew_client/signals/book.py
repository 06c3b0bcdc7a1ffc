"""The device's ledger as an account: what was charged, and whether that is believed.

Without signals: what they are made of is loaded where one is drawn or sent.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path

from askew.errors import LedgerError, LedgerFrozen
from askew.noise.randomness import SystemBits
from askew_client.settings.ranges import Caps
from askew_client.signals import rows as ledger_rows
from askew_client.signals.account import Account, Charge
from askew_client.signals.anchor import Anchor
from askew_client.signals.chain import (
    Anchored,
    Entry,
    Head,
    Standing,
    heads,
    kept,
    standing,
)
from askew_client.signals.slots import check_slot
from askew_client.storage.private_database import PrivateDatabase

_ROUND = 2**20
_FORMAT = (ledger_rows.VERSION, ledger_rows.SCHEMA)
_SALT_BYTES = 32


class LedgerBook:
    """The charges of one device and their anchor. Safe for several processes at once.

    Every method raises LedgerError when the file cannot be read, trusted or written.
    """

    def __init__(self, path: Path, caps: Caps, anchor: Path | None = None) -> None:
        """anchor: by default in a directory of its own beside the file."""
        self._anchor = Anchor(anchor or path.parent / "anchor" / f"{path.stem}.json")
        self._caps = caps
        self._file = PrivateDatabase(path, "ledger", 0x41736B77, *_FORMAT, LedgerError)

    def account(self) -> Account:
        """Every charge, oldest first, their sum, and whether spending is frozen."""
        with self._file.transaction() as database:
            known = ledger_rows.entries(database)
            _, frozen = self._compare(heads(known))
        charges = tuple(
            Charge(
                *(e.space_version, e.slot, e.epsilon, e.epsilon_per_distance),
                *(e.kind, e.epsilon_per_km, e.handle),
            )
            for e in known
        )
        last = heads(known)[-1]
        return Account(charges, last.spent, self._caps, frozen or None, last.spent_per_km)

    def charges(self) -> tuple[Charge, ...]:
        """Every charge, oldest first."""
        return self.account().charges

    def spent(self) -> Fraction:
        """The sum of every charge, epsilon between any two people."""
        return self.account().spent

    def unfreeze(self, slot: str) -> Fraction:
        """Accept the ledger and the clock as they are, which is an entry of its own.

        What the anchor remembers and the ledger lost is booked in both accounts, rounded up: an
        older copy does not give budget back. What was booked in plain epsilon is returned. The slot
        becomes the ledger's clock.
        """
        check_slot(slot)
        with self._file.transaction() as database:
            found = heads(ledger_rows.entries(database))
            anchored, _ = self._settled(found)  # what is damaged remembers nothing
            known = anchored or kept(found)
            lost = _rounded_up(known.spent - found[-1].spent)
            per_km = _rounded_up(known.spent_per_km - found[-1].spent_per_km)
            entry = Entry("unfreeze", "", slot, lost, None, salt(), epsilon_per_km=per_km)
            self._append(database, anchored, found[-1], entry)
        self._settle()
        return lost

    def _append(
        self, database: sqlite3.Connection, anchored: Anchored | None, head: Head, entry: Entry
    ) -> Head:
        """Write an entry and announce its link: the last step before the commit."""
        following = ledger_rows.append(database, head, entry)
        self._anchor.write(replace(anchored or Anchored(), announced=following.link))
        return following

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
            raise LedgerFrozen(refusal(frozen))


def _rounded_up(lost: Fraction) -> Fraction:
    return max(Fraction(0), Fraction(ceil(lost * _ROUND), _ROUND))


def salt() -> str:
    """What goes into an entry beside what it says, so that its link tells nothing of it."""
    return SystemBits().read(_SALT_BYTES).hex()


def refusal(reason: str) -> str:
    """Why nothing is spent, in words."""
    return f"spending is frozen: {reason}. Nothing was drawn and nothing was sent"
