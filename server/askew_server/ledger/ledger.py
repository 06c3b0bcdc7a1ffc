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
from time import sleep

from askew.dp.analyst import AnalystUsage, PayWhatYouGet
from askew.dp.composition import PrivacyFilter, RunningLoss
from askew.dp.privacy import BoundedRange, NeighboringRelation, PureDP
from askew.errors import ChargePending, KeyReused, LedgerError, LedgerRefused, ParameterError
from askew_server.folders import locked
from askew_server.ledger import reading
from askew_server.ledger.records import (
    AnalystBudget,
    Charge,
    ChargeRequest,
    Dataset,
    StoredRelease,
    check_name,
    text_of,
)
from askew_server.ledger.store import Store, storage_errors

_LOOK_AGAIN = 0.05  # seconds between two looks at whether a key's lock is free


class Ledger(Store):
    """One SQLite file for one operator and many data sets, and its mark, best on another disk.

    Safe for several processes and threads; not to be carried over a fork. Every method raises
    LedgerError when the file cannot be read, trusted or written; whatever fails, nothing is spent
    or the spend stays. A call of `open_dataset`, `grant` or `revoke` that is repeated changes
    nothing.
    """

    def open_dataset(
        self,
        name: str,
        version: str,
        cap: PrivacyFilter,
        unit: str,
        neighbors: NeighboringRelation,
    ) -> Dataset:
        """Open a data set, or a new version of one, which inherits all that was spent; return it.
        The newest version on the same terms is returned as it is. Unit, neighboring relation and
        slack are those of the first version; an old version takes no new charges. Raises
        LedgerError for other terms or an old version, ParameterError for a name.
        """
        for kind, text in (("name", name), ("version", version), ("unit", unit)):
            check_name(kind, text)
        wanted = Dataset(name, version, replace(cap, neighbors=neighbors), unit)
        with self._appending() as act:
            versions = reading.versions_of(act.database, name)
            if version in [opened.version for opened in versions]:
                if replace(versions[0], cap=replace(versions[0].cap, order=cap.order)) != wanted:
                    raise LedgerError(
                        f"version {version!r} of {name!r} was opened with other terms, or is"
                        " no longer the newest: open a new version"
                    )
                return reading.newest_version(act.database, name)
            act.begin()
            order = cap.order
            if versions:
                first = versions[-1]
                if (first.unit, first.neighbors, first.cap.slack) != (unit, neighbors, cap.slack):
                    raise LedgerError(
                        f"a new version of {name!r} keeps its unit, neighboring relation and slack:"
                        " name those of the first, or none"
                    )
                order = first.cap.order  # a filter fixes the order of its conversion
            rationals = [text_of(value) for value in (cap.epsilon, cap.delta, cap.slack)]
            terms = (unit, neighbors.name, *rationals, None if order is None else text_of(order))
            act.insert("datasets", name, version, *terms)
            return reading.newest_version(act.database, name)

    def grant(self, dataset: str, principal: str, terms: PayWhatYouGet) -> AnalystBudget:
        """Give an analyst a budget, charge its whole loss to the data set at once, and return the
        budget. While one is open, the same terms return it, uncharged, and others are refused
        (LedgerError). Raises BudgetExceeded (the data set's cap), LedgerError (no such data set,
        another neighboring relation, storage), ParameterError (a principal that `check_name`
        refuses).
        """
        check_name("principal", principal)
        with self._appending() as act:
            budget = reading.newest_budget(act.database, dataset, principal)
            if budget is not None and not budget.closed:
                if budget.terms != terms:
                    raise LedgerError(
                        f"{principal!r} has a budget for {dataset!r} on other terms: close it by"
                        " `askew-server ledger revoke` before you grant another, which is charged"
                        " anew"
                    )
                return budget
            act.begin()
            newest = reading.newest_version(act.database, dataset)
            if terms.neighbors is not newest.neighbors:
                raise LedgerError(
                    f"the budget of {dataset!r} is for {newest.neighbors.name}, and analysts are"
                    f" answered for {terms.neighbors.name} alone: open a data set of that relation"
                )
            after = newest.cap.after(newest.running, terms.grant())
            rationals = map(text_of, (terms.epsilon, terms.delta, terms.slack))
            act.insert("grants", dataset, principal, terms.k_star, terms.l_star, *rationals)
            act.add_total(dataset, after)
            return AnalystBudget(dataset, principal, terms, AnalystUsage(), closed=False)

    def revoke(self, dataset: str, principal: str) -> AnalystBudget:
        """Close an analyst's newest budget, if it is open, and return it: no question more is
        answered, and its loss stays charged. Raises LedgerError where nothing was granted.
        """
        with self._appending() as act:
            budget = reading.newest_budget(act.database, dataset, principal)
            if budget is None:
                raise LedgerError(f"{principal!r} has no budget for {dataset!r}")
            if not budget.closed:
                act.begin()
                act.insert("revocations", dataset, principal)
            return replace(budget, closed=True)

    def charge(self, request: ChargeRequest) -> Charge | StoredRelease:
        """Spend durably and return the charge, or return what was released for the same request.

        A Charge is returned once in its life, to the one caller that may now draw; its `id` is the
        number of the act, of which openings, grants and releases are some too. Raises KeyReused
        (the key stands for another request), ChargePending (charged, no release: spent for good),
        BudgetExceeded, LedgerRefused, LedgerError (no such data set, old version, other neighboring
        relation, storage), ParameterError (a loss that is not the analyst's terms).
        """
        loss = request.loss
        with self._appending() as act:
            stored = _stored(act.database, request)
            if stored is not None:
                return stored
            number = act.begin()
            after = _total_after(act.database, request)
            if after is not None:
                act.add_total(request.dataset, after)
            act.insert(
                "charges",
                *(request.dataset, request.version, request.principal or "", request.key),
                *(request.digest, text_of(loss.epsilon)),
                None if isinstance(loss, PureDP) else text_of(loss.delta),
                loss.rounds if isinstance(loss, BoundedRange) else None,
                *(request.place, request.day),
            )
            return Charge(number, request)

    def newest_request(self, request: ChargeRequest, *, again: bool = False) -> ChargeRequest:
        """Return a public request under the key of its newest charge, or under the next key where
        the operator asks `again`: nothing else makes another release of a request. Its keys are
        KEY, "KEY 2", "KEY 3"; without a charge it comes back as it is.
        """
        query = "SELECT count(*) FROM charges WHERE (dataset, principal, digest) = (?, '', ?)"
        with self._transaction() as database:
            [charged] = database.execute(query, (request.dataset, request.digest)).fetchone()
        number = charged + again
        return request if number < 2 else replace(request, key=f"{request.key} {number}")

    def stored(self, request: ChargeRequest) -> StoredRelease | None:
        """Return what was released for a request, with is_repeat True, or None where it was never
        charged. Raises KeyReused (its key stands for another request) and ChargePending (charged,
        and no release).
        """
        with self._transaction() as database:
            return _stored(database, request)

    @contextmanager
    def lock(
        self, request: ChargeRequest, wait: Callable[[float], object] = sleep
    ) -> Iterator[None]:
        """Run the body of a `with` while no other caller, of any program on this machine, has the
        lock of the request's key: the next one gets what the first has stored. A lock ends with its
        process: nobody waits for a dead charge.

        wait: between two looks; what it returns ends the waiting if it is true, with a LedgerError.
        """
        names = (request.dataset, request.principal, request.key)
        mark = sha256(repr(names).encode()).hexdigest()[:16]
        folder = self._path.with_name(f"{self._path.name}.asked-{mark}")
        with storage_errors(self._path):
            folder.mkdir(mode=0o700, exist_ok=True)
            while (lock := locked(folder)) is None:
                if wait(_LOOK_AGAIN):
                    raise LedgerError("the program is stopping")
                folder.mkdir(mode=0o700, exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):
                folder.rmdir()
            os.close(lock)

    def preview(self, request: ChargeRequest) -> StoredRelease | None:
        """Return the stored release that `charge` would return for a request, or None where it
        would spend. Changes nothing, and raises what `charge` would raise now: KeyReused,
        ChargePending, BudgetExceeded, LedgerRefused, LedgerError, ParameterError.
        """
        stored = self.stored(request)
        if stored is not None:
            return stored
        refused = self.refused
        if refused is not None:
            raise LedgerRefused(refused)
        with self._transaction() as database:
            _total_after(database, request)
        return None

    def datasets_sharing(self, dataset: str, place: bytes) -> tuple[str, ...]:
        """Return the names, sorted, of the other data sets that were charged for events of the same
        place, as far as charges say where theirs are. Their budgets do not know of each other.
        """
        query = "SELECT DISTINCT dataset FROM charges WHERE dataset != ? AND place = ? ORDER BY 1"
        with self._transaction() as database:
            return tuple(name for (name,) in database.execute(query, (dataset, place)))

    def fulfill(self, charge_id: int, payload: bytes, outputs: int | None = None) -> StoredRelease:
        """Store the release of a charge, once, and return it; of a charge on an analyst's budget,
        count `outputs` as spent instead of what was reserved. Only then may the payload be shown to
        anybody. Raises LedgerError (no such charge, fulfilled already, storage), ParameterError (on
        a budget, unless outputs is from 1 to what was reserved; without a principal, unless None).
        """
        with self._appending() as act:
            act.begin()
            charges = reading.charges_where(act.database, "c.sequence = ?", charge_id)
            if not charges:
                raise LedgerError(f"there is no charge {charge_id}")
            [paid] = charges
            if isinstance(paid, StoredRelease):
                raise LedgerError(f"charge {charge_id} has its release already")
            request = paid.request
            if request.principal is not None and isinstance(request.loss, BoundedRange):
                budget = reading.newest_budget(act.database, request.dataset, request.principal)
                if budget is not None:  # it was charged on one
                    budget.terms.settle(budget.answered, request.loss.rounds, outputs)
            elif outputs is not None:
                raise ParameterError("outputs", outputs, "None for a charge without a principal")
            act.insert("fulfilments", charge_id, payload, outputs)
            return StoredRelease(charge_id, request, payload, outputs)

    def datasets(self) -> tuple[Dataset, ...]:
        """Return the newest version of every data set, sorted by name, with what is spent of its
        cap.
        """
        with self._transaction() as database:
            names = database.execute("SELECT DISTINCT name FROM datasets ORDER BY 1").fetchall()
            return tuple(reading.newest_version(database, name) for (name,) in names)

    def dataset(self, name: str) -> Dataset:
        """Return the newest version of one data set, with what is spent of its cap. Raises
        LedgerError if there is none of this name.
        """
        with self._transaction() as database:
            return reading.newest_version(database, name)

    def budgets(self, dataset: str | None = None) -> tuple[AnalystBudget, ...]:
        """Return every grant for one data set, or for all, the oldest first, closed ones among
        them; () for a name that there is not.
        """
        with self._transaction() as database:
            return tuple(reading.analyst_budgets(database, dataset))

    def charges(self, dataset: str | None = None) -> tuple[Charge | StoredRelease, ...]:
        """Return every charge of one data set, or of all, the oldest first: a StoredRelease where
        there is a release, else a Charge; () for a name that there is not. Grants are in `budgets`.
        """
        with self._transaction() as database:
            condition = "?1 IS NULL OR c.dataset = ?1"
            return tuple(reading.charges_where(database, condition, dataset))


