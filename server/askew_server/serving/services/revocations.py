"""Tokens that the operator took back: a file beside the key, read again whenever it changed.

A line is a time and a principal, "1780000000 ada": no token that ada got until then is good any
more. The file is small, because a token lives for an hour at most, and append-only.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from askew.errors import AccessError, Unauthenticated
from askew_server.serving.services.bearer import REVOKED, Bearer, check_principal

_Mark = tuple[int, int, int]


class Revocations:
    """Until when each principal's tokens are void. Safe for several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[_Mark | None, dict[str, int]] = (None, {})

    def check(self, bearer: Bearer) -> str:
        """The principal of a token that is still good.

        Raises Unauthenticated for one that was taken back, AccessError for an unreadable file.
        """
        if bearer.issued <= self._voided().get(bearer.principal, -1):
            raise Unauthenticated(REVOKED)
        return bearer.principal

    def add(self, principal: str, *, now: float) -> None:
        """Void what a principal got until now; durable when it returns. Raises AccessError."""
        check_principal(principal)
        self._voided()  # a damaged file is not written to
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{int(now)} {principal}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise AccessError(f"{self._path} cannot be written: {error.strerror}") from None

    def _voided(self) -> dict[str, int]:
        mark = self._mark()
        read, voided = self._read
        if read != mark:
            voided = self._parsed() if mark else {}
            self._read = (mark, voided)
        return voided

    def _mark(self) -> _Mark | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AccessError(f"{self._path} cannot be read: {error.strerror}") from None
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o022:
            raise AccessError(f"{self._path} must be a regular file that only its owner can write")
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _parsed(self) -> dict[str, int]:
        voided: dict[str, int] = {}
        try:
            for line in self._path.read_text(encoding="utf-8").splitlines():
                until, _, principal = line.partition(" ")
                check_principal(principal)
                voided[principal] = max(int(until), voided.get(principal, 0))
        except OSError as error:
            raise AccessError(f"{self._path} cannot be read: {error.strerror}") from None
        except ValueError:
            raise AccessError(f"{self._path} is no list of revocations") from None
        return voided


def revocations_of(key: Path) -> Revocations:
    """The revocations of the tokens that a key signs."""
    return Revocations(key.with_name(key.name + ".revoked"))
