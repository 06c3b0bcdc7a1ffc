"""The ledger: an append-only list of charges and releases that survives crashes.

`docs/proofs/mark.md` goes through the crashes; `docs/ledger.md` says what an operator does where
ledger and mark differ.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import Self

from askew.dp.analyst import AnalystUsage, PayWhatYouGet
from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import NeighboringRelation
from askew.errors import LedgerError, LedgerRefused, ParameterError
from askew_server.folders import locked
from askew_server.ledger import acts, reading
from askew_server.ledger.acts import LedgerEntry
from askew_server.ledger.records import (
    AnalystBudget,
    Charge,
    ChargeRequest,
    Dataset,
    StoredRelease,
    check_name,
)
from askew_server.ledger.storage import storage_errors
from askew_server.ledger.store import Store

_LOOK_AGAIN = 0.05  # seconds between two looks at whether a key's turn is over
_PATIENCE = 10.0  # seconds to wait for another process


class Ledger:
    """One SQLite file for one operator and many data sets, and its mark, best on another disk.

    Safe for several processes and threads; not to be carried over a fork. Every method raises
    LedgerError when the file cannot be read, trusted or written; whatever fails, nothing is spent
    or the spend stays.
    """

    def __init__(self, path: Path, mark_path: Path, *, patience: float = _PATIENCE) -> None:
        """Open or make it. One that differs from its mark opens, for reading."""
        self._path = path
        self._store = Store(path, mark_path, patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    @property
    def refused(self) -> str | None:
        """Why nothing can be spent, or None."""
        return self._store.refused()

    def open_dataset(
        self,
        name: str,
        version: str,
        cap: PrivacyFilter,
        unit: str,
        neighbors: NeighboringRelation,
    ) -> Dataset:
        """Open a data set, or a new version of one, which inherits all that was spent.

        The same call again changes nothing. Unit, neighboring relation and slack are those of the
        first version; an old version takes no new charges. Raises LedgerError, ParameterError.
        """
        for kind, text in (("name", name), ("version", version), ("unit", unit)):
            check_name(kind, text)
        wanted = Dataset(name, version, replace(cap, neighbors=neighbors), unit)
        return self._store.append(
            lambda database: acts.find_dataset(database, wanted),
            lambda entry: acts.add_dataset(entry, wanted),
        )

    def grant(self, dataset: str, principal: str, terms: PayWhatYouGet) -> AnalystBudget:
        """Give an analyst a budget and charge its whole loss to the data set, at once.

        The same call again changes nothing; other terms are refused while the first are open.
        Raises BudgetExceeded, LedgerError, ParameterError.
        """
        check_name("principal", principal)
        wanted = AnalystBudget(dataset, principal, terms, AnalystUsage(), closed=False)
        return self._store.append(
            lambda database: acts.find_grant(database, wanted),
            lambda entry: acts.add_grant(entry, wanted),
        )

    def revoke(self, dataset: str, principal: str) -> AnalystBudget:
        """Close an analyst's budget: no question more is answered, and its loss stays charged.

        The same call again changes nothing. Raises LedgerError, also where nothing was granted.
        """
        return self._store.append(
            lambda database: acts.find_closed(database, dataset, principal),
            lambda entry: acts.add_revocation(entry, dataset, principal),
        )

    def charge(self, request: ChargeRequest) -> Charge | StoredRelease:
        """Spend durably, or give back what was released for the same request.

        A Charge is returned once in its life, to the one caller that may now draw. Raises
        KeyReused (the key stands for another request), ChargePending (charged, no release: spent
        for good), BudgetExceeded, LedgerRefused, LedgerError (no such data set, old version, other
        neighboring relation, storage), ParameterError (a loss that is not the analyst's terms).
        """

        def find(database: sqlite3.Connection) -> Charge | StoredRelease | None:
            return acts.find_release(database, request)

        def spend(entry: LedgerEntry) -> Charge | StoredRelease:
            return acts.add_charge(entry, request)

        return self._store.append(find, spend)

    def asked(self, request: ChargeRequest, *, again: bool = False) -> ChargeRequest:
        """A public request under the key of its newest charge, or under a new one where the
        operator asks `again`: nothing else makes another release of a request.
        """
        with self._store.transaction() as database:
            number = reading.count_charges(database, request) + again
        return request if number < 2 else replace(request, key=f"{request.key} {number}")

    def stored(self, request: ChargeRequest) -> StoredRelease | None:
        """What was released for a request, or None. Raises KeyReused, ChargePending."""
        with self._store.transaction() as database:
            return acts.find_release(database, request)

    @contextmanager
    def turn(
        self, request: ChargeRequest, wait: Callable[[float], object] = sleep
    ) -> Iterator[None]:
        """One caller at a time for a key, of all programs on this machine: the next one finds what
        the first has stored. It ends with its process, so a dead charge is waited for by nobody.

        wait: between two looks; what it returns ends the waiting if it is true, with a LedgerError.
        """
        names = (request.dataset, request.principal, request.key)
        mark = sha256(repr(names).encode()).hexdigest()[:16]
        folder = self._path.with_name(f"{self._path.name}.asked-{mark}")
        with storage_errors(self._path):
            folder.mkdir(mode=0o700, exist_ok=True)
            while (held := locked(folder)) is None:
                if wait(_LOOK_AGAIN):
                    raise LedgerError("the program is stopping")
                folder.mkdir(mode=0o700, exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):
                folder.rmdir()
            os.close(held)

    def foresee(self, request: ChargeRequest) -> StoredRelease | None:
        """What `charge` would give back without a spend, or None where it would spend.

        Changes nothing, and raises what `charge` would raise now.
        """
        found = self.stored(request)
        if found is not None:
            return found
        refused = self.refused
        if refused is not None:
            raise LedgerRefused(refused)
        with self._store.transaction() as database:
            acts.total_after(database, request, reading.spent_on(database, request.dataset))
        return None

    def sharers(self, dataset: str, place: bytes) -> tuple[str, ...]:
        """The other data sets that were charged for events of the same place, as far as charges
        say where theirs are. Their budgets do not know of each other.
        """
        with self._store.transaction() as database:
            return reading.sharers_of(database, dataset, place)

    def fulfill(self, charge_id: int, payload: bytes, outputs: int | None = None) -> StoredRelease:
        """Store the release of a charge, once; with a principal, settle to `outputs` symbols.

        Only when this returns may the payload be shown to anybody.
        Raises LedgerError (no such charge, fulfilled already, storage), ParameterError.
        """
        if not isinstance(payload, bytes):
            raise ParameterError("payload", type(payload).__name__, "bytes")
        return self._store.append(
            lambda _: None,
            lambda entry: acts.add_fulfilment(entry, charge_id, payload, outputs),
        )

    def datasets(self) -> tuple[Dataset, ...]:
        """Every data set, by name, with what is spent of its cap."""
        with self._store.transaction() as database:
            names = reading.dataset_names(database)
            return tuple(reading.newest_version(database, name) for name in names)

    def dataset(self, name: str) -> Dataset:
        """One data set. Raises LedgerError if there is none."""
        with self._store.transaction() as database:
            return reading.newest_version(database, name)

    def budgets(self, dataset: str | None = None) -> tuple[AnalystBudget, ...]:
        """Every grant, oldest first, closed ones among them."""
        with self._store.transaction() as database:
            return tuple(reading.analyst_budgets(database, dataset))

    def charges(self, dataset: str | None = None) -> tuple[Charge | StoredRelease, ...]:
        """Every charge, oldest first, fulfilled or not. Grants are in `budgets`."""
        with self._store.transaction() as database:
            return tuple(reading.all_paid(database, dataset))

    def accept(self) -> None:
        """Let a ledger that differs from its mark spend again: the operator's act, recorded.

        Each data set has then spent the larger of what the ledger and the mark say, and the budgets
        of analysts are closed. Raises LedgerError where ledger and mark agree.
        """
        self._store.accept()
