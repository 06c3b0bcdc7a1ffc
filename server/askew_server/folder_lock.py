"""The lock of a folder: it ends with its process, and who holds it may remove the folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder that is there, until it is closed; None where
    another holds it, or it is gone.
    """
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(held).st_ino:  # not removed by who held it before
            return held
    except OSError:
        pass
    os.close(held)
    return None
