"""An analyst's side of the service: a blocking client, which needs an address and a token.

It holds no ledger, no engine and no key. A question that is asked again under its key gets the same
bytes and costs nothing, so a call that failed may be made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import grpc

from askew.dp.analyst import BudgetStatus, TopKQuestion
from askew.dp.release import Release, plain_name
from askew.errors import AccessError, AskewError, Malformed, NotFound, Overloaded, Refused
from askew.wire import status
from askew.wire.releases import (
    answer_from_bytes,
    budget_from_bytes,
    budget_request_to_bytes,
    question_to_bytes,
)
from askew.wire.status import checked_authority, credentials_for
from askew.wire.v1 import popularity_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["Analyst"].full_name
_OPTIONS = [("grpc.enable_http_proxy", 0)]  # a proxy would see the token
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class AnalystAnswer:
    """A release for one analyst, the bytes in which it is stored, and the budget after it."""

    release: Release
    document: bytes
    budget: BudgetStatus


class AnalystClient:
    """A channel to `server` ("host:port"), for whoever the token names. Use as a context manager.

    Plain text is spoken to this machine only; everywhere else it is TLS, and here too with an
    authority: a file in PEM that is trusted in place of the public ones. timeout: seconds for a
    call; a count of a large log may take minutes. Raises ParameterError for a bad address or no
    certificates, and AccessError for a file that cannot be read, or what is no token.
    """

    def __init__(
        self, server: str, token: str, *, timeout: float = 600, authority: Path | None = None
    ) -> None:
        token = token.strip()
        if not token.isascii() or not token.isprintable():  # gRPC would say that a server failed
            raise AccessError("this is no token, which is one line, as analyst add printed it")
        trusted = None
        if authority is not None:
            try:
                trusted = checked_authority(authority.read_bytes(), str(authority))
            except OSError as error:
                raise AccessError(f"{authority} cannot be read: {error.strerror}") from None
        credentials = credentials_for(server, trusted)
        if credentials is None:
            self._channel = grpc.insecure_channel(server, options=_OPTIONS)
        else:
            self._channel = grpc.secure_channel(server, credentials, options=_OPTIONS)
        self._server = server
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._timeout = timeout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._channel.close()

    def top_k(self, dataset: str, k: int, key: str) -> AnalystAnswer:
        """Return an AnalystAnswer: `release`, whose `items` are the most popular, best first, k at
        most; `document`, its bytes; and `budget` after it. It costs as many outputs as items come,
        and one more where it stops before k.

        key: a name of your own for the question. Raises OutOfRange for a k not from 1 to 1000, or a
        key or name that there cannot be, Refused where the terms do not allow it, and the errors of
        `budget`.
        """
        data = self._call("TopK", question_to_bytes(TopKQuestion(dataset, k, key)))
        return _checked(lambda: AnalystAnswer(*answer_from_bytes(data)))

    def budget(self, dataset: str) -> BudgetStatus:
        """Return the BudgetStatus of your budget for a data set: `terms`, `outputs` and `calls`
        spent, `closed`. Costs nothing.

        Raises Unauthenticated, NotFound, Overloaded and the other WireErrors and TransportErrors.
        """
        data = self._call("GetBudget", budget_request_to_bytes(dataset))
        return _checked(lambda: budget_from_bytes(data))

    def _call(self, method: str, request: bytes) -> bytes:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        call = self._channel.unary_unary(f"/{_SERVICE}/{method}")
        try:
            return call(request, timeout=self._timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise _meaning(error.code(), error.details() or "", self._server) from None


def _meaning(code: grpc.StatusCode, text: str, server: str) -> AskewError:
    match code:
        case grpc.StatusCode.FAILED_PRECONDITION:
            return Refused(plain_name(text))
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            return Overloaded(plain_name(text))
        case grpc.StatusCode.NOT_FOUND:
            return NotFound("data set, or no budget of yours for it")
        case grpc.StatusCode.UNIMPLEMENTED:
            return NotFound("service there: it was started without --tokens")
    return status.error_of(code, server, text)


def _checked(convert_reply: Callable[[], _Value]) -> _Value:
    try:
        return convert_reply()
    except AskewError as error:
        raise Malformed(f"the server's answer was refused: {error}") from None
