"""Certificates and keys in PEM: whether they fit, for whom, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from askew.errors import AccessError
from askew_server.serving.configuration.private_file import read_private
from askew_server.serving.configuration.tls import Tls

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
    from cryptography.x509 import Certificate


@dataclass(frozen=True)
class Identity:
    """A certificate with its chain and the key that fits it, and whose certificates are asked of
    callers. names: the hosts that it is for. begins, ends: when it is valid.
    """

    chain: bytes
    key: bytes = field(repr=False)
    client_authority: bytes | None
    names: tuple[str, ...]
    begins: datetime
    ends: datetime


def read_identity(tls: Tls) -> Identity:
    """The files of a configuration. Raises AccessError for the first that is no use, or a key that
    others can read or that is another certificate's.
    """
    chain, key = _read(tls.certificate), read_private(tls.key)
    with _parsing(f"{tls.certificate} holds no certificate in PEM"):
        leaf = _certificates(chain)[0]
        public, names = leaf.public_key(), _names(leaf)
    with _parsing(f"{tls.key} holds no private key in PEM without a passphrase"):
        fits = _public_key(key) == public
    if not fits:
        raise AccessError(f"the key {tls.key} is not that of the certificate {tls.certificate}")
    authority = None if tls.client_authority is None else _read(tls.client_authority)
    if authority is not None:
        with _parsing(f"{tls.client_authority} holds no certificate in PEM"):
            _certificates(authority)
    return Identity(
        chain, key, authority, names, leaf.not_valid_before_utc, leaf.not_valid_after_utc
    )


def check_time(found: Identity, certificate: Path, now: datetime) -> None:
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
    from cryptography.x509 import InvalidVersion

    try:
        yield
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidVersion):
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


def _names(leaf: Certificate) -> tuple[str, ...]:
    """Host names and addresses; whoever connects looks at no other field."""
    from cryptography import x509

    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    hosts = found.get_values_for_type(x509.DNSName)
    return (*hosts, *map(str, found.get_values_for_type(x509.IPAddress)))
