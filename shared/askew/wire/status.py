"""The one table between Askew's errors and gRPC's status codes, total in both directions.

Only the texts of WireErrors travel: they name public limits. Any other error crosses the wire as
its code and a fixed text, so that no exception text ever leaks.
"""

from __future__ import annotations

import grpc

from askew.errors import (
    AccessError,
    ArtifactError,
    AskewError,
    BudgetExceeded,
    ConfigError,
    DataError,
    DimensionMismatch,
    LedgerError,
    LedgerFrozen,
    Malformed,
    NotFound,
    OutOfRange,
    Overloaded,
    ParameterError,
    PlaceError,
    ProfileError,
    QuoteVoid,
    Refused,
    SecondSpace,
    ServerFailed,
    StaleSpace,
    TooOften,
    TooSlow,
    TransportError,
    Unauthenticated,
    Unreachable,
    VaultError,
    WireError,
)
from askew.wire.trust import why_unreachable

FIXED_TEXT = "the server could not answer"

# The most specific class decides; every class of the tree inherits a row.
_STATUS_OF: dict[type[AskewError], grpc.StatusCode] = {
    AskewError: grpc.StatusCode.INTERNAL,
    ParameterError: grpc.StatusCode.INTERNAL,
    ProfileError: grpc.StatusCode.INTERNAL,
    PlaceError: grpc.StatusCode.INTERNAL,
    BudgetExceeded: grpc.StatusCode.INTERNAL,
    SecondSpace: grpc.StatusCode.INTERNAL,
    QuoteVoid: grpc.StatusCode.INTERNAL,
    LedgerError: grpc.StatusCode.INTERNAL,
    LedgerFrozen: grpc.StatusCode.INTERNAL,
    VaultError: grpc.StatusCode.INTERNAL,
    ConfigError: grpc.StatusCode.INTERNAL,
    DataError: grpc.StatusCode.INTERNAL,
    ArtifactError: grpc.StatusCode.INTERNAL,
    AccessError: grpc.StatusCode.INTERNAL,
    WireError: grpc.StatusCode.INVALID_ARGUMENT,
    Malformed: grpc.StatusCode.INVALID_ARGUMENT,
    DimensionMismatch: grpc.StatusCode.INVALID_ARGUMENT,
    OutOfRange: grpc.StatusCode.OUT_OF_RANGE,
    StaleSpace: grpc.StatusCode.FAILED_PRECONDITION,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    TooOften: grpc.StatusCode.RESOURCE_EXHAUSTED,
    TransportError: grpc.StatusCode.INTERNAL,
    Unreachable: grpc.StatusCode.UNAVAILABLE,
    TooSlow: grpc.StatusCode.DEADLINE_EXCEEDED,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ServerFailed: grpc.StatusCode.INTERNAL,
}


def status_of(error: BaseException) -> tuple[grpc.StatusCode, str]:
    """The status code and the text that the other side may see."""
    for kind in type(error).__mro__:
        if kind in _STATUS_OF:
            return _STATUS_OF[kind], str(error) if isinstance(error, WireError) else FIXED_TEXT
    return grpc.StatusCode.INTERNAL, FIXED_TEXT


def error_of(
    code: grpc.StatusCode, server: str = "the server", details: str | None = None
) -> AskewError:
    """The error that a device raises for a status code. The server's own text is never shown.

    server: what the device calls it, such as its address. details: looked at for why there is no
    connection.
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
