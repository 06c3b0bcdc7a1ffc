"""The device's ledger: what it sent and what that cost, in one SQLite file with a mark beside it.

A signal and its charge are written in one transaction, before anything is sent. So a crash loses
budget, never privacy, and a retry, a restart or a changed setting finds the stored signal. The
order is commit, mark, return (see `askew.dp.mark`): where an older copy of the file was put back,
and with it a budget that was spent, nothing more is drawn until the person continues here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from askew.dp.mark import ID_BYTES, MESSAGES, Mark, Standing, compare, encode, larger
from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import LedgerError, LedgerRefused, ParameterError, storage_reason
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.account import (
    Account,
    Entry,
    check_caps,
    check_month,
    clock,
    cost_of,
    months_between,
    sums_of,
)
from askew_client.signals.records import (
    SCHEMA,
    VERSION,
    append_entry,
    entry_of,
    find,
    last_entries,
    read_entries,
    signal_of,
)
from askew_client.storage.private_files import PrivateDatabase, check_own, replace_file
from askew_client.views.cost import Cost

_APPLICATION = 0x41736B77  # "Askw"
_FORMAT = (VERSION, SCHEMA)
_MARK_KEY = "device"  # the one name in the mark; its sums are of the three accounts
_SUMS = 3
MAX_JUMP = 12  # months; a clock that jumps further is not believed


class SignalStore:
    """Signals and charges of one device, and their mark. Safe for several processes at once:
    SQLite's write lock is the lock of both files.

    Every method raises LedgerError when the file cannot be read, trusted or written.
    """

    def __init__(self, path: Path, caps: Caps, mark: Path | None = None) -> None:
        """Make a store on this file, which is opened with each call. mark: by default in a
        directory of its own beside the file.
        """
        # A link may lead to another disk: what it names is replaced, not the link.
        self._mark = Path(os.path.realpath(mark or path.parent / "mark" / f"{path.stem}.json"))
        self._caps = caps
        self._file = PrivateDatabase(path, "ledger", _APPLICATION, *_FORMAT, LedgerError)

    def account(self) -> Account:
        """Return all entries of the ledger, oldest first, their sums, the caps, and why nothing
        more is spent, or None.
        """
        with self._file.transaction() as database:
            entries = read_entries(database)
            standing, _ = self._compare(database)
        spent, on_axes, per_km = sums_of(entries)
        refused = _refusal(standing)
        return Account(tuple(entries), spent, self._caps, refused, on_axes, per_km)

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry of the ledger, oldest first."""
        with self._file.transaction() as database:
            return tuple(read_entries(database))

    def accept(self, month: str) -> Fraction:
        """Continue here, with the ledger and the clock as they are, which is an entry of its own;
        return what that booked as epsilon of one rating, 0 where nothing was lost.

        What the mark knows beyond the ledger is booked in all accounts: the larger loss of ratings
        and of values on axes in both. It counts for life, and in no month. What was drawn elsewhere
        is not counted. The month becomes the ledger's clock.
        """
        check_month(month)
        with self._file.transaction() as database:
            entries = read_entries(database)
            _, mark = self._compare(database)
            here = sums_of(entries)
            all_of_it = larger({_MARK_KEY: here}, mark.spent)[_MARK_KEY]
            *plain, per_km = (most - had for most, had in zip(all_of_it, here, strict=True))
            lost = max(plain)  # such an entry has one column for both, so both book the larger
            entry = Entry("accept", "", month, lost, epsilon_per_km=per_km)
            # After the last that either knows: the mark's sequence only rises.
            last = max(last_entries(database)[0][0], mark.position[0])
            made = self._append(database, entries, last, entry)
        self._write_mark(made)
        return lost

    def _append(
        self, database: sqlite3.Connection, entries: Sequence[Entry], last: int, entry: Entry
    ) -> Mark:
        """Write an entry behind `entries`, and return the mark that is written once the entry is
        committed.
        """
        position = last + 1, SystemBits().read(ID_BYTES).hex()
        append_entry(database, position, entry)
        return Mark(position, {_MARK_KEY: sums_of([*entries, entry])})

    def _compare(self, database: sqlite3.Connection) -> tuple[Standing, Mark]:
        check_own(self._mark, "ledger's mark", LedgerError)
        try:
            content = self._mark.read_bytes()
        except FileNotFoundError:
            content = None
        except OSError:
            content = b""  # what cannot be read is damaged
        return compare(content, _SUMS, *last_entries(database))

    def _catch_up(self, database: sqlite3.Connection, entries: Sequence[Entry]) -> str | None:
        """Write the mark where it is one entry behind; return why nothing is spent, or None."""
        standing, _ = self._compare(database)
        if standing in {Standing.NEW, Standing.BEHIND}:
            self._replace(Mark(last_entries(database)[0], {_MARK_KEY: sums_of(entries)}))
        return _refusal(standing)

    def _write_mark(self, mark: Mark) -> None:
        """Write the mark of an entry that is committed, before anything comes of it. Raises
        LedgerRefused where another program wrote an entry first and the ledger differs from its
        mark.
        """
        with self._file.transaction() as database:
            if last_entries(database)[0] == mark.position:
                self._replace(mark)
                return
            refused = self._catch_up(database, read_entries(database))  # a rival came first
        if refused is not None:
            raise LedgerRefused(_nothing(refused))

    def _replace(self, mark: Mark) -> None:
        try:
            replace_file(self._mark, encode(mark))
        except OSError as error:
            reason = f"the ledger's mark {self._mark} cannot be written: {storage_reason(error)}"
            raise LedgerError(reason) from None

    def with_caps(self, caps: Caps) -> SignalStore:
        """Return a store on the same files under these caps."""
        return SignalStore(self._file.path, caps, self._mark)

    def find(self, space_version: str, month: str, handle: str = "") -> tuple[str, Signal | None]:
        """Return the month that counts by the ledger's clock, and the stored signal that is sent
        again in it; None where none is stored.
        """
        month, entry = find(self.entries(), space_version, month, handle)
        return month, None if entry is None else signal_of(entry)

    def cost(
        self, space_version: str, month: str, charge: SignalCharge, *, handle: str = ""
    ) -> Cost:
        """Return the cost of what `remember` would return now, a stored signal or a fresh one.
        Nothing is drawn or written.
        """
        return self._cost(self.entries(), space_version, month, charge, handle)[0]

    def _cost(
        self,
        entries: Sequence[Entry],
        space_version: str,
        month: str,
        charge: SignalCharge,
        handle: str,
    ) -> tuple[Cost, Signal | None]:
        month, entry = find(entries, space_version, month, handle)
        signal, kept = None, None
        if entry is not None:
            signal = signal_of(entry)
            drawn = SignalCharge(entry.epsilon_per_rating, entry.epsilon_per_km)
            kept = drawn, signal.mechanism
        return cost_of(entries, space_version, month, charge, self._caps, kept, handle), signal

    def remember(  # noqa: PLR0913  # what is drawn, what it costs, and what finds it again
        self,
        space_version: str,
        month: str,
        charge: SignalCharge,
        draw: Callable[[], Signal],
        *,
        handle: str = "",
        check: Callable[[Cost], None] | None = None,
    ) -> tuple[Signal, Cost]:
        """Return the stored signal of (space version, handle, month), or a fresh one, charged and
        stored first; and its cost, as the ledger stood before. handle: of a named value or place,
        else "". A place's signal is of no space and of every month, so its handle alone finds it:
        no server and no month draws another.

        The ledger's clock never runs back: a month before the last entry's counts as that one. A
        fresh signal is returned after the mark names its charge. Raises, before drawing,
        BudgetExceeded if the charge would pass a cap, LedgerRefused if the ledger differs from its
        mark or the clock jumped far ahead, and ParameterError for no month, or a charge that is not
        positive in one account: a place's, where it is of no space.

        check: raises for a cost that is not covered by what the person was shown. It is asked
        within the transaction, for a stored signal too: nothing comes between it and the charge.
        """
        if not charge.has_one_account or (charge.epsilon_per_rating == 0) != (
            space_version == ANY_SPACE
        ):
            raise ParameterError("charge", charge, "positive, in the account it is of")
        check_month(month)
        with self._file.transaction() as database:
            entries = read_entries(database)
            refused = self._catch_up(database, entries)
            cost, signal = self._cost(entries, space_version, month, charge, handle)
            if check is not None:
                check(cost)
            if signal is not None:
                return signal, cost
            self._check(refused, entries, cost.month)
            check_caps(cost)
            signal = draw()
            entry = entry_of("signal", signal, cost.month, charge, handle)
            mark = self._append(database, entries, last_entries(database)[0][0], entry)
        self._write_mark(mark)
        return signal, cost

    def _check(self, refused: str | None, entries: Sequence[Entry], month: str) -> None:
        """Raise LedgerRefused where `refused` says why, or the month is more than MAX_JUMP after
        the last entry's.
        """
        last = clock(entries)
        if refused is None and last and months_between(last, month) > MAX_JUMP:
            jump = f"the clock says {month}, and the last entry is of {last}"
            refused = f"{jump}: more than {MAX_JUMP} months later. Set it right, or continue here"
        if refused is not None:
            raise LedgerRefused(_nothing(refused))


def _refusal(standing: Standing) -> str | None:
    """Return why nothing is spent and what to do, or None."""
    if standing.may_spend:
        return None
    advice = "Put the newest copy back, or continue here: what was drawn elsewhere is not counted"
    return f"{MESSAGES[standing]}. {advice}"


def _nothing(reason: str) -> str:
    return f"{reason}. Nothing was drawn and nothing was sent"
