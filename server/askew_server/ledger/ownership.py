"""Who may write a file of the ledger: the account that runs this program, and nobody else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from askew.errors import LedgerError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def check_own(path: Path, name: str) -> None:
    """A file, if it is there, is this account's and written by no other. It may be read by others.

    Who can write the directory can still replace it. Raises LedgerError, OSError.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        text = f"the {name} {path} cannot be used: others may write it. It must be yours, and"
        raise LedgerError(f"{text} writable by you alone (chmod go-w)")
