"""What a server shows to its callers: certificates that may be exchanged while it runs.

Every handshake looks whether a file changed; connections that are open are not touched. What is
broken, half exchanged or out of its time, is told once and leaves what was there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import cast

import grpc

from askew.errors import AccessError
from askew_server.serving.configuration.tls import Tls
from askew_server.serving.front.certificates import Identity, check_time, read_identity

_Mark = tuple[int, int, int] | None


def credentials_of(certificates: Certificates) -> grpc.ServerCredentials:
    """What a port is opened with that speaks TLS."""

    def renewed() -> grpc.ServerCertificateConfiguration:
        found = certificates.renewed()
        # None goes on with what there was, which the stubs of gRPC do not know.
        return _for_grpc(found) if found else cast("grpc.ServerCertificateConfiguration", None)

    return grpc.dynamic_ssl_server_credentials(
        _for_grpc(certificates.identity),
        renewed,
        require_client_authentication=certificates.identity.client_authority is not None,
    )


def _now() -> datetime:
    return datetime.now(UTC)


class Certificates:
    """The identity of a server, read again when its files change. Safe for several threads.

    refused: told of files that are no use. Raises AccessError where they are none at the start, as
    out of their time. now: with a time zone.
    """

    def __init__(
        self, tls: Tls, refused: Callable[[str], None], now: Callable[[], datetime] = _now
    ) -> None:
        self._tls, self._refused, self._now, self._lock = tls, refused, now, Lock()
        self._marks = _marks(tls)
        self._begins: datetime | None = None  # of what was refused because it is to come
        self.identity = read_identity(tls)
        check_time(self.identity, tls.certificate, now())

    @property
    def days_left(self) -> float:
        """Until what is shown expires; below 0 since it did."""
        return (self.identity.ends - self._now()).total_seconds() / 86_400

    def renewed(self) -> Identity | None:
        """Another identity than before, if there is one that is of use. Raises nothing."""
        with self._lock:
            marks, now = _marks(self._tls), self._now()
            if marks == self._marks and (self._begins is None or now < self._begins):
                return None
            self._marks = marks  # taken before reading: what changes meanwhile is read again
            self._begins = None
            try:
                found = read_identity(self._tls)
                self._begins = found.begins if now < found.begins else None
                check_time(found, self._tls.certificate, now)
            except AccessError as error:
                self._refused(str(error))
                return None
            self.identity = found
            return found


def _marks(tls: Tls) -> tuple[_Mark, ...]:
    return tuple(_mark(path) for path in (tls.certificate, tls.key, tls.client_authority))


def _mark(path: Path | None) -> _Mark:
    """What differs whenever a file was exchanged, its mode included by the time of its change."""
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_ctime_ns) if found else None


def _for_grpc(identity: Identity) -> grpc.ServerCertificateConfiguration:
    pair = (identity.key, identity.chain)
    return grpc.ssl_server_certificate_configuration([pair], identity.client_authority)
