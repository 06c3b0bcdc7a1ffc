"""Files for the person alone: who may write one, the directory that it is in, and how a small one
is replaced whole, so that after a crash it is the old one or the new.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from askew.errors import AskewError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def check_own(path: Path, name: str, error: type[AskewError]) -> None:
    """A file, if it is there, is this account's and written by no other, where accounts are
    POSIX's. Who can write its directory can still replace it. Raises `error`, OSError.
    """
    if os.name != "posix":
        return
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        text = f"the {name} {path} cannot be used: others may write it. It must be yours, and"
        raise error(f"{text} writable by you alone (chmod go-w)")


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing, each of mode 0700. Raises OSError."""
    for each in (*reversed(path.parents), path):
        each.mkdir(mode=0o700, exist_ok=True)


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file of mode 0600 in place of another, durably, in a directory that is made if need
    be. Raises OSError, in which case the old file is still there.
    """
    import tempfile  # most commands write no such file

    make_directory(path.parent)
    # A name of its own, for who writes at the same time, and mode 0600.
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make a rename in it durable; where a directory cannot be opened, it needs no sync."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
