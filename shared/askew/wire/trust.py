"""How a caller knows a server, and why it does not: TLS, or plain text to this machine alone."""

from __future__ import annotations

import ssl

import grpc

from askew.address import host_of, is_loopback
from askew.errors import ParameterError

# gRPC's own words of a failed handshake, and ours. They are looked for where no connection came
# about; a server that sends them as a status of its own gets one of these lines, and no more.
_NO_CONNECTION = "failed to connect to all addresses"
_NO_ADDRESS = "errors resolving "
_CLOSED = "Socket closed"  # by a server that stops, too
_NO_GRPC = "what answers there is no Askew server: it does not speak gRPC"
_REASONS = (
    ("Hostname Verification Check failed", "its certificate is for another host"),
    ("is not in peer certificate", "its certificate is for another host"),  # gRPC 1.76
    ("certificate has expired", "its certificate has expired"),
    ("certificate is not yet valid", "its certificate is not valid yet"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is of no authority that is trusted here"),
    ("BAD_SIGNATURE", "its certificate is of no authority that is trusted here"),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS"),
    ("parsing HTTP/2", _NO_GRPC),
    ("ALPN", _NO_GRPC),  # TLS, and then no HTTP/2
    (_CLOSED, "it closed the connection; if it speaks TLS, name its authority"),
)


def credentials_for(
    server: str, authority: bytes | None = None, identity: tuple[bytes, bytes] | None = None
) -> grpc.ChannelCredentials | None:
    """What a channel to "host:port" is opened with; None is plain text, to this machine only.

    authority: certificates in PEM that are trusted in place of the public ones; then TLS is spoken
    to this machine too. identity: the caller's own key and certificate, where it is asked for one.
    Raises ParameterError for a server that is not host:port.
    """
    here = is_loopback(host_of(server))
    if authority is None and identity is None and here:
        return None
    key, certificate = identity or (None, None)
    return grpc.ssl_channel_credentials(authority, key, certificate)


def checked_authority(authority: bytes, file: str) -> bytes:
    """The same, if they are certificates in PEM: gRPC would say nothing until a deadline.

    file: where they are. Raises ParameterError.
    """
    try:
        certificates = authority.decode("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError):
        raise ParameterError("authority", file, "a file of certificates in PEM") from None
    return authority


def why_unreachable(details: str) -> str | None:
    """Why a handshake failed, from what gRPC says; None where it was something else."""
    if details.startswith(_NO_ADDRESS):
        return "there is no host of this name"
    if not details.startswith(_NO_CONNECTION):
        return None
    return next((reason for words, reason in _REASONS if words in details), None)


def nobody_there(details: str) -> bool:
    """Whether no connection came about, from what gRPC says."""
    return details.startswith((_NO_CONNECTION, _NO_ADDRESS))


def cannot_pass(details: str) -> bool:
    """Whether it will fail in the same way for as long as the server is the one that it is."""
    known = details.startswith(_NO_CONNECTION) and why_unreachable(details) is not None
    return known and _CLOSED not in details
