"""Bearer tokens: who asks, as the operator vouched for a short while.

A token is a JSON Web Token signed with HMAC-SHA256: subject (the principal), audience, issued at,
expiry. One algorithm, so that none can be confused with another; the key lies in a file of mode
0600 and the operator alone mints. Only a verified token names a principal.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from askew.errors import AccessError, ParameterError, Unauthenticated
from askew_server.serving.configuration.private_file import read_private

AUDIENCE = "askew-analyst"
MAX_MINUTES = 60
_ALGORITHM = "HS256"
_KEY_BYTES = 32
_SCHEME = "Bearer "
_MAX_TOKEN = 4096
_MAX_NAME = 200  # as long as a ledger's names


@dataclass(frozen=True)
class Bearer:
    """What a verified token says: who asks, and when the operator vouched for that."""

    principal: str
    issued: int  # seconds since 1970


@dataclass(frozen=True)
class BearerKey:
    """The secret with which tokens are made and checked; never printed."""

    _secret: bytes = field(repr=False)

    def mint(self, principal: str, *, minutes: int, now: float) -> str:
        """A token for one principal. Raises ParameterError for a bad name or too long a life."""
        check_principal(principal)
        if not 1 <= minutes <= MAX_MINUTES:
            raise ParameterError("minutes", minutes, f"from 1 to {MAX_MINUTES}")
        import jwt

        issued = int(now)
        claims = {"sub": principal, "aud": AUDIENCE, "iat": issued, "exp": issued + 60 * minutes}
        return jwt.encode(claims, self._secret, algorithm=_ALGORITHM)

    def verified(self, authorization: str) -> Bearer:
        """Whom the value of an `authorization` header vouches for. Raises Unauthenticated."""
        import jwt

        if not authorization.startswith(_SCHEME) or len(authorization) > _MAX_TOKEN:
            raise Unauthenticated
        try:
            claims = jwt.decode(
                authorization.removeprefix(_SCHEME),
                self._secret,
                algorithms=[_ALGORITHM],
                audience=AUDIENCE,
                options={"require": ["sub", "aud", "iat", "exp"], "strict_aud": True},
            )
        except (jwt.InvalidTokenError, ValueError):
            raise Unauthenticated from None
        lifetime = int(claims["exp"]) - int(claims["iat"])
        if not 0 < lifetime <= 60 * MAX_MINUTES or not claims["sub"]:
            raise Unauthenticated  # signed, but not by the rules of `mint`
        return Bearer(str(claims["sub"]), int(claims["iat"]))


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
