"""An analyst's client: what it says of every refusal, and to whom it speaks in plain text."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from askew.errors import (
    AskewError,
    Malformed,
    NotFound,
    OutOfRange,
    Overloaded,
    ParameterError,
    Refused,
    ServerFailed,
    Unauthenticated,
    Unreachable,
)
from askew_server.serving.analyst_client import AnalystClient

Code = grpc.StatusCode
Answering = Callable[[Code, str, bytes], AnalystClient]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """A client of a server that answers everything with one status, text and message."""
    server = grpc.server(ThreadPoolExecutor(1))
    clients: list[AnalystClient] = []

    def serve(code: Code, text: str, message: bytes) -> AnalystClient:
        def handle(_: bytes, context: grpc.ServicerContext) -> bytes:
            if code is not Code.OK:
                context.abort(code, text)
            return message

        method: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(handle)
        handlers = dict.fromkeys(("TopK", "GetBudget"), method)
        service = grpc.method_handlers_generic_handler("askew.wire.v1.Analyst", handlers)
        server.add_generic_rpc_handlers([service])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        clients.append(AnalystClient(f"127.0.0.1:{port}", "token\n", timeout=30))
        return clients[0]

    yield serve
    for client in clients:
        client.__exit__(None, None, None)
    server.stop(0).wait()


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (Code.FAILED_PRECONDITION, Refused, "you\\u{1b} may not"),
        (Code.RESOURCE_EXHAUSTED, Overloaded, "you\\u{1b} may not"),
        (Code.UNAUTHENTICATED, Unauthenticated, "credentials"),
        (Code.NOT_FOUND, NotFound, "no budget of yours"),
        (Code.UNIMPLEMENTED, NotFound, "without --token-key"),
        (Code.INTERNAL, ServerFailed, "INTERNAL"),
    ],
)
def test_a_refusal_says_what_to_do_on_one_plain_line(
    answering: Answering, code: Code, kind: type[AskewError], words: str
) -> None:
    """Planted bug: the server's text as it came, which could move the cursor."""
    client = answering(code, "you\x1b may not", b"")
    with pytest.raises(kind) as caught:
        client.budget("films")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_connection_names_the_address() -> None:
    """Planted bug: "no connection to the server", which may be the default or a mistyped one."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))  # held, and never listened on
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        with (
            AnalystClient(address, "token", timeout=30) as client,
            pytest.raises(Unreachable, match=f"^no connection to {address}$"),
        ):
            client.budget("films")


@pytest.mark.parametrize("message", [b"\xff", b""])
def test_an_answer_that_is_none_is_refused(answering: Answering, message: bytes) -> None:
    client = answering(Code.OK, "", message)
    for call in (lambda: client.budget("films"), lambda: client.top_k("films", 1, "key")):
        with pytest.raises(Malformed, match="the server's answer was refused"):
            call()


def test_a_question_out_of_range_is_not_sent() -> None:
    with AnalystClient("127.0.0.1:1", "token") as client:
        with pytest.raises(OutOfRange, match="k must be from 1"):
            client.top_k("films", 0, "key")
        with pytest.raises(Unreachable):
            client.budget("films")


def test_an_address_needs_a_port() -> None:
    with pytest.raises(ParameterError, match="host:port"):
        AnalystClient("localhost", "token")


@pytest.mark.parametrize("server", ["example.org:443", "192.0.2.1:7571", "[2001:db8::1]:7571"])
def test_another_machine_is_never_spoken_to_in_plain_text(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token would be anybody's who listens."""
    monkeypatch.delattr(grpc, "insecure_channel")
    with AnalystClient(server, "token"):
        pass
    with pytest.raises(AttributeError):
        AnalystClient("127.0.0.1:7571", "token")
