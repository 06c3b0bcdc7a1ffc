"""Tokens of analysts: which principal asks.

A token is 32 random bytes, shown once. The file of tokens has a line for each, the SHA-256 of the
token and the principal's name, so that a copy of it lets nobody ask. A principal may have several
tokens, so that one can be exchanged for another. A service reads the file again when it changes.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from askew.errors import AccessError, ParameterError, Unauthenticated
from askew.noise.randomness import RandomBits
from askew_server.folders import is_private, one_writer, replace_file

_TOKEN_BYTES = 32
_SCHEME = "Bearer "
_MAX_HEADER = 4096
_MAX_NAME = 200  # as long as a ledger's names
_DIGEST = re.compile("[0-9a-f]{64}")

_Mark = tuple[int, int, int]


class Tokens:
    """Finds the principal in the value of an `authorization` header. Safe for several threads.

    refused: called for each token that is no good; the caller is told the same for all of them.
    Raises AccessError for a file that cannot be read.
    """

    def __init__(self, path: Path, refused: Callable[[], None]) -> None:
        self._path, self._refused = path, refused
        self._read = _mark(path), _parse(path)

    def find(self, authorization: str) -> str:
        """Return the name of the principal whose token the value of an authorization header has,
        "Bearer TOKEN". Calls `refused` and raises Unauthenticated for no good token; raises
        AccessError for a damaged file.
        """
        mark, principals = self._read
        if mark != (now := _mark(self._path)):
            principals = _parse(self._path)
            self._read = now, principals
        if authorization.startswith(_SCHEME) and len(authorization) <= _MAX_HEADER:
            # Found by its digest: how long that takes says nothing of a token that would be good.
            principal = principals.get(_digest(authorization.removeprefix(_SCHEME)))
            if principal is not None:
                return principal
        self._refused()
        raise Unauthenticated


def add_token(path: Path, principal: str, bits: RandomBits) -> str:
    """Return a new token of a principal, 43 characters of URL-safe base64; its digest is added to
    the file, which is made, of mode 0600, if it is not there.

    Raises ParameterError unless the principal has 1 to 200 characters, all printable, and
    AccessError where the file cannot be read or written, or is damaged.
    """
    if not (0 < len(principal) <= _MAX_NAME and principal.isprintable()):
        raise ParameterError("principal", principal, f"printable, 1 to {_MAX_NAME} long")
    token = urlsafe_b64encode(bits.read(_TOKEN_BYTES)).decode().rstrip("=")
    with _changing(path):
        principals = _parse(path) if path.exists() else {}
        _write(path, principals | {_digest(token): principal})
    return token


def remove_tokens(path: Path, principal: str) -> int:
    """Remove all tokens of a principal from the file; return how many there were, 0 for a name
    without one. Raises AccessError, also where there is no file.
    """
    with _changing(path):
        principals = _parse(path)
        kept = {digest: name for digest, name in principals.items() if name != principal}
        _write(path, kept)
    return len(principals) - len(kept)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


@contextmanager
def _changing(path: Path) -> Iterator[None]:
    try:
        with one_writer(path.parent):
            yield
    except OSError as error:
        raise AccessError(f"{path} cannot be written: {error.strerror}") from None


def _write(path: Path, principals: dict[str, str]) -> None:
    lines = "".join(f"{digest} {principal}\n" for digest, principal in principals.items())
    replace_file(path, lines.encode())


def _mark(path: Path) -> _Mark:
    try:
        status = path.stat()
    except OSError as error:
        raise AccessError(f"{path} cannot be read: {error.strerror}") from None
    if not is_private(status):
        raise AccessError(f"the file of tokens {path} must be a regular file of mode 0600")
    return status.st_ino, status.st_size, status.st_mtime_ns


def _parse(path: Path) -> dict[str, str]:
    _mark(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise AccessError(f"{path} cannot be read") from None
    principals = {}
    for line in lines:
        digest, _, principal = line.partition(" ")
        if not _DIGEST.fullmatch(digest) or not principal:  # what it took back would be good again
            raise AccessError(f"{path} is not a file of tokens: put back a copy of it")
        principals[digest] = principal
    return principals
