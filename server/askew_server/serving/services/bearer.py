"""Bearer tokens: who asks, as the operator vouched for a short while.

A token is a JSON Web Token signed with HMAC-SHA256: subject (the principal), audience, issued at,
expiry, and until when its holder may renew it. One algorithm, so that none can be confused with
another; the key lies in a file of mode 0600 and the operator alone mints. Only a verified token
names a principal.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from askew.errors import AccessError, ParameterError, Refused, Unauthenticated
from askew_server.serving.configuration.private_file import read_private

AUDIENCE = "askew-analyst"
MAX_MINUTES = 60
MAX_HOURS = 168
GARBAGE, EXPIRED, REVOKED = "garbage", "expired", "revoked"
_CLAIMS = ("sub", "aud", "iat", "exp", "renewable")
_ALGORITHM = "HS256"
_KEY_BYTES = 32
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
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be made: {error.strerror}") from None
