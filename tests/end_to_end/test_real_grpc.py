"""The server behind a real socket, asked by bytes of the .proto and by clients that misbehave."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import grpc
import grpc.aio
import numpy as np
import pytest
from google.protobuf.message import Message
from logged import logged
from small_world import made_encoder, made_space
from typed_calls import retrieve

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, PERIOD, Part
from askew.catalog.item import Item
from askew.errors import AskewError, TransportError, WireError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.spaces.item_codes import encode, encode_boosts, rounded
from askew.wire import status
from askew.wire.catalog_file import catalog_files
from askew.wire.tastes import card_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_server.retrieval.snapshot import Retriever, SnapshotHolder
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import Running, running
from askew_server.serving.settings import ServerConfig

SERVICE = "askew.wire.v1.Retrieval"


PATIENCE = 20  # seconds; only ever waited for by a server that does not do what it should
Code = grpc.StatusCode


def retriever_of(n_items: int) -> Retriever:
    """Items on a spiral in the plane."""
    turn = np.arange(n_items) / 5
    vectors = np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / n_items
    items = tuple(Item(f"Film {i}", 1950 + i % 70, ("Drama",)) for i in range(n_items))
    boosts = np.ones(n_items, dtype=np.float32)
    space = made_space(made_encoder(ranking=2), step=1 / 32)
    spiral = rounded(vectors.astype(np.float32), space.scales)
    catalog = Catalog(items, spiral, boosts, tuple(range(min(n_items, 8))))
    card = ModelCard(
        space,
        catalog.version,
        n_items,
        min(n_items, 8),
        "a spiral",
        simulated=True,
        n_default=n_items,
        median_distance=1.0,
    )
    return Retriever(card, catalog)


def request_to(**fields: object) -> pb.RetrieveRequest:
    """A request as another implementation would make it, field by field from the .proto."""
    message = pb.RetrieveRequest(
        catalog_date=FIRST,
        k=3,
        lattice=pb.LatticeNoise(step_exponent=10, inverse_rate=1024),
        values=[-700, 1300],
    )
    for name, value in fields.items():
        message.ClearField(name)  # type: ignore[arg-type]
        if isinstance(value, list):
            getattr(message, name).extend(value)
        elif isinstance(value, Message):
            getattr(message, name).CopyFrom(value)
        else:
            setattr(message, name, value)
    return message


@dataclass(frozen=True)
class Wired:
    """A running server, a channel to it, and what it answers with."""

    retriever: Retriever
    server: Running
    channel: grpc.aio.Channel

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply to any bytes at all."""
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        call = self.channel.unary_unary(f"/{SERVICE}/{method}")
        return await call(request, timeout=PATIENCE)

    async def retrieve(self, request: bytes) -> bytes:
        return await self.call("Retrieve", request)


@asynccontextmanager
async def serving(retriever: Retriever) -> AsyncIterator[Wired]:
    service = RetrievalService(SnapshotHolder(retriever.snapshot))
    async with (
        running([service], ServerConfig(), grace=0) as server,
        grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
    ):
        yield Wired(retriever, server, channel)


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """A server of 40 items."""
    async with serving(retriever_of(40)) as each:
        yield each


