"""The anchor: a second, small file that remembers where the ledger's chain ended.

It lies in another directory than the ledger, so that putting one back from a backup does not put
back the other. Replaced atomically and synced: after a crash it is the old one or the new one.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

from askew.errors import LedgerError, LedgerFrozen
from askew_client.ledger.chain import Head
from askew_client.storage.private_file import replace_file

_MAX_BYTES = 65536


class Anchor:
    """One anchor file, mode 0600. Who writes holds the ledger's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Head | None:
        """What it remembers, or None where there is no file. Raises LedgerFrozen if damaged."""
        try:
            with self.path.open("rb") as file:
                value = json.loads(file.read(_MAX_BYTES))
            count, link, spent = value["count"], value["link"], Fraction(value["spent"])
            if not (isinstance(count, int) and re.fullmatch("[0-9a-f]{64}", link)):
                raise ValueError
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
            raise LedgerFrozen(f"the ledger's anchor {self.path} cannot be read") from None
        return Head(count, link, spent)

    def write(self, head: Head) -> None:
        """Replace it. Raises LedgerError, in which case the old one is still there."""
        text = json.dumps({"count": head.count, "link": head.link, "spent": str(head.spent)})
        try:
            replace_file(self.path, text)
        except OSError as error:
            reason = f"the ledger's anchor {self.path} cannot be written: {error.strerror}"
            raise LedgerError(reason) from None
