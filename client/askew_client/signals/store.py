"""The device's ledger: what it sent and what that cost, in one SQLite file with an anchor.

A signal and its charge are written in one transaction, before anything is sent. So a crash loses
budget, never privacy, and a retry, a restart or a changed setting finds the stored signal. The
charges form a chain that the anchor knows too (see `chain`): the order is announce in the anchor,
commit, keep in the anchor, return. Who puts back an older copy of the file, and with it a budget
that was spent, or writes an entry that gives some back, finds that nothing more is spent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import LedgerError, LedgerFrozen, ParameterError, SecondSpace
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.account import (
    Account,
    check_caps,
    check_month,
    clock,
    months_between,
    price_of,
)
from askew_client.signals.chain import (
    Anchor,
    Anchored,
    Entry,
    Head,
    Standing,
    heads,
    kept,
    standing,
    trusted,
)
from askew_client.signals.records import (
    SCHEMA,
    VERSION,
    append_entry,
    entry_of,
    find,
    read_entries,
)
from askew_client.storage.private_files import PrivateDatabase
from askew_client.views.quote import Price

_ROUND = 2**20
_FORMAT = (VERSION, SCHEMA)
_SALT_BYTES = 32
MAX_JUMP = 12  # months; a clock that jumps further is not believed


class SignalStore:
    """Signals and charges of one device, and their anchor. Safe for several processes at once.

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
            known = read_entries(database)
            found = heads(known)
            _, frozen = self._compare(found)
        last = found[-1]
        return Account(tuple(known), last.spent, self._caps, frozen or None, last.spent_per_km)

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, oldest first."""
        return self.account().entries

    def _read(self) -> tuple[list[Entry], list[Entry]]:
        """Every entry, and of these the ones that the anchor knows: no others are sent."""
        with self._file.transaction() as database:
            known = read_entries(database)
            found = heads(known)
            anchored, _ = self._compare(found)
        return known, known[: trusted(found, anchored)]

    def unfreeze(self, month: str) -> Fraction:
        """Accept the ledger and the clock as they are, which is an entry of its own.

        What the anchor remembers and the ledger lost is booked in both accounts, rounded up: an
        older copy does not give budget back. What was booked in plain epsilon is returned. The
        month becomes the ledger's clock.
        """
        check_month(month)
        with self._file.transaction() as database:
            found = heads(read_entries(database))
            anchored, _ = self._settled(found)  # what is damaged remembers nothing
            known = anchored or kept(found)
            lost = _rounded_up(known.spent - found[-1].spent)
            per_km = _rounded_up(known.spent_per_km - found[-1].spent_per_km)
            entry = Entry("unfreeze", "", month, lost, None, salt(), epsilon_per_km=per_km)
            self._append(database, anchored, found[-1], entry)
        self._settle()
        return lost

    def _append(
        self, database: sqlite3.Connection, anchored: Anchored | None, head: Head, entry: Entry
    ) -> Head:
        """Write an entry and announce its link: the last step before the commit."""
        following = append_entry(database, head, entry)
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
            _, frozen = self._settled(heads(read_entries(database)))
        if frozen:
            raise LedgerFrozen(refusal(frozen))

    def with_caps(self, caps: Caps) -> SignalStore:
        """The same store under other caps."""
        return SignalStore(self._file.path, caps, self._anchor.path)

    def find(self, space_version: str, month: str, handle: str = "") -> tuple[str, Signal | None]:
        """The month by the ledger's clock, and the signal that would be sent again, if any."""
        return find(self._read()[1], space_version, month, handle)

    def price(
        self, space_version: str, month: str, charge: SignalCharge, *, handle: str = ""
    ) -> Price:
        """What `remember` would find and charge now. Nothing is drawn, charged or written."""
        known, own = self._read()
        month, signal = find(own, space_version, month, handle)
        return price_of(known, space_version, month, charge, self._caps, signal)

    def remember(  # noqa: PLR0913  # what is drawn, what it costs, and what finds it again
        self,
        space_version: str,
        month: str,
        charge: SignalCharge,
        draw: Callable[[], Signal],
        *,
        handle: str = "",
        second_space: bool = False,
        check: Callable[[Price], None] | None = None,
    ) -> tuple[Signal, Price]:
        """The stored signal of (space version, handle, month), or a fresh one, charged and stored
        first, and what the ledger said of it before. handle: of a named value or place, else "". A
        place's signal is of no space and of every month, so its handle alone finds it: no server
        and no month draws another.

        The ledger's clock never runs back: a month before the last entry's counts as that one. It
        returns after the anchor names the charge. Raises, before drawing, BudgetExceeded if the
        charge would pass a cap, SecondSpace if the month has a signal of another space and
        `second_space`, the person's yes, is not given, LedgerFrozen if the ledger lost something or
        the clock jumped far ahead, and ParameterError for no month, or a charge that is not
        positive in one account: a place's, where it is of no space.

        check: raises for a price that is not the one that the person was shown. It is asked within
        the transaction, for a stored signal too: nothing comes between it and the charge.
        """
        if not charge.has_one_account or (charge.epsilon == 0) != (space_version == ANY_SPACE):
            raise ParameterError("charge", charge.epsilon, "positive, in the account it is of")
        check_month(month)
        with self._file.transaction() as database:
            known = read_entries(database)
            found = heads(known)
            anchored, frozen = self._settled(found)
            month, signal = find(known[: trusted(found, anchored)], space_version, month, handle)
            price = price_of(known, space_version, month, charge, self._caps, signal)
            if check is not None:
                check(price)
            if signal is not None:
                return signal, price
            self._check(frozen, known, month)
            check_caps(price)
            if price.second_space and not second_space:
                raise SecondSpace(month)
            signal = draw()
            entry = entry_of("signal", signal, month, charge, handle, salt())
            self._append(database, anchored, found[-1], entry)
        self._settle()
        return signal, price

    def _check(self, frozen: str, known: list[Entry], month: str) -> None:
        """Raises LedgerFrozen where nothing is spent: the ledger, or the clock, is not believed."""
        last = clock(known)
        if not frozen and last and months_between(last, month) > MAX_JUMP:
            jump = f"the clock says {month}, and the last entry is of {last}"
            frozen = f"{jump}: more than {MAX_JUMP} months later"
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
