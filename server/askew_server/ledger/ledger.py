"""The ledger: an append-only list of charges and releases that survives crashes."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from askew.odometer import PayWhatYouGet, PrivacyBudget
from askew.privacy import NeighboringRelation
from askew_server.ledger.records import AnalystBudget, Charge, ChargeRequest, Dataset, StoredRelease


class Ledger:
    """One SQLite file for one operator and many data sets, and its anchor on another disk.

    Safe for several processes and threads. Every method raises LedgerError when the file cannot be
    read, trusted or written; whatever fails, nothing is spent or the spend stays.
    """

    def __init__(self, path: Path, anchor_path: Path) -> None:
        """Open or make it, and verify the whole chain. Never raises for a frozen ledger."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""

    @property
    def frozen(self) -> str | None:
        """Why nothing can be spent, or None."""
        raise NotImplementedError

    def open_dataset(
        self,
        name: str,
        version: str,
        cap: PrivacyBudget,
        unit: str,
        neighbors: NeighboringRelation,
    ) -> Dataset:
        """Open a data set, or a new version of one, which inherits all that was spent.

        The same call again changes nothing. Unit, neighbors and slack are those of the first
        version; an old version takes no new charges. Raises LedgerError, ParameterError.
        """
        raise NotImplementedError

    def grant(self, dataset: str, principal: str, terms: PayWhatYouGet) -> AnalystBudget:
        """Give an analyst a budget and charge its whole loss to the data set, at once.

        The same call again changes nothing; other terms are refused.
        Raises BudgetExceeded, LedgerError, ParameterError.
        """
        raise NotImplementedError

    def charge(self, request: ChargeRequest) -> Charge | StoredRelease:
        """Spend durably, or give back what was released for the same request.

        A Charge is returned once in its life, to the one caller that may now draw. Raises
        KeyReused (the key stands for another request), ChargePending (charged, no release: spent
        for good), BudgetExceeded, LedgerFrozen, LedgerError (no such data set, old version, other
        neighboring relation, storage), ParameterError (a loss that is not the analyst's terms).
        """
        raise NotImplementedError

    def fulfill(self, charge_id: int, payload: bytes, outcomes: int | None = None) -> StoredRelease:
        """Store the release of a charge, once; with a principal, settle to `outcomes` symbols.

        Only when this returns may the payload be shown to anybody.
        Raises LedgerError (no such charge, fulfilled already, storage), ParameterError.
        """
        raise NotImplementedError

    def datasets(self) -> tuple[Dataset, ...]:
        """Every data set, by name, with what is spent of its cap."""
        raise NotImplementedError

    def dataset(self, name: str) -> Dataset:
        """One data set. Raises LedgerError if there is none."""
        raise NotImplementedError

    def budget(self, principal: str, dataset: str) -> AnalystBudget:
        """What an analyst was granted and has spent. Raises LedgerError if nothing was granted."""
        raise NotImplementedError

    def charges(self, dataset: str | None = None) -> tuple[Charge, ...]:
        """Every charge, oldest first, fulfilled or not."""
        raise NotImplementedError

    def releases(self, dataset: str | None = None) -> tuple[StoredRelease, ...]:
        """Every public release, oldest first: those charged without a principal."""
        raise NotImplementedError

    def release(self, charge_id: int) -> StoredRelease:
        """One public release. Raises LedgerError if there is none: no answer to an analyst."""
        raise NotImplementedError

    def verify(self) -> None:
        """Check the file, every hash and every total from the first row. Raises LedgerError."""
        raise NotImplementedError

    def unfreeze(self, reason: str) -> None:
        """The operator's act that lets a frozen ledger spend again, recorded in the chain.

        What the anchor remembers as spent is spent, whatever rows were lost.
        """
        raise NotImplementedError
