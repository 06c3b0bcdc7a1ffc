"""Whom a caller trusts, and what a failed handshake is in words of ours."""

from __future__ import annotations

import pytest

from askew.errors import ParameterError
from askew.wire.status import checked_authority, credentials_for, why_unreachable

HEAD = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: "
OLD = (
    HEAD
    + "Ssl handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:"
)
NEW = (
    HEAD
    + "Tls handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:"
)

# As gRPC 1.76 and 1.85 say it.
SAID = [
    (HEAD + "Peer name 127.0.0.1 is not in peer certificate", "another host"),
    (HEAD + "Custom verification check failed with error: UNAUTHENTICATED: Hostname "
     "Verification Check failed.", "another host"),
    (OLD + "OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: certificate has expired", "expired"),
    (NEW + "OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: certificate has expired: OK", "expired"),
    (OLD + "OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: certificate is not yet valid", "not valid"),
    (NEW + "OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: self signed certificate", "no authority"),
    (NEW + "OPENSSL_internal:BAD_SIGNATURE: certificate signature failure: OK", "no authority"),
    (OLD + "OPENSSL_internal:WRONG_VERSION_NUMBER: Invalid context", "does not speak TLS"),
    (HEAD.replace("UNKNOWN", "UNAVAILABLE") + "Socket closed", "name its authority"),
    (HEAD.replace("UNKNOWN", "UNAVAILABLE") + "Failed parsing HTTP/2 (Expected SETTINGS frame as "
     "the first frame, got frame type 79)", "does not speak gRPC"),
    ("errors resolving a.invalid:443: [field:hostname lookup error: Domain name not found]",
     "no host of this name"),
]  # fmt: skip


@pytest.mark.parametrize(("details", "words"), SAID)
def test_a_failed_handshake_has_a_reason(details: str, words: str) -> None:
    why = why_unreachable(details)
    assert why is not None
    assert words in why


@pytest.mark.parametrize(
    "details",
    ["", "Socket closed", "certificate has expired", HEAD + "Connection refused"],
)
def test_what_is_no_failed_handshake_has_none(details: str) -> None:
    """A server's own words least of all. Planted bug: looking for them anywhere."""
    assert why_unreachable(details) is None


@pytest.mark.parametrize("server", ["127.0.0.1:1", "[::1]:1", "localhost:1"])
def test_plain_text_is_spoken_to_this_machine_alone_and_never_with_an_authority(
    server: str,
) -> None:
    assert credentials_for(server) is None
    assert credentials_for(server, b"") is not None
    assert credentials_for(server, identity=(b"", b"")) is not None
    assert credentials_for("example.org:1") is not None


@pytest.mark.parametrize("authority", [b"", b"a text", b"\xff"])
def test_an_authority_is_certificates(authority: bytes) -> None:
    with pytest.raises(ParameterError, match=r"in PEM, got 'ca[.]pem'"):
        checked_authority(authority, "ca.pem")


@pytest.mark.parametrize("server", ["", "localhost", "localhost:0"])
@pytest.mark.parametrize("authority", [None, b""])
def test_a_server_is_host_and_port_with_any_trust(server: str, authority: bytes | None) -> None:
    with pytest.raises(ParameterError, match="host:port"):
        credentials_for(server, authority)
