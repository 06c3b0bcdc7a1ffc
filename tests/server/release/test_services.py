"""Popularity and Analyst over real gRPC: what callers get, and what they never get; and what an
analyst's client says of every refusal."""

from __future__ import annotations

import hashlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from logged import Lines, logged
from server.ledger.scenes import budget_of
from server.release import conftest
from server.release.conftest import OFFERED, Count

from askew.dp.analyst import TopKQuestion
from askew.dp.release import Release
from askew.errors import (
    AccessError,
    AskewError,
    Malformed,
    NotFound,
    OutOfRange,
    Overloaded,
    Refused,
    ServerFailed,
    Unauthenticated,
    Unreachable,
)
from askew.noise.randomness import SystemBits
from askew.wire.releases import (
    answer_from_bytes,
    budget_from_bytes,
    budget_request_to_bytes,
    question_to_bytes,
)
from askew_server.ledger import Ledger
from askew_server.published.reader import ReleaseReader
from askew_server.release.job import AnalystDesk, ReleaseJob
from askew_server.release.plan import AnalystPlan
from askew_server.serving.analyst import AnalystService
from askew_server.serving.analyst_client import AnalystClient
from askew_server.serving.call import Service
from askew_server.serving.log import log_event
from askew_server.serving.metrics import Observer
from askew_server.serving.popularity import PopularityService
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig
from askew_server.serving.tokens import Tokens, add_token

Code = grpc.StatusCode
PATIENCE = 30
TERMS = replace(conftest.TERMS, k_star=9, l_star=5)
Metadata = tuple[tuple[str, str | bytes], ...]
BEARERS: dict[str, str] = {}  # the tokens of a server, by principal


@dataclass
class Wired:
    ledger: Ledger
    channel: grpc.aio.Channel
    lines: Lines  # of the log

    async def call(self, method: str, request: bytes, metadata: Metadata = ()) -> bytes:
        path = f"/askew.wire.v1.{method}"
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(path)
        return await stub(request, metadata=metadata, timeout=PATIENCE)

    async def refusal(self, *call: object) -> tuple[grpc.StatusCode, str]:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.call(*call)  # type: ignore[arg-type]
        return caught.value.code(), caught.value.details() or ""


@pytest_asyncio.fixture
async def wired(ledger: Ledger, paths: tuple[Path, Path], count: Count) -> AsyncIterator[Wired]:
    """A desk at which ada has a budget of nine outputs."""
    job = ReleaseJob(ledger, count, SystemBits())
    ledger.grant("films", "ada", TERMS)
    tokens = paths[0].with_name("tokens")
    BEARERS.clear()
    BEARERS.update({name: add_token(tokens, name, SystemBits()) for name in ("ada", "bob", "eve")})
    observer = Observer()
    services: list[Service] = [
        PopularityService(ReleaseReader(paths[0])),
        AnalystService(
            AnalystDesk(ledger, {"films": OFFERED}, job),
            Tokens(tokens, partial(log_event, "token_refused")),
        ),
    ]
    with logged() as lines:
        async with (
            running(services, ServerConfig(grace=0), observer) as server,
            grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        ):
            yield Wired(ledger, channel, lines)


def ask(k: int, key: str) -> bytes:
    return question_to_bytes(TopKQuestion("films", k, key))


def bearer(principal: str = "ada") -> Metadata:
    return (("authorization", "Bearer " + BEARERS[principal]),)


async def test_an_analyst_asks_until_the_budget_is_refused(wired: Wired) -> None:
    """Nine outputs: four for three items and the stop, twice; then not even two."""
    for key, spent in (("a", 4), ("b", 8)):
        reply = await wired.call("Analyst/TopK", ask(5, key), bearer())
        release, _, budget = answer_from_bytes(reply)
        assert (len(release.items), release.stopped, budget.outputs) == (3, True, spent)
    code, text = await wired.refusal("Analyst/TopK", ask(2, "c"), bearer())
    assert code is Code.FAILED_PRECONDITION
    assert "8 of the analyst's grant of 9 is spent, 1 is left" in text
    reply = await wired.call("Analyst/GetBudget", budget_request_to_bytes("films"), bearer())
    budget = budget_from_bytes(reply)
    assert (budget.outputs, budget.calls, budget.outputs_left) == (8, 2, 1)
    assert budget.terms.total_loss() == TERMS.total_loss()


