"""Bearer tokens: which analyst may ask now. A verified token that was not taken back, not too
often.

A token is a JSON Web Token signed with HMAC-SHA256: subject (the principal), audience, issued at,
expiry, and until when its holder may renew it. There is one algorithm, so that none can be confused
with another. The key lies in a file of mode 0600, and the operator alone mints. Only a verified
token names a principal.

Revocations are a file beside the key, read again whenever it changed. A line is a time and a
principal, "1780000000 ada": no token that ada got until then is good any more. The file is
append-only, and small, because a token lives for an hour at most.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from askew.errors import AccessError, ParameterError, Refused, TooOften, Unauthenticated
from askew.noise.randomness import SystemBits

AUDIENCE = "askew-analyst"
MAX_MINUTES = 60
MAX_HOURS = 168
GARBAGE, EXPIRED, REVOKED = "garbage", "expired", "revoked"
_CLAIMS = ("sub", "aud", "iat", "exp", "renewable")
_ALGORITHM = "HS256"
_KEY_BYTES = 32
_MOST_BYTES = 1 << 20  # of a key file
_SCHEME = "Bearer "
_MAX_TOKEN = 4096
_MAX_NAME = 200  # as long as a ledger's names


@dataclass(frozen=True)
class Bearer:
    """What a verified token says: who asks, when it was made, how long it is good, and until when
    another may be made from it; in seconds, and since 1970.
    """

    principal: str
    issued: int
    lifetime: int = 0
    renewable: int = 0


@dataclass(frozen=True)
class BearerKey:
    """The secret with which tokens are made and checked; never printed."""

    _secret: bytes = field(repr=False)

    def mint(self, principal: str, *, minutes: int, now: float, hours: int = 0) -> str:
        """A token for one principal, who may renew it for so many hours. Raises ParameterError for
        a bad name or too long a life.
        """
        check_principal(principal)
        if not 1 <= minutes <= MAX_MINUTES:
            raise ParameterError("minutes", minutes, f"from 1 to {MAX_MINUTES}")
        if not 0 <= hours <= MAX_HOURS:
            raise ParameterError("renewable hours", hours, f"from 0 to {MAX_HOURS}")
        return self._made(Bearer(principal, int(now), 60 * minutes, int(now) + 3600 * hours))

    def renewed(self, bearer: Bearer, now: float) -> str:
        """Another token of the same lifetime. Raises Refused after the time for that."""
        if now >= bearer.renewable:
            raise Refused("this token cannot be renewed: ask the operator for another")
        return self._made(replace(bearer, issued=int(now)))

    def _made(self, bearer: Bearer) -> str:
        import jwt

        claims = {
            "sub": bearer.principal,
            "aud": AUDIENCE,
            "iat": bearer.issued,
            "exp": bearer.issued + bearer.lifetime,
            "renewable": bearer.renewable,
        }
        return jwt.encode(claims, self._secret, algorithm=_ALGORITHM)

    def verified(self, authorization: str) -> Bearer:
        """Whom the value of an `authorization` header vouches for. Raises Unauthenticated: expired
        for a token that this key signed, garbage for anything else.
        """
        import jwt

        if not authorization.startswith(_SCHEME) or len(authorization) > _MAX_TOKEN:
            raise Unauthenticated(GARBAGE)
        try:
            claims = jwt.decode(
                authorization.removeprefix(_SCHEME),
                self._secret,
                algorithms=[_ALGORITHM],
                audience=AUDIENCE,
                options={"require": [*_CLAIMS], "strict_aud": True},
            )
            found = _bearer(claims)
        except jwt.ExpiredSignatureError:
            raise Unauthenticated(EXPIRED) from None
        except (jwt.InvalidTokenError, ValueError, TypeError):
            raise Unauthenticated(GARBAGE) from None
        return found


def _bearer(claims: Mapping[str, Any]) -> Bearer:
    """Raises ValueError for claims that were signed, but not by the rules of `mint`."""
    issued, renewable = int(claims["iat"]), int(claims["renewable"])
    lifetime = int(claims["exp"]) - issued
    if not 0 < lifetime <= 60 * MAX_MINUTES or not claims["sub"]:
        raise ValueError
    if renewable > issued + 3600 * MAX_HOURS:
        raise ValueError
    return Bearer(str(claims["sub"]), issued, lifetime, renewable)


def check_principal(principal: str) -> None:
    """Raises ParameterError unless it can be a name in a ledger."""
    if not (0 < len(principal) <= _MAX_NAME and principal.isprintable()):
        raise ParameterError("principal", principal, f"printable, 1 to {_MAX_NAME} long")


def read_key(path: Path) -> BearerKey:
    """The key in a file of mode 0600. Raises AccessError when others could read it."""
    secret = read_private(path)
    if len(secret) != _KEY_BYTES:
        raise AccessError(f"the key file {path} must hold exactly {_KEY_BYTES} bytes")
    return BearerKey(secret)


def create_key(path: Path) -> None:
    """A new random key in a new file of mode 0600. Raises AccessError when something is there."""
    secret = SystemBits().read(_KEY_BYTES)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be made: {error.strerror}") from None


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
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be read: {error.strerror}") from None


def _exposed(owner: int) -> int:
    """The bits of a mode that a file of this owner must not have."""
    given = owner == 0 and os.geteuid() != 0
    return 0o037 if given else 0o077


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


class RateLimit:
    """`per_minute` calls a minute of each principal, all at once if need be.

    Each has a bucket that holds that many calls and fills at that rate. clock: seconds, never going
    back. For one thread. There are as many buckets as the operator vouched for principals.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        if per_minute < 1:
            raise ParameterError("per_minute", per_minute, "at least 1")
        self._per_minute, self._clock = per_minute, clock
        self._left: dict[str, tuple[float, float]] = {}

    def check(self, principal: str) -> None:
        """Counts one call. Raises TooOften, and then counts nothing."""
        now = self._clock()
        left, last = self._left.get(principal, (self._per_minute, now))
        left = min(self._per_minute, left + (now - last) * self._per_minute / 60)
        if left < 1:
            raise TooOften(self._per_minute)
        self._left[principal] = (left - 1, now)


class Principals:
    """Finds the principal who may ask in the value of an `authorization` header.

    refused: told in a word why a token is no good; a caller is told that it is none.
    """

    def __init__(
        self,
        key: BearerKey,
        revocations: Revocations,
        rate: RateLimit,
        refused: Callable[[str], None],
    ) -> None:
        self._key, self._revocations, self._rate = key, revocations, rate
        self._refused = refused

    def find(self, authorization: str) -> str:
        """Raises Unauthenticated, TooOften, and AccessError for a damaged list of revocations."""
        return self._found(authorization).principal

    def renew(self, authorization: str, now: float) -> str:
        """Another token for the same principal. Raises as `find` does, and Refused."""
        return self._key.renewed(self._found(authorization), now)

    def _found(self, authorization: str) -> Bearer:
        try:
            bearer = self._key.verified(authorization)
            self._revocations.check(bearer)
        except Unauthenticated as error:
            self._refused(error.why)
            raise
        self._rate.check(bearer.principal)
        return bearer
