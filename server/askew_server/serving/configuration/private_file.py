"""A file that only its owner may read: a key."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from askew.errors import AccessError

_MOST = 1 << 20


def read_private(path: Path) -> bytes:
    """What a key file holds, a megabyte at most.

    Raises AccessError where others could read it. A file that root gave to a group, as one who
    mounts secrets does, may be read by that group.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_mode & _exposed(found.st_uid):
                raise AccessError(f"the key file {path} must be a regular file of mode 0600")
            return file.read(_MOST)
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be read: {error.strerror}") from None


def _exposed(owner: int) -> int:
    """The bits of a mode that a file of this owner must not have."""
    given = owner == 0 and os.geteuid() != 0
    return 0o037 if given else 0o077
