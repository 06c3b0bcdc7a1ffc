"""A small file for the person alone, replaced whole: after a crash it is the old one or the new."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a file of mode 0600 in place of another, durably, in a directory that is made if need
    be. Raises OSError, in which case the old file is still there.
    """
    new = path.with_name(path.name + ".new")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make a rename in it durable; where a directory cannot be opened, it needs no sync."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
