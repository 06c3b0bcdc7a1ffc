"""The one table between errors and gRPC status codes is total and leaks no text; whom a caller
trusts, and what a failed handshake is in words of ours.
"""

from __future__ import annotations

import importlib
import pkgutil

import grpc
import pytest

import askew
import askew_client
import askew_server
from askew import errors
from askew.errors import AskewError, ParameterError, WireError
from askew.wire import status
from askew.wire.status import checked_authority, credentials_for, why_unreachable

SECRET = "rated Alien 5 stars"
Code = grpc.StatusCode

# A new error has to be entered here, by somebody who thought about what a caller may learn.
INTERNAL = """
    AskewError ParameterError InfiniteCost ProfileError PreferenceError PlaceError UnclearTown
    BudgetExceeded NotShown CacheError NoRandomness NotReady ConnectionOpen LedgerError
    LedgerRefused KeyReused ChargePending ConfigError DataError ArtifactError AccessError
    TransportError ServerFailed
"""
CODES = dict.fromkeys(INTERNAL.split(), Code.INTERNAL) | {
    "WireError": Code.INVALID_ARGUMENT,
    "Malformed": Code.INVALID_ARGUMENT,
    "DimensionMismatch": Code.INVALID_ARGUMENT,
    "OutOfRange": Code.OUT_OF_RANGE,
    "OtherKind": Code.INVALID_ARGUMENT,
    "StaleSpace": Code.FAILED_PRECONDITION,
    "Unauthenticated": Code.UNAUTHENTICATED,
    "NotFound": Code.NOT_FOUND,
    "Refused": Code.FAILED_PRECONDITION,
    "Unreachable": Code.UNAVAILABLE,
    "TooSlow": Code.DEADLINE_EXCEEDED,
    "Overloaded": Code.RESOURCE_EXHAUSTED,
}

KINDS = {
    Code.INVALID_ARGUMENT: errors.Malformed,
    Code.OUT_OF_RANGE: errors.OutOfRange,
    Code.FAILED_PRECONDITION: errors.StaleSpace,
    Code.UNAUTHENTICATED: errors.Unauthenticated,
    Code.NOT_FOUND: errors.NotFound,
    Code.UNAVAILABLE: errors.Unreachable,
    Code.DEADLINE_EXCEEDED: errors.TooSlow,
    Code.RESOURCE_EXHAUSTED: errors.Overloaded,
    Code.CANCELLED: errors.Overloaded,  # by gRPC itself, of what waits in it
}


def tree(root: type[AskewError]) -> list[type[AskewError]]:
    below = [kind for each in root.__subclasses__() for kind in tree(each)]
    return [root, *(kind for kind in below if kind.__module__.startswith("askew"))]


def with_secret(kind: type[AskewError]) -> AskewError:
    """An instance whose text is the secret, whatever arguments its class asks for."""
    return kind.__new__(kind, SECRET)


def test_every_error_of_every_package_has_its_documented_code() -> None:
    for package in (askew, askew_client, askew_server):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    codes = {kind.__name__: status.status_of(with_secret(kind))[0] for kind in tree(AskewError)}
    assert codes == CODES
    assert {status.status_of(with_secret(kind))[1] for kind in tree(WireError)} == {SECRET}


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_every_status_code_is_an_error_for_the_device(code: grpc.StatusCode) -> None:
    assert KINDS.get(code, errors.ServerFailed) is type(status.error_of(code))


@pytest.mark.parametrize(
    "error",
    [
        *(with_secret(kind) for kind in tree(AskewError) if not issubclass(kind, WireError)),
        ValueError(SECRET),
        BaseException(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_text_of_another_error_reaches_the_wire(error: BaseException) -> None:
    assert status.status_of(error)[1] == "the server could not answer"


HEAD = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: "
FAILED = " handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:"
OLD, NEW = f"{HEAD}Ssl{FAILED}", f"{HEAD}Tls{FAILED}"

# As gRPC 1.76 and 1.85 say it.
SAID = [
    (HEAD + "Peer name 127.0.0.1 is not in peer certificate", "another host"),
    (HEAD + "Custom verification check failed with error: UNAUTHENTICATED: Hostname "
     "Verification Check failed.", "another host"),
    (OLD + "OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: certificate has expired", "expired"),
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


@pytest.mark.parametrize("details", ["certificate has expired", HEAD + "Connection refused"])
def test_what_is_no_failed_handshake_has_none(details: str) -> None:
    """A server's own words least of all. Planted bug: looking for them anywhere."""
    assert why_unreachable(details) is None


def test_plain_text_is_spoken_to_this_machine_alone_and_never_with_an_authority() -> None:
    for server in ("127.0.0.1:1", "[::1]:1", "localhost:1"):
        assert credentials_for(server) is None
        assert credentials_for(server, b"") is not None
    assert credentials_for("example.org:1") is not None
    for authority in (b"", b"\xff"):
        with pytest.raises(ParameterError, match=r"in PEM, got 'ca[.]pem'"):
            checked_authority(authority, "ca.pem")