CREDENTIALS: dict[str, Callable[[], Metadata]] = {
    "none": lambda: (),
    "another token": lambda: (("authorization", "Bearer " + "A" * 43),),
    "the digest of a good one": lambda: (
        ("authorization", f"Bearer {hashlib.sha256(BEARERS['ada'].encode()).hexdigest()}"),
    ),
    "two of them": lambda: bearer() + bearer(),
    "in another header": lambda: (("principal", "ada"), ("x-principal", BEARERS["ada"])),
    "in binary": lambda: (("authorization-bin", b"Bearer"),),
}


@pytest.mark.parametrize("credentials", CREDENTIALS.values(), ids=CREDENTIALS)
async def test_without_valid_credentials_nothing_is_answered_or_spent(
    wired: Wired, credentials: Callable[[], Metadata]
) -> None:
    """And nothing is said of the message, which is not looked at."""
    said = (Code.UNAUTHENTICATED, "valid credentials are needed")
    for request in (ask(1, "a"), b"\xff"):
        for method in ("Analyst/TopK", "Analyst/GetBudget"):
            assert await wired.refusal(method, request, credentials()) == said
    assert budget_of(wired.ledger, "ada", "films").answered.calls == 0


async def test_one_analyst_cannot_spend_or_see_the_budget_of_another(wired: Wired) -> None:
    """Planted bug: a principal that is read from the message or trusted from the caller."""
    request = budget_request_to_bytes("films")
    refused = (Code.NOT_FOUND, "there is no such budget")
    assert await wired.refusal("Analyst/GetBudget", request, bearer("eve")) == refused
    assert await wired.refusal("Analyst/TopK", ask(1, "a"), bearer("eve")) == refused


async def test_a_failure_tells_callers_and_logs_nothing_of_itself(
    wired: Wired, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "person 17 saw Alien"

    def broken(*_: object, **__: object) -> Release:
        raise ValueError(secret)

    monkeypatch.setattr(AnalystPlan, "select", broken)
    refused = (Code.INTERNAL, "the server could not answer")
    with caplog.at_level(logging.DEBUG, logger="askew_server"):
        assert await wired.refusal("Analyst/TopK", ask(5, "a"), bearer()) == refused
    assert secret not in caplog.text + wired.lines.getvalue()
    [failed] = wired.lines.events
    said = tuple(failed[name] for name in ("event", "method", "error"))
    assert said == ("call_failed", "TopK", "ValueError")


Answering = Callable[[Code, str], AnalystClient]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """A client of a server that answers everything with one status and text, or no message."""
    server = grpc.server(ThreadPoolExecutor(1))
    clients: list[AnalystClient] = []

    def serve(code: Code, text: str) -> AnalystClient:
        def handle(_: bytes, context: grpc.ServicerContext) -> bytes:
            if code is not Code.OK:
                context.abort(code, text)
            return b"\xff"

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
        (Code.FAILED_PRECONDITION, Refused, r"you\\u\{1b\} may not"),
        (Code.RESOURCE_EXHAUSTED, Overloaded, "may not"),
        (Code.UNAUTHENTICATED, Unauthenticated, "credentials"),
        (Code.NOT_FOUND, NotFound, "no budget of yours"),
        (Code.UNIMPLEMENTED, NotFound, "without --tokens"),
        (Code.INTERNAL, ServerFailed, "INTERNAL"),
        (Code.OK, Malformed, "the server's answer was refused"),
    ],
)
def test_a_refusal_says_what_to_do_on_one_plain_line(
    answering: Answering, code: Code, kind: type[AskewError], words: str
) -> None:
    """Planted bug: the server's text as it came, which could move the cursor."""
    client = answering(code, "you\x1b may not")
    for call in (lambda: client.budget("films"), lambda: client.top_k("films", 1, "key")):
        with pytest.raises(kind, match=words) as caught:
            call()
        assert str(caught.value).isprintable()


def test_no_connection_names_the_address() -> None:
    """Planted bug: "no connection to the server", which may be the default or a mistyped one."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))  # held, and never listened on
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        with AnalystClient(address, "token", timeout=30) as client:
            with pytest.raises(Unreachable, match=f"^no connection to {address}$"):
                client.budget("films")
            with pytest.raises(OutOfRange, match="k must be from 1"):  # which is not sent
                client.top_k("films", 0, "key")


def test_a_file_that_is_no_token_is_refused_before_a_call() -> None:
    """Planted bug: it is sent, and gRPC says that the server failed."""
    with pytest.raises(AccessError, match="this is no token"):
        AnalystClient("127.0.0.1:7571", "unit,item\nann,tea\n")


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
