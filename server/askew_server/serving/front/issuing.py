"""Certificates for development: an authority of one's own, and what it signs.

ECDSA on P-256, whose handshake costs half of RSA's. The authority's key could sign for any host, so
no machine should trust it that others use.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from askew.errors import AccessError, ParameterError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, GeneralName

MAX_DAYS = 397  # what browsers and many libraries take
_HOST = r"(\*\.)?[\w-]+(\.[\w-]+)*"


class Issuer:
    """An authority that signs until `days` after `now`. Raises ParameterError for a bad number."""

    def __init__(self, now: datetime.datetime, days: int) -> None:
        from cryptography import x509

        if not 1 <= days <= MAX_DAYS:
            raise ParameterError("days", days, f"from 1 to {MAX_DAYS}")
        self._begins = now - datetime.timedelta(minutes=5)  # clocks differ
        self._ends = now + datetime.timedelta(days=days)
        self._key, named = self._begun("Askew development authority")
        built = named.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self._certificate = self._signed(built)

    @property
    def authority(self) -> tuple[bytes, bytes]:
        """Its certificate and its key, in PEM."""
        return _pem(self._certificate, self._key)

    def server(self, hosts: Sequence[str]) -> tuple[bytes, bytes]:
        """A certificate of a server with these names and addresses, and its key, in PEM.

        Raises ParameterError for what is no name.
        """
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        names = [_name(host) for host in hosts]
        key, built = self._begun("Askew development server")
        built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return _pem(self._signed(built.add_extension(usage, critical=False)), key)

    def client(self, name: str) -> tuple[bytes, bytes]:
        """A certificate of a caller, and its key, in PEM."""
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key, built = self._begun(name)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return _pem(self._signed(built.add_extension(usage, critical=False)), key)

    def _begun(self, name: str) -> tuple[EllipticCurvePrivateKey, CertificateBuilder]:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID

        key = ec.generate_private_key(ec.SECP256R1())
        try:
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        except ValueError:
            raise ParameterError("client", name, "a name of 1 to 64 characters") from None
        builder = x509.CertificateBuilder(
            subject_name=subject,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=self._begins,
            not_valid_after=self._ends,
        )
        return key, builder

    def _signed(self, builder: CertificateBuilder) -> Certificate:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.x509.oid import NameOID

        name = x509.NameAttribute(NameOID.COMMON_NAME, "Askew development authority")
        return builder.issuer_name(x509.Name([name])).sign(self._key, hashes.SHA256())


def write_new(files: dict[Path, bytes]) -> None:
    """New files, those named .key of mode 0600. Raises AccessError where one is there, and then
    writes none.
    """
    for path in files:
        if os.path.lexists(path):
            raise AccessError(f"{path} is there already, and was left alone")
    for path, content in files.items():
        mode = 0o600 if path.suffix == ".key" else 0o644
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except OSError as error:
            raise AccessError(f"{path} cannot be made: {error.strerror}") from None


def _name(host: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not re.fullmatch(_HOST, host, re.ASCII):
        raise ParameterError("host", host, "a host name or an address, without a port")
    return x509.DNSName(host)


def _pem(certificate: Certificate, key: EllipticCurvePrivateKey) -> tuple[bytes, bytes]:
    from cryptography.hazmat.primitives import serialization

    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return certificate.public_bytes(serialization.Encoding.PEM), secret
