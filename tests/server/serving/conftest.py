"""Certificates to serve with, each with a fault of its own."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from issuer import Issuer, Tls

from askew_server.folders import write_new

NOW = datetime.datetime.now(datetime.UTC)
HERE = ("127.0.0.1",)
MakeFiles = Callable[..., Tls]


@pytest.fixture
def issuer() -> Issuer:
    """The authority that everybody here trusts, unless it is said otherwise."""
    return Issuer(NOW, days=1)


@pytest.fixture
def authority(issuer: Issuer, tmp_path: Path) -> Path:
    """Its certificate."""
    path = tmp_path / "authority.pem"
    path.write_bytes(issuer.certificate)
    return path


@pytest.fixture
def made(tmp_path: Path) -> MakeFiles:
    """Writes a server's certificate and key, in place of those that are there."""

    def make(by: Issuer, hosts: tuple[str, ...] = HERE) -> Tls:
        certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
        for path in (certificate, key):
            path.unlink(missing_ok=True)
        write_new(dict(zip((certificate, key), by.server(hosts), strict=True)))
        return Tls(certificate, key)

    return make
