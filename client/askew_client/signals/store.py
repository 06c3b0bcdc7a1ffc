"""The device's ledger: what it sent and what that cost, in one SQLite file with a mark beside it.

A signal and its charge are written in one transaction, before anything is sent. So a crash loses
budget, never privacy, and a retry, a restart or a changed setting finds the stored signal. The
order is commit, mark, return (see `askew.dp.mark`): where an older copy of the file was put back,
and with it a budget that was spent, nothing more is drawn until the person continues here.

A signal is kept as

kind (1 byte: 1 lattice, 2 map), parameters, then the values; little-endian
lattice   step_exponent, inverse_rate (4 bytes each)
map       step_exponent, inverse_rate, cosine (4 bytes each)
values    4 bytes each, signed

A signal of tastes or axes is found by its space, the handle of a named value or "", and its month.
A place's is of no space and of every month: its random handle alone finds it, so no server, space,
region or month draws a second one.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from askew.dp.mark import (
    ID_BYTES,
    MESSAGES,
    START,
    Mark,
    Position,
    Standing,
    compare,
    encode,
    larger,
)
from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import AskewError, LedgerError, LedgerRefused, ParameterError, storage_reason
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.map import MapNoise
from askew_client.settings.settings import Caps
from askew_client.signals.account import (
    Account,
    Entry,
    check_caps,
    check_month,
    clock,
    cost_of,
    months_between,
    rational_of,
    sums_of,
)
from askew_client.storage.private_files import PrivateDatabase, check_own, replace_file
from askew_client.views.cost import Cost

_LATTICE, _MAP = struct.Struct("<BII"), struct.Struct("<BIII")


def encode_signal(signal: Signal) -> bytes:
    """Return a signal as bytes, little-endian: its kind (one byte, 1 lattice, 2 map),
    step_exponent, inverse_rate and, of a map, cosine (unsigned, 4 bytes each), then the values
    (signed, 4 bytes each); everything but the space's version.
    """
    mechanism = signal.mechanism
    match mechanism:
        case LatticeLaplace():
            head = _LATTICE.pack(1, mechanism.step_exponent, mechanism.inverse_rate)
        case MapNoise():
            lattice = mechanism.lattice
            head = _MAP.pack(2, lattice.step_exponent, lattice.inverse_rate, mechanism.cosine)
    return head + struct.pack(f"<{len(signal.values)}i", *signal.values)


def decode_signal(space_version: str, record: bytes) -> Signal:
    """Return the signal that `encode_signal` made this record of, in this space. Raises LedgerError
    for any other bytes.
    """
    try:
        mechanism, values = _parts(record)
        return Signal(space_version, mechanism, struct.unpack(f"<{len(values) // 4}i", values))
    except (struct.error, AskewError):
        raise LedgerError("a stored signal is damaged; it is not sent and not redrawn") from None


def _parts(record: bytes) -> tuple[Mechanism, bytes]:
    match record[:1]:
        case b"\x01":
            _, step_exponent, inverse_rate = _LATTICE.unpack_from(record)
            return LatticeLaplace(step_exponent, inverse_rate), record[_LATTICE.size :]
        case b"\x02":
            _, step_exponent, inverse_rate, cosine = _MAP.unpack_from(record)
            lattice = HexagonalLattice(step_exponent, inverse_rate)
            return MapNoise(lattice, cosine), record[_MAP.size :]
        case _:
            raise struct.error  # as for bytes that are too few


VERSION = 6
# `PrivateDatabase` splits at ";\n": a ";" elsewhere, as a trigger's, must not end a line.
SCHEMA = """
CREATE TABLE charges (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    id TEXT NOT NULL CHECK (length(id) = 32),
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'accept')),
    space_version TEXT NOT NULL,
    handle TEXT NOT NULL,
    month TEXT NOT NULL,
    epsilon_per_rating TEXT NOT NULL
        CHECK (epsilon_per_rating GLOB '[1-9]*' OR epsilon_per_rating = '0'),
    epsilon_per_km TEXT NOT NULL CHECK (epsilon_per_km GLOB '[1-9]*' OR epsilon_per_km = '0'),
    CHECK (
        kind = 'accept'
        OR (kind = 'signal' AND (epsilon_per_rating = '0') <> (epsilon_per_km = '0'))
    )
) STRICT;
CREATE UNIQUE INDEX one_signal ON charges (space_version, handle, month) WHERE kind <> 'accept';
CREATE UNIQUE INDEX one_place ON charges (handle)
    WHERE kind <> 'accept' AND space_version = '';