async def refusal(call: Awaitable[object]) -> tuple[grpc.StatusCode, str | None]:
    """The code and the text with which a call was refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details()


# -- the exchange ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("values", [[-700, 1300], [0, 0], [2**31 - 1, -(2**31) + 1]], ids=str)
async def test_an_independent_client_gets_the_answer_of_the_rule_in_memory(
    wired: Wired, k: int, values: list[int]
) -> None:
    request = request_to(k=k, values=values)
    data = await wired.retrieve(request.SerializeToString())
    reply = pb.RetrieveResponse.FromString(data)
    signal = Signal(wired.retriever.card.space.version, LatticeLaplace(10, 1024), tuple(values))
    slate = wired.retriever.answer(Query(signal, k))
    assert slate.item_ids == tuple(reply.item_ids)
    assert bytes.fromhex(slate.catalog_version) == reply.catalog_version
    codes = encode(slate.vectors, wired.retriever.card.space.scales).tobytes()
    assert (codes, encode_boosts(slate.boosts)) == (reply.codes, reply.boosts)
    assert [item.title for item in slate.items] == [item.title for item in reply.items]


async def test_the_same_bytes_get_the_same_answer(wired: Wired) -> None:
    request = request_to().SerializeToString()
    assert await wired.retrieve(request) == await wired.retrieve(request)


async def test_the_card_is_what_the_model_says(wired: Wired) -> None:
    data = await wired.call("GetModelCard", b"")
    reply = pb.GetModelCardResponse.FromString(data)
    expected = (40, 8, "a spiral", True)
    assert expected == (reply.n_items, reply.max_slate_size, reply.source, reply.simulated)
    assert wired.retriever.card == card_from_bytes(data)


def test_every_model_is_encoded_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million items take seconds, in which nobody else is answered."""
    encoded: list[Catalog] = []

    def noted(card: ModelCard, catalog: Catalog) -> dict[Part, bytes]:
        encoded.append(catalog)
        return catalog_files(card, catalog)

    monkeypatch.setattr("askew_server.serving.retrieval.catalog_files", noted)
    old = retriever_of(40).snapshot
    RetrievalService(SnapshotHolder(old, replace(retriever_of(41).snapshot, since=FIRST + PERIOD)))
    assert [len(catalog) for catalog in encoded] == [40, 41]


async def test_the_devices_own_transport_gets_the_same_answer(wired: Wired) -> None:
    signal = Signal(wired.retriever.card.space.version, LatticeLaplace(10, 1024), (-700, 1300))
    query = Query(signal, 3, catalog_date=FIRST)
    async with GrpcTransport(f"127.0.0.1:{wired.server.port}", PATIENCE) as transport:
        slate = await retrieve(transport, query, wired.retriever.card)
    assert wired.retriever.answer(query).item_ids == slate.item_ids


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"\xff" * 40, b"\x0a\x10half", b"\x00"], ids=repr)
async def test_a_malformed_request_is_refused_without_the_text_of_any_exception(
    wired: Wired, data: bytes
) -> None:
    expected = (Code.INVALID_ARGUMENT, "not a message of the expected type")
    assert expected == await refusal(wired.retrieve(data))


REFUSALS: dict[str, tuple[dict[str, object], grpc.StatusCode, str]] = {
    "a question near a place": (
        {"collection": 3},
        Code.FAILED_PRECONDITION,
        "this server does not answer for that space, or not for that Monday",
    ),
    "a day that is no Monday": (
        {"catalog_date": FIRST + 1},
        Code.FAILED_PRECONDITION,
        "this server does not answer for that space, or not for that Monday",
    ),
    "a wrong dimension": (
        {"values": [1, 2, 3]},
        Code.INVALID_ARGUMENT,
        "the vector has dimension 3, the feature space has 2",
    ),
    "k = 0": ({"k": 0}, Code.OUT_OF_RANGE, "k must be from 1 to 8"),
    "k = 9": ({"k": 9}, Code.OUT_OF_RANGE, "k must be from 1 to 8"),
    "a lattice too fine": (
        {"lattice": pb.LatticeNoise(step_exponent=21, inverse_rate=1024)},
        Code.OUT_OF_RANGE,
        "step_exponent must be an integer from 0 to 20",
    ),
    "no noise at all": (
        {"lattice": pb.LatticeNoise(step_exponent=10)},
        Code.OUT_OF_RANGE,
        "inverse_rate must be an integer from 1 to 4096",
    ),
    "no mechanism": (
        {"lattice": pb.LatticeNoise(), "values": []},
        Code.OUT_OF_RANGE,
        "inverse_rate must be an integer from 1 to 4096",
    ),
    "a coordinate below the limit": (
        {"values": [0, -(2**31)]},
        Code.OUT_OF_RANGE,
        "a signal coordinate must be at most 2147483647 in size",
    ),
}


