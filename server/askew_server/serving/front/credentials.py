"""What a server shows to its callers: certificates that may be exchanged while it runs.

Every handshake looks whether a file changed; connections that are open are not touched. What is
broken, or half exchanged, is told once and leaves what was there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import cast

import grpc

from askew.errors import AccessError
from askew_server.serving.configuration.server import ServerConfig
from askew_server.serving.configuration.tls import Tls
from askew_server.serving.front.certificates import Identity, read_identity

_Mark = tuple[int, int, int] | None


def credentials_of(
    config: ServerConfig, refused: Callable[[str], None]
) -> grpc.ServerCredentials | None:
    """What a port is opened with; None for plain text. refused: told of files that are no use.

    Raises AccessError where they are no use at the start.
    """
    if config.tls is None:
        return None
    certificates = Certificates(config.tls, refused)

    def renewed() -> grpc.ServerCertificateConfiguration:
        found = certificates.renewed()
        # None goes on with what there was, which the stubs of gRPC do not know.
        return _for_grpc(found) if found else cast("grpc.ServerCertificateConfiguration", None)

    return grpc.dynamic_ssl_server_credentials(
        _for_grpc(certificates.identity),
        renewed,
        require_client_authentication=config.tls.client_authority is not None,
    )


class Certificates:
    """The identity of a server, read again when its files change. Safe for several threads.

    Raises AccessError where they are no use.
    """

    def __init__(self, tls: Tls, refused: Callable[[str], None]) -> None:
        self._tls, self._refused, self._lock = tls, refused, Lock()
        self._marks = _marks(tls)
        self.identity = read_identity(tls)

    def renewed(self) -> Identity | None:
        """Another identity than before, if there is one that is whole. Raises nothing."""
        with self._lock:
            marks = _marks(self._tls)
            if marks == self._marks:
                return None
            self._marks = marks  # taken before reading: what changes meanwhile is read again
            try:
                self.identity = read_identity(self._tls)
            except AccessError as error:
                self._refused(str(error))
                return None
            return self.identity


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
