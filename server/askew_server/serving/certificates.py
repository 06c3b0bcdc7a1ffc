"""Certificates and keys in PEM: what a server shows to its callers.

A server looks at every handshake whether a file changed; open connections are not touched. Files
that are broken, half exchanged or out of their time are reported once, and the server goes on with
what it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast

import grpc

from askew.errors import AccessError
from askew_server.folders import read_private
from askew_server.serving.settings import Tls

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
    from cryptography.x509 import Certificate


@dataclass(frozen=True)
class ServerIdentity:
    """A certificate with its chain and the key that fits it, and whose certificates are asked of
    callers. begins, ends: when it is valid.
    """

    chain: bytes
    key: bytes = field(repr=False)
    client_authority: bytes | None
    begins: datetime
    ends: datetime


def read_identity(tls: Tls) -> ServerIdentity:
    """The files of a configuration. Raises AccessError for the first that is no use, or a key that
    others can read or that is another certificate's.
    """
    chain, key = _read(tls.certificate), read_private(tls.key)
    with _parsing(f"{tls.certificate} holds no certificate in PEM"):
        leaf = _certificates(chain)[0]
        public, is_of_hosts = leaf.public_key(), _is_of_hosts(leaf)
    with _parsing(f"{tls.key} holds no private key in PEM without a passphrase"):
        fits = _public_key(key) == public
    if not fits:
        raise AccessError(f"the key {tls.key} is not that of the certificate {tls.certificate}")
    if not is_of_hosts:
        raise AccessError(
            f"the certificate {tls.certificate} names no host: callers look at subjectAltName alone"
        )
    authority = None if tls.client_authority is None else _read(tls.client_authority)
    if authority is not None:
        with _parsing(f"{tls.client_authority} holds no certificate in PEM"):
            _certificates(authority)
    return ServerIdentity(
        chain, key, authority, leaf.not_valid_before_utc, leaf.not_valid_after_utc
    )


def check_time(found: ServerIdentity, certificate: Path, now: datetime) -> None:
    """Raises AccessError for a certificate that nobody takes now."""
    if found.ends <= now:
        raise AccessError(f"the certificate {certificate} expired on {_moment(found.ends)}")
    if now < found.begins:
        raise AccessError(
            f"the certificate {certificate} is not valid before {_moment(found.begins)}; is this "
            "machine's clock right?"
        )


def _moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


@contextmanager
def _parsing(problem: str) -> Iterator[None]:
    """Whatever a parser raises becomes an AccessError; its own text may hold a part of a key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.x509 import DuplicateExtension, InvalidVersion

    try:
        yield
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidVersion, DuplicateExtension):
        raise AccessError(problem) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AccessError(f"{path} cannot be read: {error.strerror}") from None


def _certificates(data: bytes) -> list[Certificate]:
    from cryptography import x509

    return x509.load_pem_x509_certificates(data)


def _public_key(key: bytes) -> PublicKeyTypes:
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_private_key(key, None).public_key()


def _is_of_hosts(leaf: Certificate) -> bool:
    """Return True if it names a host or an address; whoever connects looks at no other field."""
    from cryptography import x509

    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return any(found.get_values_for_type(kind) for kind in (x509.DNSName, x509.IPAddress))


Mark = tuple[int, int, int] | None


def credentials_of(certificates: Certificates) -> grpc.ServerCredentials:
    """What a port is opened with that speaks TLS."""

    shown = certificates.identity

    def renewed() -> grpc.ServerCertificateConfiguration:
        nonlocal shown
        certificates.renewed()
        found = certificates.identity
        if found is shown:
            # None goes on with what there was, which the stubs of gRPC do not know.
            return cast("grpc.ServerCertificateConfiguration", None)
        shown = found
        return _for_grpc(found)

    return grpc.dynamic_ssl_server_credentials(
        _for_grpc(shown),
        renewed,
        require_client_authentication=shown.client_authority is not None,
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

    def renewed(self) -> ServerIdentity | None:
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


def _marks(tls: Tls) -> tuple[Mark, ...]:
    return tuple(mark_of(path) for path in (tls.certificate, tls.key, tls.client_authority))


def mark_of(path: Path | None) -> Mark:
    """What differs whenever a file was exchanged, its mode included by the time of its change."""
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_ctime_ns) if found else None


def _for_grpc(identity: ServerIdentity) -> grpc.ServerCertificateConfiguration:
    pair = (identity.key, identity.chain)
    return grpc.ssl_server_certificate_configuration([pair], identity.client_authority)