CREATE TABLE signals (
    charge INTEGER PRIMARY KEY REFERENCES charges (sequence),
    record BLOB NOT NULL
) STRICT;
""" + ";\n".join(
    f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for table in ("charges", "signals")
    for verb in ("UPDATE", "DELETE")
)
_COLUMNS = "kind, space_version, month, epsilon_per_rating, handle, epsilon_per_km"


def read_entries(database: sqlite3.Connection) -> list[Entry]:
    """Return every entry of the ledger, oldest first; [] for a new one. Raises LedgerError for what
    this program never writes.
    """
    rows = database.execute(
        f"SELECT record, {_COLUMNS} FROM charges"  # noqa: S608  # a constant
        " LEFT JOIN signals ON charge = sequence ORDER BY sequence"
    )
    entries = []
    try:
        for record, kind, space_version, month, per_rating, handle, per_km in rows:
            check_month(month)
            spent, spent_per_km = rational_of(per_rating), rational_of(per_km)
            entries.append(Entry(kind, space_version, month, spent, record, handle, spent_per_km))
        return entries
    except (ValueError, TypeError, ParameterError):
        raise LedgerError("the ledger is damaged; it is not used") from None


def _last_entries(database: sqlite3.Connection) -> tuple[Position, Position | None]:
    # Of the last entry and of the one before it, as `askew.dp.mark.compare` takes them.
    newest = "SELECT sequence, id FROM charges ORDER BY sequence DESC LIMIT 2"
    # No entry: START, None; one: it, START; more: the last two.
    end, before, *_ = (*database.execute(newest), START, None)
    return end, before


def find(
    entries: Sequence[Entry], space_version: str, month: str, handle: str
) -> tuple[str, Entry | None]:
    """Return the month that counts, and the entry whose signal is sent again in it, or None.

    That is `month` where `stored` finds a signal of it, though the clock be past it: what was sent
    then is free. Else it is the later of `month` and the clock, the last entry's month.
    """
    entry = stored(entries, space_version, handle, month)
    if entry is None:
        month = max(month, clock(entries))
        entry = stored(entries, space_version, handle, month)
    return month, entry


def stored(entries: Sequence[Entry], space_version: str, handle: str, month: str) -> Entry | None:
    """Return the first entry with a signal of this space, handle and month, a place's of any month;
    None where there is none.
    """
    for entry in entries:
        key, is_of_month = (entry.space_version, entry.handle), entry.lasts or entry.month == month
        if key == (space_version, handle) and is_of_month and entry.signal is not None:
            return entry
    return None


def signal_of(entry: Entry) -> Signal:
    """Return the signal of an entry. Raises LedgerError for a record that is damaged."""
    return decode_signal(entry.space_version, entry.signal or b"")


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
        """Return the Account: entries, a tuple, oldest first, caps, refused, why nothing more is
        spent, or None, and the sums spent (of ratings), spent_on_axes and spent_per_km.
        """
        with self._file.transaction() as database:
            entries = read_entries(database)
            standing, _ = self._compare(database)
        return Account(tuple(entries), self._caps, _refusal(standing), *sums_of(entries))

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry of the ledger, oldest first."""
        with self._file.transaction() as database:
            return tuple(read_entries(database))

    def accept(self, month: str) -> Fraction:
        """Continue here, by an entry "accept" of this month, "2026-11", which is the ledger's clock
        from then on, also if it is earlier. Return the epsilon of one rating that it books, 0 where
        the mark knows no more than the ledger.

        What the mark knows beyond the ledger is booked in all accounts: the larger loss of ratings
        and of values on axes in both. It counts for life, and in no month. Raises ParameterError
        for no month.
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
            last = max(_last_entries(database)[0][0], mark.position[0])
            made = self._append(database, entries, last, entry)
        self._write_mark(made)
        return lost

    def _append(
        self, database: sqlite3.Connection, entries: Sequence[Entry], last: int, entry: Entry
    ) -> Mark:
        position = last + 1, SystemBits().read(ID_BYTES).hex()
        values = (
            *position,
            *(entry.kind, entry.space_version, entry.month),
            *(str(entry.epsilon_per_rating), entry.handle, str(entry.epsilon_per_km)),
        )
        database.execute(
            f"INSERT INTO charges (sequence, id, {_COLUMNS})"  # noqa: S608  # a constant
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        if entry.signal is not None:
            database.execute("INSERT INTO signals VALUES (?, ?)", (position[0], entry.signal))
        return Mark(position, {_MARK_KEY: sums_of([*entries, entry])})

    def _compare(self, database: sqlite3.Connection) -> tuple[Standing, Mark]:
        check_own(self._mark, "ledger's mark", LedgerError)
        try:
            content = self._mark.read_bytes()
        except FileNotFoundError:
            content = None
        except OSError:
            content = b""  # what cannot be read is damaged
        return compare(content, _SUMS, *_last_entries(database))

    def _catch_up(self, database: sqlite3.Connection, entries: Sequence[Entry]) -> str | None:
        standing, _ = self._compare(database)
        if standing in {Standing.NEW, Standing.BEHIND}:
            self._replace(Mark(_last_entries(database)[0], {_MARK_KEY: sums_of(entries)}))
        return _refusal(standing)

    def _write_mark(self, mark: Mark) -> None:
        # Before anything comes of the entry, which is committed.
        with self._file.transaction() as database:
            if _last_entries(database)[0] == mark.position:
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

    def find(self, space_version: str, month: str, handle: str = "") -> Signal | None:
        """Return the stored signal of this space, handle and month, a place's of any month; where
        there is none, that of the month of the ledger's last entry, if that is later, or None.
        """
        _, entry = find(self.entries(), space_version, month, handle)
        return None if entry is None else signal_of(entry)

    def cost(
        self, space_version: str, month: str, charge: SignalCharge, *, handle: str = ""
    ) -> Cost:
        """Return the cost that `remember` would return now, as `cost_of`, of a stored signal or a
        fresh one, with a cap that would refuse it in `refused`. Nothing is drawn or written.
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
        """Return the stored signal that `find` finds, or a fresh one, charged and stored first; and
        its cost, as the ledger stood before. handle: of a value on axes or a place, named or not;
        "" of a taste. A place's signal is of no space ("") and of every month.

        The ledger's clock never runs back: a month before the last entry's counts as that one.
        Raises ParameterError for no month, or a charge that is not positive in one account (a
        place's, where it is of no space); and, before a fresh one is drawn, BudgetExceeded if the
        charge would pass a cap, LedgerRefused if the ledger differs from its mark or the month is
        more than 12 after its clock.

        check: raises for a cost that is not covered by what the person was shown. It is asked
        within the transaction, for a stored signal too: nothing comes between it and the charge.
        """
        own, other = charge.epsilon_per_rating, charge.epsilon_per_km
        if space_version == ANY_SPACE:
            own, other = other, own
        if not own > 0 == other:
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
            entry = Entry(
                "signal",
                signal.space_version,
                cost.month,
                charge.epsilon_per_rating,
                encode_signal(signal),
                handle,
                charge.epsilon_per_km,
            )
            mark = self._append(database, entries, _last_entries(database)[0][0], entry)
        self._write_mark(mark)
        return signal, cost

    def _check(self, refused: str | None, entries: Sequence[Entry], month: str) -> None:
        last = clock(entries)
        if refused is None and last and months_between(last, month) > MAX_JUMP:
            jump = f"the clock says {month}, and the last entry is of {last}"
            refused = f"{jump}: more than {MAX_JUMP} months later. Set it right, or continue here"
        if refused is not None:
            raise LedgerRefused(_nothing(refused))


def _refusal(standing: Standing) -> str | None:
    if standing.may_spend:
        return None
    advice = "Put the newest copy back, or continue here: what was drawn elsewhere is not counted"
    return f"{MESSAGES[standing]}. {advice}"


def _nothing(reason: str) -> str:
    return f"{reason}. Nothing was drawn and nothing was sent"