def _stored(database: sqlite3.Connection, request: ChargeRequest) -> StoredRelease | None:
    names = (request.dataset, request.principal or "", request.key)
    condition = "(c.dataset, c.principal, c.key) = (?, ?, ?)"
    charges = reading.charges_where(database, condition, *names)
    if not charges:
        return None
    [paid] = charges
    if paid.request != request:
        raise KeyReused(f"the key {request.key!r} stands for another request")
    if isinstance(paid, Charge):
        raise ChargePending(
            f"charge {paid.id} paid for this request and has no release: it is"
            " still being made, or its program ended before it was stored, and what it spent stays"
            " spent. --again makes another, which is paid"
        )
    return replace(paid, is_repeat=True)


def _total_after(database: sqlite3.Connection, request: ChargeRequest) -> RunningLoss | None:
    # None is for an analyst's question, which its grant has paid.
    name, loss = request.dataset, request.loss
    newest = reading.newest_version(database, name)
    if request.version != newest.version:
        raise LedgerError(
            f"{name!r} is at version {newest.version!r}; {request.version!r} takes no new charges"
        )
    if loss.neighbors is not newest.neighbors:
        raise LedgerError(
            f"the budget of {name!r} is for {newest.neighbors.name}, the loss for"
            f" {loss.neighbors.name}"
        )
    if request.principal is None:
        return newest.cap.after(newest.running, loss)
    budget = reading.newest_budget(database, name, request.principal)
    if budget is None or budget.closed:
        raise LedgerError(f"{request.principal!r} has no budget for {name!r}")
    rounds = loss.rounds if isinstance(loss, BoundedRange) else 1
    if loss != budget.terms.answer(rounds):
        raise ParameterError("loss", loss, f"the analyst's, {budget.terms.answer(rounds)}")
    budget.terms.reserve(budget.answered, rounds)
    return None
