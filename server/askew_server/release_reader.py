"""Stored public releases, read-only: what everybody may have, and nothing that could spend.

This is the only way from a service to the ledger's file that is not the ledger itself. It opens the
file read-only, reads two tables, and imports neither the ledger nor anything that counts.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from askew.errors import LedgerError, NotFound, WireError
from askew.release import Release, ReleaseSummary, release_from_bytes

APPLICATION = 0x41736B4C  # the mark of a ledger file
VERSION = 1
_PATIENCE = 10  # seconds to wait for another process
_NAMED = 20  # of the releases that exist, in the error about one that does not
_PRIOR = '{"kind": "prior"'
# An answer to an analyst has a principal, and is no public release; a prior is no list.
_PUBLIC = (
    "SELECT charges.sequence, fulfilments.payload FROM fulfilments"  # noqa: S608
    " JOIN charges ON charges.sequence = fulfilments.charge WHERE charges.principal = ''"
    " AND CAST(fulfilments.payload AS TEXT) NOT LIKE '" + _PRIOR + "%'"
)


def is_prior(payload: bytes) -> bool:
    """Whether what a charge released is a model's prior, not a list."""
    return payload.startswith(_PRIOR.encode())


@dataclass(frozen=True)
class Page:
    """Some releases, oldest first, and whether more come after them."""

    summaries: tuple[ReleaseSummary, ...]
    more: bool


class ReleaseReader:
    """The public releases of a ledger's file. Safe for several threads.

    Every method raises LedgerError when the file is missing, not a ledger, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def document(self, charge: int) -> bytes:
        """A release as it was stored. Raises NotFound."""
        with self._database() as database:
            row = database.execute(f"{_PUBLIC} AND charges.sequence = ?", (charge,)).fetchone()
        if row is None:
            raise NotFound("release")
        self._parsed(*row)
        return bytes(row[1])

    def named(self, charge: int) -> bytes:
        """`document` for an operator. Raises LedgerError, which names the releases there are."""
        try:
            return self.document(charge)
        except NotFound:
            page = self.page("", 0, _NAMED)
        there = ", ".join(str(each.charge) for each in page.summaries) or "none yet"
        more = " and more, see askew-server releases list" if page.more else ""
        raise LedgerError(f"{self._path} has no release {charge}; it has {there}{more}")

    def page(self, dataset: str, after: int, limit: int) -> Page:
        """At most `limit` releases after a charge, of one data set or, if it is empty, of all."""
        with self._database() as database:
            rows = database.execute(
                f"{_PUBLIC} AND charges.sequence > ? AND ? IN ('', charges.dataset)"
                " ORDER BY charges.sequence LIMIT ?",
                (after, dataset, limit + 1),
            ).fetchall()
        found = tuple(self._parsed(*row).summary for row in rows[:limit])
        return Page(found, len(rows) > limit)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        if not self._path.is_file():  # a directory or nothing: SQLite would say less
            raise LedgerError(f"there is no ledger {self._path}")
        address = f"{self._path.absolute().as_uri()}?mode=ro{self._immutable()}"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as database:
                found = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS]
                if found != [*_MARKS.values()]:
                    raise LedgerError(f"{self._path} is not a ledger that this program reads")
                yield database
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {self._path} cannot be read: {error}") from None

    def _immutable(self) -> str:
        """A copy in a read-only folder has no log beside it and can get none: read it as it is."""
        log = self._path.with_name(self._path.name + "-wal")
        alone = not log.exists() and not os.access(self._path.parent, os.W_OK)
        return "&immutable=1" if alone else ""

    def _parsed(self, charge: int, payload: bytes) -> Release:
        try:
            release = release_from_bytes(payload)
        except WireError:
            raise LedgerError(f"release {charge} of {self._path} is damaged") from None
        if release.charge != charge:
            raise LedgerError(f"release {charge} of {self._path} belongs to another charge")
        return release


_MARKS = {"application_id": APPLICATION, "user_version": VERSION}
