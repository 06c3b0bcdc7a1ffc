"""The anchor: a second, small file that remembers where the ledger's chain ended.

It lies in another directory than the ledger, so that putting one back from a backup does not put
back the other. Replaced atomically and synced: after a crash it is the old one or the new one.
"""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path

from askew.errors import LedgerError, LedgerFrozen
from askew_client.chain import Head

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
        new = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
            _sync_directory(self.path.parent)
        except OSError as error:
            reason = f"the ledger's anchor {self.path} cannot be written: {error.strerror}"
            raise LedgerError(reason) from None


def _sync_directory(directory: Path) -> None:
    """Make a rename in it durable; where a directory cannot be opened, it needs no sync."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
