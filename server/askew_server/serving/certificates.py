"""The certificate and the key of a server, in PEM, exchanged while it runs.

A timer looks at the files; open connections are not touched. A pair that is broken, half exchanged
or out of its time is reported once, and the server goes on with what it had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from askew.errors import AccessError
from askew_server.folders import read_private
from askew_server.serving.log import log_event


@dataclass(frozen=True)
class Pair:
    """A certificate with its chain, and the key that fits it, both in PEM; and when it expires."""

    chain: bytes
    key: bytes = field(repr=False)
    ends: datetime


def read_pair(certificate: Path, key_file: Path, now: datetime) -> Pair:
    """Return the Pair of two files in PEM, their bytes as `chain` and `key`, and `ends`, when the
    certificate expires, in UTC. Raises AccessError for what is no use at `now`: a key that others
    can read or that is another certificate's, a certificate out of its time or without a host's
    name, and the like.
    """
    try:
        chain = certificate.read_bytes()
    except OSError as error:
        raise AccessError(f"{certificate} cannot be read: {error.strerror}") from None
    key = read_private(key_file)
    try:
        leaf = x509.load_pem_x509_certificates(chain)[0]
        public = leaf.public_key()
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        has_host = any(names.get_values_for_type(kind) for kind in (x509.DNSName, x509.IPAddress))
    except x509.ExtensionNotFound:
        has_host = False
    except Exception:  # its own text may hold a part of the file
        raise AccessError(f"{certificate} holds no certificate in PEM") from None
    try:
        fits = load_pem_private_key(key, None).public_key() == public
    except Exception:
        raise AccessError(f"{key_file} holds no private key in PEM without a passphrase") from None
    if not fits:
        raise AccessError(f"the key {key_file} is not that of the certificate {certificate}")
    if not has_host:
        raise AccessError(
            f"the certificate {certificate} names no host: callers look at subjectAltName alone"
        )
    begins, ends = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if ends <= now:
        raise AccessError(f"the certificate {certificate} expired on {ends:%Y-%m-%d %H:%M} UTC")
    if now < begins:
        raise AccessError(
            f"the certificate {certificate} is not valid before {begins:%Y-%m-%d %H:%M} UTC; is "
            "this machine's clock right?"
        )
    return Pair(chain, key, ends)


class Certificates:
    """What a server shows, read again when its files change. refused: told of files that are no
    use. Raises AccessError where they are none at the start. now: with a time zone.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        refused: Callable[[str], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.files, self._refused, self._now = (certificate, key), refused, now
        self._complaint = ""  # of the last look
        self.pair = read_pair(certificate, key, now())

    @property
    def days_left(self) -> float:
        """Return the days, with a fraction, until the certificate that is shown expires; below 0
        since it did.
        """
        return (self.pair.ends - self._now()).total_seconds() / 86_400

    def look(self) -> bool:
        """Take the pair that the files hold; return True if it is another than before. `refused`
        is told, once, why files are no use, and the pair of before stays; one that is new, or good
        again, is logged.
        """
        try:
            pair = read_pair(*self.files, self._now())
        except AccessError as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                self._refused(self._complaint)
            return False
        is_new = pair != self.pair
        if is_new or self._complaint:
            log_event("certificates_changed")
        self._complaint, self.pair = "", pair
        return is_new

    def credentials(self) -> grpc.ServerCredentials:
        """Return the credentials that a port is opened with: each handshake gets the pair of its
        moment.
        """
        shown = self.pair

        def renewed() -> grpc.ServerCertificateConfiguration:
            nonlocal shown
            if self.pair is shown:
                # None goes on with what there was, which the stubs of gRPC do not know.
                return cast("grpc.ServerCertificateConfiguration", None)
            shown = self.pair
            return _for_grpc(shown)

        return grpc.dynamic_ssl_server_credentials(_for_grpc(shown), renewed)


def _for_grpc(pair: Pair) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(pair.key, pair.chain)])
