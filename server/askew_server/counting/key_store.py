"""The secret key of contribution bounding: one small file, mode 0600, written once.

It decides which events of a very active unit are counted. Kept, so that the next release of the
same events is made from the same counts; secret, so that nobody who writes events can choose.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from askew.errors import LedgerError
from askew.noise.randomness import RandomBits, ReplayBits, SystemBits
from askew_server.counting.contract import KEY_BYTES

_MARK = "askew-bounding-key-1"
_LINE = re.compile(rf"{_MARK} ([0-9a-f]{{{2 * KEY_BYTES}}}) ([0-9a-f]{{16}})\n")
_LONGEST = 1024


def stored_key(path: Path, bits: RandomBits | None = None) -> bytes:
    """The key in the file; where there is none yet, a new one from the kernel, durably written.

    Several processes that start at once get one key. Raises LedgerError, without the content, for a
    file that is damaged, no regular file, another account's or open to others, and where it cannot
    be written: a key is never replaced, as that would change what every later release counts.
    """
    try:
        if not path.exists():
            _create(path, (bits or SystemBits()).read(KEY_BYTES))
        return _read(path)
    except OSError as error:
        raise LedgerError(f"the bounding key {path} cannot be used: {error.strerror}") from None


def known_or_new_key(path: Path) -> bytes:
    """The key in the file, or a new one that is not written before `keep_key`."""
    return stored_key(path) if path.exists() else SystemBits().read(KEY_BYTES)


def keep_key(path: Path, key: bytes) -> None:
    """Writes a key that was new. Raises LedgerError where another program has written its own."""
    if stored_key(path, ReplayBits(key)) != key:
        raise LedgerError(f"the bounding key {path} was just made by another program: ask again")


def _create(path: Path, key: bytes) -> None:
    """Writes the whole file under another name first: whoever sees the name sees a whole key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.unlink(missing_ok=True)  # what a crash left behind
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{_MARK} {key.hex()} {_checksum(key)}\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)  # fails where another process was first: its key stays
    except FileExistsError:
        return
    finally:
        draft.unlink()
    _sync(path.parent)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(f"the bounding key {path} is no regular file")
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise LedgerError(f"the bounding key {path} is open to others: it must be yours, 0600")
        written = _LINE.fullmatch(file.read(_LONGEST).decode("ascii", "replace"))
    key = bytes.fromhex(written[1]) if written else b""
    if written is None or written[2] != _checksum(key):
        raise LedgerError(f"the bounding key {path} is damaged; restore it from a backup")
    return key


def _checksum(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:16]
