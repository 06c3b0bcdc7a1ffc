"""The anchor: a second, small file that remembers the links of the ledger's chain.

It lies in another directory than the ledger, so that putting one back from a backup does not put
back the other. Replaced atomically and synced: after a crash it is the old one or the new one.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from askew.errors import LedgerError, LedgerFrozen
from askew_client.signals.chain import Anchored
from askew_client.signals.rationals import rational_of
from askew_client.storage.private_file import check_own, replace_file

_MAX_BYTES = 1 << 24  # some 240,000 entries


class Anchor:
    """One anchor file, mode 0600. Who writes holds the ledger's lock."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))  # a link may lead to another disk: it is kept

    def read(self) -> Anchored | None:
        """What it remembers, or None where there is no file. Raises LedgerFrozen if damaged, and
        LedgerError if others may write it.
        """
        try:
            check_own(self.path, "ledger's anchor", LedgerError)
            with self.path.open("rb") as file:
                return _decode(file.read(_MAX_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise LedgerFrozen(f"the ledger's anchor {self.path} cannot be read") from None

    def write(self, state: Anchored) -> None:
        """Replace it. Raises LedgerError, in which case it is the old one or the new one."""
        said = {
            "links": state.links,
            "spent": str(state.spent),
            "spent_per_km": str(state.spent_per_km),
            "announced": state.announced,
        }
        try:
            replace_file(self.path, json.dumps(said))
        except OSError as error:
            reason = f"the ledger's anchor {self.path} cannot be written: {error.strerror}"
            raise LedgerError(reason) from None


def _decode(text: bytes) -> Anchored:
    """Raises ValueError, KeyError, TypeError and RecursionError for anything else."""
    value = json.loads(text)
    links, announced = tuple(value["links"]), value["announced"]
    for link in links if announced is None else (*links, announced):
        if re.fullmatch("[0-9a-f]{64}", link) is None:
            raise ValueError
    spent, per_km = rational_of(value["spent"]), rational_of(value["spent_per_km"])
    return Anchored(links, spent, announced, per_km)