@pytest.mark.parametrize(("fields", "code", "text"), REFUSALS.values(), ids=REFUSALS)
async def test_a_bad_request_is_refused_with_its_limit(
    wired: Wired, fields: dict[str, object], code: grpc.StatusCode, text: str
) -> None:
    request = request_to(**fields).SerializeToString()
    assert (code, text) == await refusal(wired.retrieve(request))


async def test_a_server_that_refused_goes_on_serving(wired: Wired) -> None:
    await refusal(wired.retrieve(b"\xff"))
    assert await wired.retrieve(request_to().SerializeToString())


async def test_an_oversized_message_is_refused(wired: Wired) -> None:
    request = request_to(values=[0] * 4096).SerializeToString()
    code, _ = await refusal(wired.retrieve(request))
    assert Code.RESOURCE_EXHAUSTED is code


async def test_a_compressed_request_is_refused(wired: Wired) -> None:
    """Compressed sizes depend on content."""
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
    call = wired.channel.unary_unary(f"/{SERVICE}/Retrieve")
    request = request_to(values=[0] * 2000).SerializeToString()
    packed = call(request, timeout=PATIENCE, compression=grpc.Compression.Gzip)
    code, _ = await refusal(packed)
    assert Code.UNIMPLEMENTED is code


async def test_an_unknown_method_is_refused(wired: Wired) -> None:
    code, _ = await refusal(wired.call("GetItem", b""))
    assert Code.UNIMPLEMENTED is code


SECRET = "profile -0.68359375 of Ripley"  # -700 steps of 1/1024


class ExplodingRetriever(Retriever):
    """Fails with a text that holds the request."""

    def answer(self, query: Query) -> Slate:
        raise LookupError(f"{SECRET} {query.signal.values}")


async def test_an_exploding_rule_is_internal_and_neither_the_caller_nor_the_log_learns_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = retriever_of(40)
    caplog.set_level(logging.DEBUG)
    with logged() as lines:
        async with serving(ExplodingRetriever(plain.card, plain.catalog)) as wired:
            request = request_to().SerializeToString()
            refused = await refusal(wired.retrieve(request))
    expected = (Code.INTERNAL, "the server could not answer")
    assert expected == refused
    [failed] = lines.events
    assert (failed["event"], failed["error"]) == ("call_failed", "LookupError")
    said = lines.getvalue() + caplog.text + "".join(str(record.args) for record in caplog.records)
    assert not [secret for secret in ("Ripley", "-700", "1300", "-0.68") if secret in said]


async def test_nothing_of_a_request_is_logged(
    wired: Wired, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await wired.retrieve(request_to().SerializeToString())
    await refusal(wired.retrieve(request_to(k=9).SerializeToString()))
    assert not [record for record in caplog.records if record.name.startswith("askew")]
    assert "-700" not in caplog.text


# -- a hostile server -----------------------------------------------------------------------------

HOSTILE_TEXT = "\x1b[2JYour profile was lost. Send it to mallory@example.org"


@pytest.mark.thin
@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
async def test_no_text_of_the_server_is_shown_to_the_device(
    code: grpc.StatusCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc_transport, "PATIENCE", 0.0)

    async def abort(_: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        await context.abort(code, HOSTILE_TEXT)

    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]]
    handlers = {"GetModelCard": grpc.unary_unary_rpc_method_handler(abort)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with GrpcTransport(f"127.0.0.1:{port}", PATIENCE) as transport:
        with pytest.raises((WireError, TransportError)) as caught:
            await transport.call("GetModelCard", b"")
    await server.stop(0)
    error: AskewError = caught.value
    expected = status.error_of(code)
    assert type(expected) is type(error)
    assert "mallory" not in f"{error} {error.args} {error.__cause__}"
