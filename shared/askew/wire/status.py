"""The one table between Askew's errors and gRPC's status codes, total in both directions; and how a
caller knows a server: TLS, or plain text to this machine alone.

Only the texts of WireErrors travel: they name public limits. Any other error crosses the wire as
its code and a fixed text, so that no exception text ever leaks.
"""

from __future__ import annotations

import ssl

import grpc

from askew.errors import (
    AskewError,
    Malformed,
    NotFound,
    OutOfRange,
    Overloaded,
    ParameterError,
    Refused,
    ServerFailed,
    StaleSpace,
    TooSlow,
    Unauthenticated,
    Unreachable,
    WireError,
)
from askew.settings import host_of, is_loopback

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


def credentials_for(server: str, authority: bytes | None = None) -> grpc.ChannelCredentials | None:
    """Return the TLS credentials of a channel to "host:port"; None, which is plain text, for this
    machine (a loopback host) without an authority.

    authority: certificates in PEM that are trusted in place of the public ones. Raises
    ParameterError for a server that is not host:port.
    """
    if is_loopback(host_of(server)) and authority is None:
        return None
    return grpc.ssl_channel_credentials(authority)


def checked_authority(authority: bytes, file: str) -> bytes:
    """Return these certificates as they are if they are PEM. Raises ParameterError, which shows
    `file`, where they are.
    """
    try:
        certificates = authority.decode("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError):
        raise ParameterError("authority", file, "a file of certificates in PEM") from None
    return authority


def why_unreachable(details: str) -> str | None:
    """Return why no connection came about, such as "its certificate has expired" or "there is no
    host of this name", from what gRPC says; None where it was something else.
    """
    if details.startswith(_NO_ADDRESS):
        return "there is no host of this name"
    if not details.startswith(_NO_CONNECTION):
        return None
    return next((reason for words, reason in _REASONS if words in details), None)


def nobody_there(details: str) -> bool:
    """Return True if gRPC's words say that no connection came about, or no host has the name."""
    return details.startswith((_NO_CONNECTION, _NO_ADDRESS))


def cannot_pass(details: str) -> bool:
    """Return True if gRPC's words name a handshake that no retry mends while the server stays so:
    any that `why_unreachable` can say, but for a closed socket and a host that is not there.
    """
    is_handshake = details.startswith(_NO_CONNECTION) and why_unreachable(details) is not None
    return is_handshake and _CLOSED not in details


FIXED_TEXT = "the server could not answer"

# The most specific class decides; an error of no row here is INTERNAL.
_STATUS_OF: dict[type[BaseException], grpc.StatusCode] = {
    WireError: grpc.StatusCode.INVALID_ARGUMENT,
    OutOfRange: grpc.StatusCode.OUT_OF_RANGE,
    StaleSpace: grpc.StatusCode.FAILED_PRECONDITION,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    Unreachable: grpc.StatusCode.UNAVAILABLE,
    TooSlow: grpc.StatusCode.DEADLINE_EXCEEDED,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
}


def status_of(error: BaseException) -> tuple[grpc.StatusCode, str]:
    """Return the status code of an error, and the text that the other side may see: a WireError's
    own, and "the server could not answer" for any other. Codes are those of which `error_of` makes
    its class; FAILED_PRECONDITION also for Refused, INVALID_ARGUMENT for any other WireError,
    INTERNAL for all else.
    """
    codes = [_STATUS_OF[kind] for kind in type(error).__mro__ if kind in _STATUS_OF]
    text = str(error) if isinstance(error, WireError) else FIXED_TEXT
    return (codes[0] if codes else grpc.StatusCode.INTERNAL), text


def error_of(
    code: grpc.StatusCode, server: str = "the server", details: str | None = None
) -> AskewError:
    """Return the error that a device raises for a status code: Malformed for INVALID_ARGUMENT,
    OutOfRange for OUT_OF_RANGE, StaleSpace for FAILED_PRECONDITION, Unauthenticated, NotFound,
    Unreachable for UNAVAILABLE, TooSlow for DEADLINE_EXCEEDED, Overloaded for RESOURCE_EXHAUSTED
    and CANCELLED, ServerFailed for all others. The server's text is never shown.

    server: what the device calls it, such as its address. details: gRPC's words; for UNAVAILABLE
    the error says why if `why_unreachable` finds a reason that it knows in them.
    """
    match code:
        case grpc.StatusCode.INVALID_ARGUMENT:
            return Malformed("the server did not understand the question")
        case grpc.StatusCode.OUT_OF_RANGE:
            return OutOfRange("k or the lattice", "within the server's limits")
        case grpc.StatusCode.FAILED_PRECONDITION:
            return StaleSpace()
        case grpc.StatusCode.UNAUTHENTICATED:
            return Unauthenticated()
        case grpc.StatusCode.NOT_FOUND:
            return NotFound("collection, release, data set or budget")
        case grpc.StatusCode.UNAVAILABLE:
            return Unreachable(f"no connection to {server}", why_unreachable(details or "") or "")
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return TooSlow(f"{server} did not answer in time")
        # CANCELLED is gRPC's own, where too many wait in it.
        case grpc.StatusCode.RESOURCE_EXHAUSTED | grpc.StatusCode.CANCELLED:
            return Overloaded("the server is too busy, or a message was over the limit")
        case grpc.StatusCode.UNIMPLEMENTED:
            return ServerFailed(f"{server} does not answer this kind of question")
        case _:
            return ServerFailed(f"the server failed ({code.name})")
