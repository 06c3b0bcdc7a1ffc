"""Which analyst may ask now: a verified token that was not taken back, and not too often."""

from __future__ import annotations

from collections.abc import Callable

from askew.errors import ParameterError, TooOften, Unauthenticated
from askew_server.serving.services.bearer import Bearer, BearerKey
from askew_server.serving.services.revocations import Revocations


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
