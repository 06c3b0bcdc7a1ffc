"""Stored public releases, read-only: what everybody may have, and nothing that could spend.

This is the only way from a service to the ledger's file that is not the ledger itself. It opens the
file read-only, reads two tables, and imports neither the ledger nor anything that counts.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from askew.dp.release import Release, ReleaseSummary, release_from_bytes
from askew.errors import LedgerError, NotFound, WireError, storage_reason

APPLICATION = 0x41736B4C  # the mark of a ledger file
VERSION = 1
_PATIENCE = 10  # seconds to wait for another process
# An answer to an analyst has a principal, and is no public release. What is a part of a model, its
# payload says.
_STORED = (
    "SELECT charges.sequence, fulfilments.payload FROM charges"
    " JOIN fulfilments ON fulfilments.charge = charges.sequence WHERE charges.principal = ''"
)


def part_of_model(payload: bytes) -> str | None:
    """Return what of a model a stored payload is, "noisy matrix of likes"; None for a release of a
    list.
    """
    kind = "noisy matrix of likes"
    return kind if payload.startswith(b'{"kind": "%b"' % kind.encode()) else None


class ReleaseReader:
    """The public releases of a ledger's file. Safe for several threads.

    Every method raises LedgerError when the file is missing, not a ledger, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self) -> None:
        """Raise LedgerError unless the file is a ledger, as far as its first page says."""
        with self._database():
            pass

    def document(self, charge: int) -> bytes:
        """Return the public release of a charge, the bytes as they were stored. Raises NotFound
        where there is none, and for an analyst's answer or a part of a model.
        """
        with self._database() as database:
            row = database.execute(f"{_STORED} AND charges.sequence = ?", (charge,)).fetchone()
        payload = b"" if row is None else bytes(row[1])
        if row is None or part_of_model(payload):
            raise NotFound("release")
        self._parsed(charge, payload)
        return payload

    def named(self, charge: int) -> bytes:
        """Return what `document` returns for a charge. Raises LedgerError where that raises
        NotFound.
        """
        try:
            return self.document(charge)
        except NotFound:
            reason = f"{self._path} has no release {charge}: see askew-server releases list"
            raise LedgerError(reason) from None

    def page(self, dataset: str, after: int, limit: int) -> tuple[tuple[ReleaseSummary, ...], bool]:
        """Return at most `limit` releases whose charges are above `after`, the oldest first, of one
        data set or, if its name is empty, of all; and whether more come after them. Analysts'
        answers and parts of models are left out.
        """
        with self._database() as database:
            rows = database.execute(
                f"{_STORED} AND charges.sequence > ? AND ? IN ('', charges.dataset)"
                " ORDER BY charges.sequence",
                (after, dataset),
            )
            summaries = (
                self._parsed(charge, payload).summary
                for charge, payload in rows
                if not part_of_model(payload)
            )
            first = tuple(islice(summaries, limit + 1))
        return first[:limit], len(first) > limit

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        if not self._path.is_file():  # a directory or nothing: SQLite would say less
            raise LedgerError(f"there is no ledger {self._path}")
        # A copy in a read-only folder has no log beside it and can get none: read it as it is.
        log = self._path.with_name(self._path.name + "-wal")
        is_alone = not log.exists() and not os.access(self._path.parent, os.W_OK)
        mode = "mode=ro&immutable=1" if is_alone else "mode=ro"
        address = f"{self._path.absolute().as_uri()}?{mode}"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as database:
                marks = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS]
                if marks != [*_MARKS.values()]:
                    raise LedgerError(f"{self._path} is not a ledger that this program reads")
                yield database
        except (UnicodeDecodeError, sqlite3.Error) as error:
            raise LedgerError(
                f"the ledger {self._path} cannot be read: {storage_reason(error)}"
            ) from None

    def _parsed(self, charge: int, payload: bytes) -> Release:
        try:
            release = release_from_bytes(payload)
        except WireError:
            raise LedgerError(f"release {charge} of {self._path} is damaged") from None
        if release.charge != charge:
            raise LedgerError(f"release {charge} of {self._path} belongs to another charge")
        return release


_MARKS = {"application_id": APPLICATION, "user_version": VERSION}
