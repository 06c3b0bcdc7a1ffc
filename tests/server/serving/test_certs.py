"""`askew-server certs`, as an operator types it."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

Run = Callable[..., int]


def test_certificates_for_development_fit_together_and_keys_are_private(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "dev"
    hosts = ("--host", "server.test", "--host", "127.0.0.1")
    assert run("certs", folder, *hosts) == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes["server.key"] == 0o600
    authority, server = (
        x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
        for name in ("authority", "server")
    )
    server.verify_directly_issued_by(authority)
    assert isinstance(key := server.public_key(), ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert not (folder / "authority.key").exists()  # which could sign for any host
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [
        x509.DNSName("server.test"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]


def test_no_file_is_overwritten_and_then_none_is_made(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "server.key"
    key.write_text("mine")
    assert run("certs", tmp_path) == 1
    assert f"{key} is there already and was left alone" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("host", ["localhost:7571", ""])
def test_what_no_certificate_can_say_is_wrong_usage_and_makes_nothing(
    host: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dev"
    assert run("certs", folder, "--host", host) == 2
    assert "names or addresses, no ports" in " ".join(capsys.readouterr().err.split())
    assert not folder.exists()
